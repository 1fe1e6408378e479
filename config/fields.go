package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"
)

// field is one key of a table that is read into a T: all that is known of it
// stands here, for reading, showing and documentation alike.
type field[T any] struct {
	name string
	kind string   // for people: "duration"
	def  string   // default as TOML, "" for none
	doc  string   // what it does, limits included
	only []string // receiver types that have it; nil for all
	// alternatives share a name: at most one of them can be given
	alternative string
	required    bool

	read func(in *input, n *node, to *T)
	show func(from *T) string // as TOML, "" to leave it out
}

// isOf reports whether receivers of a type have the key.
func (f field[T]) isOf(receiverType string) bool {
	return f.only == nil || slices.Contains(f.only, receiverType)
}

// input is where a value comes from while it is read: it knows its key and
// reports problems.
type input struct {
	*loader
	key string
}

func (in *input) problem(n *node, format string, args ...any) {
	in.report(n.at, in.key, format, args...)
}

// codec reads and writes values of one type. read reports what is wrong.
type codec[V any] struct {
	kind string
	read func(in *input, n *node) (V, bool)
	show func(V) string
}

// key makes a field of a codec.
func key[T, V any](name string, c codec[V], def, doc string, ref func(*T) *V) field[T] {
	return field[T]{
		name: name, kind: c.kind, def: def, doc: doc,
		read: func(in *input, n *node, to *T) {
			if v, ok := c.read(in, n); ok {
				*ref(to) = v
			}
		},
		show: func(from *T) string { return c.show(*ref(from)) },
	}
}

// filled makes the empty string a mistake where it means nothing: what is not
// wanted is left out, and then the default holds.
func filled[T any](f field[T]) field[T] {
	read := f.read
	f.read = func(in *input, n *node, to *T) {
		if n.kind == unstable.String && n.text == "" {
			in.problem(n, "is empty; leave it out for the default, %s", f.def)
			return
		}
		read(in, n, to)
	}
	return f
}

// text is a codec of a string that parse understands.
func text[V any](kind string, parse func(in *input, s string) (V, error), show func(V) string) codec[V] {
	return codec[V]{kind: kind, show: show, read: func(in *input, n *node) (v V, ok bool) {
		if n.kind != unstable.String {
			in.problem(n, "must be a string in quotes (%s), not %s", kind, kindName(n))
			return v, false
		}
		v, err := parse(in, n.text)
		if err != nil {
			in.problem(n, "%v", err)
			return v, false
		}
		return v, true
	}}
}

// list is a codec of an array whose elements another codec reads. An element
// that is there already is a problem.
func list[V any](c codec[V]) codec[[]V] { return array(c, true) }

// sequence is a list in which elements may be the same.
func sequence[V any](c codec[V]) codec[[]V] { return array(c, false) }

func array[V any](c codec[V], distinct bool) codec[[]V] {
	return codec[[]V]{kind: "list of " + c.kind,
		read: func(in *input, n *node) ([]V, bool) {
			if n.kind != unstable.Array {
				in.problem(n, "must be a list in brackets (%s), not %s", c.kind, kindName(n))
				return nil, false
			}
			values := make([]V, 0, len(n.items))
			shown := make([]string, 0, len(n.items))
			fine := true
			for _, item := range n.items {
				v, ok := c.read(in, item)
				if !ok {
					fine = false
					continue
				}
				s := c.show(v)
				if distinct && slices.Contains(shown, s) {
					in.problem(item, "%s is listed twice", s)
					fine = false
				}
				values, shown = append(values, v), append(shown, s)
			}
			return values, fine
		},
		show: func(values []V) string {
			shown := make([]string, len(values))
			for i, v := range values {
				shown[i] = c.show(v)
			}
			return "[" + strings.Join(shown, ", ") + "]"
		},
	}
}

// plain is a string that check accepts; nil accepts all. The empty string is
// "not set" and never checked.
func plain(kind string, check func(in *input, s string) error) codec[string] {
	return text(kind, func(in *input, s string) (string, error) {
		if s == "" || check == nil {
			return s, nil
		}
		return s, check(in, s)
	}, quote)
}

