package store

import (
	"database/sql"
	"strings"
)

// statement is a prepared one whose placeholders have no numbers: SQLite keeps
// numbered ones as names, and the driver asks for each one's name, which takes
// as long as there are others.
type statement struct {
	*sql.Stmt
	order []int // which of a query's arguments each placeholder stands for; nil: as they come
}

// args puts a query's arguments in the order of the statement.
func (s *statement) args(args []any) []any {
	if s.order == nil {
		return args
	}
	list := make([]any, len(s.order))
	for i, n := range s.order {
		list[i] = args[n]
	}
	return list
}

// positional replaces $1, $2 and so on, outside of quotes, by ?, and tells
// which arguments those stand for, from 0; nil when they come in order, once
// each.
func positional(query string) (text string, order []int) {
	var b strings.Builder
	inOrder := true
	quoted := false
	for i := 0; i < len(query); i++ {
		c := query[i]
		if c == '\'' {
			quoted = !quoted
		}
		n, digits := 0, i+1
		for c == '$' && !quoted && digits < len(query) && '0' <= query[digits] && query[digits] <= '9' {
			n = 10*n + int(query[digits]-'0')
			digits++
		}
		if n == 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('?')
		inOrder = inOrder && n == len(order)+1
		order = append(order, n-1)
		i = digits - 1
	}
	if inOrder {
		order = nil
	}
	return b.String(), order
}
