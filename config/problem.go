package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration or a file that it names.
type Problem struct {
	File   string
	Line   int // from 1
	Column int // in characters, from 1
	Key    string
	Text   string // what is wrong, what is allowed
}

// String is "file:line:column: key: text"; without a key where the problem
// is not about one.
func (p Problem) String() string {
	s := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Key != "" {
		s += p.Key + ": "
	}
	return s + p.Text
}

// Problems is every mistake found, by file and place.
type Problems []Problem

// Error is one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted puts the main file first and each file in reading order. A problem
// that several checks came across stands once.
func (ps Problems) sorted(main string) Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if (a.File == main) != (b.File == main) {
			if a.File == main {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ps)
}