// oneOf is a string out of a few.
func oneOf(allowed ...string) codec[string] {
	return plain("one of "+strings.Join(allowed, ", "), nil).accept(func(in *input, n *node, s string) bool {
		if !slices.Contains(allowed, s) {
			in.problem(n, "%q is unknown; allowed are %s", s, strings.Join(allowed, ", "))
			return false
		}
		return true
	})
}

// accept adds a check to a codec.
func (c codec[V]) accept(check func(in *input, n *node, v V) bool) codec[V] {
	read := c.read
	c.read = func(in *input, n *node) (V, bool) {
		v, ok := read(in, n)
		return v, ok && check(in, n, v)
	}
	return c
}

func duration(least, most time.Duration) codec[time.Duration] {
	return text("duration", func(_ *input, s string) (time.Duration, error) {
		d, err := ParseDuration(s)
		if err == nil && (d < least || d > most) {
			err = fmt.Errorf("%s is out of range; allowed are %s to %s", s, formatDuration(least), formatDuration(most))
		}
		return d, err
	}, func(d time.Duration) string { return quote(formatDuration(d)) })
}

// size in octets; a bare number is octets too.
func size(least, most int64) codec[int64] {
	c := text("size", func(_ *input, s string) (int64, error) { return parseSize(s) },
		func(n int64) string { return quote(formatSize(n)) })
	quoted := c.read
	c.read = func(in *input, n *node) (int64, bool) {
		if n.kind == unstable.Integer {
			v, err := strconv.ParseInt(n.text, 0, 64)
			if err != nil {
				v = -1 // out of range
			}
			return v, true
		}
		return quoted(in, n)
	}
	return c.accept(func(in *input, n *node, v int64) bool {
		if v < least || v > most {
			in.problem(n, "%s is out of range; allowed are %s to %s", n.text, formatSize(least), formatSize(most))
			return false
		}
		return true
	})
}

func integer(least, most int) codec[int] {
	return codec[int]{kind: "number",
		read: func(in *input, n *node) (int, bool) {
			if n.kind != unstable.Integer {
				what := kindName(n)
				if n.kind == unstable.Float {
					what = n.text
				}
				in.problem(n, "must be a whole number, not %s", what)
				return 0, false
			}
			v, err := strconv.ParseInt(n.text, 0, 64)
			if err != nil || v < int64(least) || v > int64(most) {
				in.problem(n, "%s is out of range; allowed are %d to %d", n.text, least, most)
				return 0, false
			}
			return int(v), true
		},
		show: strconv.Itoa,
	}
}

func boolean() codec[bool] {
	return codec[bool]{kind: "true or false",
		read: func(in *input, n *node) (bool, bool) {
			if n.kind != unstable.Bool {
				in.problem(n, "must be true or false, not %s", kindName(n))
				return false, false
			}
			return n.text == "true", true
		},
		show: strconv.FormatBool,
	}
}

func prefix() codec[netip.Prefix] {
	return text("network", func(_ *input, s string) (netip.Prefix, error) {
		if a, err := netip.ParseAddr(s); err == nil {
			return netip.Prefix{}, fmt.Errorf("%q is an address, not a network; write \"%s/%d\"", s, a, a.BitLen())
		}
		p, err := netip.ParsePrefix(s)
		switch {
		case err != nil:
			return p, fmt.Errorf("%q is not a network; write such as \"10.20.0.0/16\"", s)
		case p.Addr().Is4In6():
			return p, fmt.Errorf("%q is an IPv4 network in IPv6 form; write it as IPv4", s)
		case p != p.Masked():
			return p, fmt.Errorf("%q has bits set behind its length; write %q", s, p.Masked())
		}
		return p, nil
	}, func(p netip.Prefix) string { return quote(p.String()) })
}

// kindName says what a value is, for "not …".
func kindName(n *node) string {
	switch n.kind {
	case unstable.String:
		return "a string"
	case unstable.Integer, unstable.Float:
		return "a number"
	case unstable.Bool:
		return n.text
	case unstable.Array:
		return "a list"
	case unstable.Table:
		return "a table"
	default:
		return "a date"
	}
}
