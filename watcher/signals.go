package watcher

import (
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/robots"
)

const (
	// maxStatements is how many statements of one file are counted.
	maxStatements = 32
	// maxWord is how long a word of one may be.
	maxWord = 40
)

// Statement is one preference about use that a policy states, reduced to what
// can be counted over many sites: addresses and paths are left out.
type Statement struct {
	Name    string // as robots.Signal has it: "content-signal", "license", ...
	Value   string // "ai-train=no"; "" where the name says it all, "other" for what is no key and value
	Scope   string // "*" for everyone, or a token in lower case
	OnPaths bool   // it is limited to a path
}

// String is the statement as one line without a comma; it is how statements
// are kept and asked for: "content-signal ai-train=no for *".
func (s Statement) String() string {
	var b strings.Builder
	b.WriteString(s.Name)
	if s.Value != "" {
		b.WriteString(" " + s.Value)
	}
	b.WriteString(" for " + s.Scope)
	if s.OnPaths {
		b.WriteString(" on paths")
	}
	return b.String()
}

// ParseStatement is the inverse of String; ok is false for anything else.
func ParseStatement(text string) (s Statement, ok bool) {
	head, found := strings.CutSuffix(text, " on paths")
	s.OnPaths = found
	head, s.Scope, ok = strings.Cut(head, " for ")
	s.Name, s.Value, _ = strings.Cut(head, " ")
	return s, ok && s.String() == text && isWord(s.Name) && (s.Scope == "*" || isWord(s.Scope))
}

// Statements lists what a file states, in order of the text, each once.
func Statements(f *robots.File) []string {
	var list []string
	for _, g := range f.Signals {
		s := Statement{Name: g.Name, Scope: strings.ToLower(g.Scope), OnPaths: g.Path != "" && g.Path != "/"}
		if s.Scope == "" {
			s.Scope = "*"
		}
		if s.Scope != "*" && !isWord(s.Scope) || !isWord(s.Name) {
			continue
		}
		for _, v := range valuesOf(g) {
			s.Value = v
			list = append(list, s.String())
		}
		if len(list) >= maxStatements {
			list = list[:maxStatements]
			break
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// valuesOf are the parts of a value that are counted each.
func valuesOf(g robots.Signal) (values []string) {
	if g.Name != "content-signal" && g.Name != "content-usage" {
		return []string{""} // an address, or nothing
	}
	for _, part := range strings.FieldsFunc(strings.ToLower(g.Value), func(r rune) bool { return r == ',' || r == ' ' }) {
		key, value, ok := strings.Cut(part, "=")
		if !ok || !isWord(key) || !isWord(value) {
			part = "other"
		}
		values = append(values, part)
	}
	return values
}

// isWord keeps strangers' texts short and harmless.
func isWord(s string) bool {
	if s == "" || len(s) > maxWord {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}
