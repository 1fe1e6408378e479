package config

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// given says which keys of a table were there, and where.
type given struct {
	at   place // of the table
	keys map[string]*entry
}

func (g given) has(name string) bool { return g.keys[name] != nil }

// value is where the value of a key stands, or the table if it is not there.
func (g given) value(name string) place {
	if e := g.keys[name]; e != nil {
		return e.value.at
	}
	return g.at
}

// decode reads a table by its fields; t may be nil for one that is not there.
// Defaults go through the same door as given values.
func decode[T any](l *loader, t *table, path string, fields []field[T], to *T) given {
	g := given{at: place{1, 1}, keys: map[string]*entry{}}
	if t != nil {
		g.at = t.at
		for _, e := range t.entries {
			if !slices.ContainsFunc(fields, func(f field[T]) bool { return f.name == e.key }) {
				l.report(e.at, join(path, e.key), "unknown key; %s", suggest(e.key, names(fields)))
				continue
			}
			g.keys[e.key] = e
		}
	}
	for _, f := range fields {
		in := &input{l, join(path, f.name)}
		if e := g.keys[f.name]; e != nil {
			f.read(in, e.value, to)
		} else if f.def != "" {
			f.read(in, literal(f.def), to)
		}
	}
	checkAlternatives(l, path, fields, g)
	return g
}

// checkAlternatives reports a value that was given in more than one way.
func checkAlternatives[T any](l *loader, path string, fields []field[T], g given) {
	first := map[string]string{}
	for _, f := range fields {
		e := g.keys[f.name]
		if f.alternative == "" || e == nil || e.value.text == "" && e.value.kind == unstable.String {
			continue
		}
		if other, twice := first[f.alternative]; twice {
			l.report(e.at, join(path, f.name), "%s is there too; give only one of them", other)
			continue
		}
		first[f.alternative] = f.name
	}
}

// literal is the node of a TOML value.
func literal(value string) *node {
	t, _ := parseDocument([]byte("x = " + value))
	return t.get("x").value
}

func names[T any](fields []field[T]) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

// suggest names the key that was probably meant, or all there are.
func suggest(key string, allowed []string) string {
	best, distance := "", 3
	for _, a := range allowed {
		if d := editDistance(strings.ToLower(key), a); d < distance {
			best, distance = a, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "allowed are " + strings.Join(allowed, ", ")
}

// editDistance counts the letters to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
