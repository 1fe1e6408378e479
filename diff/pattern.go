package diff

import "strings"

// dead is the position of a pattern that can no longer match.
const dead = ^uint32(0)

// automaton is a pattern as a deterministic automaton. A pattern is literals
// separated by stars. Taking each literal at its first occurrence is enough to
// know whether the whole matches, so one number says it all: how many octets
// of the literals have been taken. Within a literal that follows a star, a
// mismatch falls back to the longest border (Knuth, Morris, Pratt); in the
// literal at the start of the pattern it is the end.
type automaton struct {
	lit      string   // the literals, joined
	seg      []uint32 // per position: where the literal in progress begins
	fail     []uint32 // per position: the position of the longest border
	marks    []octets // per position: octets that do not lead back to seg[position]
	fixed    uint32   // length of the literal at the start that no star precedes
	end      uint32   // len(lit)
	anchored bool     // the last literal must end the path
}

func compile(pattern string) *automaton {
	t := &automaton{}
	body := pattern
	if strings.HasSuffix(body, "$") {
		body = body[:len(body)-1]
		t.anchored = !strings.HasSuffix(body, "*")
	}
	literals := strings.Split(body, "*")
	t.lit = strings.Join(literals, "")
	t.end = uint32(len(t.lit))
	t.fixed = uint32(len(literals[0]))
	n := len(t.lit) + 1
	t.seg = make([]uint32, n)
	t.fail = make([]uint32, n)
	t.marks = make([]octets, n)

	start := uint32(0)
	for i, l := range literals {
		if l == "" {
			continue
		}
		t.literal(start, start+uint32(len(l)), i == 0)
		start += uint32(len(l))
		t.seg[start], t.fail[start] = start, start // the next literal, nothing of it taken
	}
	if t.anchored && t.end > 0 {
		last := t.end - uint32(len(literals[len(literals)-1]))
		t.seg[t.end], t.fail[t.end] = last, t.border(last, t.end)
		t.marks[t.end] = octets{}
		if t.end > t.fixed {
			t.marks[t.end] = t.marks[t.fail[t.end]]
		}
	}
	return t
}

// literal fills the tables for the literal lit[start:end].
func (t *automaton) literal(start, end uint32, fixed bool) {
	for p := start; p < end; p++ {
		t.seg[p] = start
		t.marks[p].add(t.lit[p])
		if fixed {
			continue
		}
		t.fail[p] = start
		if p > start+1 {
			t.fail[p] = t.border(start, p)
		}
		if p > start {
			t.marks[p] = t.marks[p].or(t.marks[t.fail[p]])
		}
	}
}

// border is the position of the longest proper border of lit[start:p], given
// those of the shorter ones.
func (t *automaton) border(start, p uint32) uint32 {
	if p <= start+1 {
		return start
	}
	for q := t.fail[p-1]; ; q = t.fail[q] {
		if t.lit[q] == t.lit[p-1] {
			return q + 1
		}
		if q == start {
			return start
		}
	}
}

// step is the position after one more octet. p is neither dead nor complete.
func (t *automaton) step(p uint32, c byte) uint32 {
	if p < t.fixed {
		if t.lit[p] == c {
			return p + 1
		}
		return dead
	}
	if p == t.end && t.end == t.fixed { // anchored without a star: nothing may follow
		return dead
	}
	for {
		if p < t.end && t.lit[p] == c {
			return p + 1
		}
		if p == t.seg[p] {
			return p
		}
		p = t.fail[p]
	}
}

// complete reports whether whatever follows matches.
func (t *automaton) complete(p uint32) bool { return p == t.end && !t.anchored }

// accepts reports whether a path that ends here matches.
func (t *automaton) accepts(p uint32) bool { return p == t.end }

// within reports whether all that can match from position p can match from
// position q too.
func (t *automaton) within(p, q uint32) bool {
	switch {
	case p == q || p == dead:
		return true
	case q == dead || q < t.fixed:
		return false
	case p < t.fixed:
		// Whatever matches from inside the first literal contains, later
		// on, a match of what follows the literal. An anchored literal is
		// followed by nothing.
		return t.end > t.fixed || !t.anchored
	case t.seg[p] != t.seg[q]:
		return t.seg[p] < t.seg[q]
	}
	for q > p && q > t.seg[q] {
		q = t.fail[q]
	}
	return p == q
}

// compatible is false when no path can match both patterns, by what they begin
// with alone.
func compatible(p, q string) bool {
	n := min(len(p), len(q))
	for i := range min(n, 24) {
		if p[i] != q[i] {
			return p[i] == '*' || q[i] == '*'
		}
		if p[i] == '*' {
			return true
		}
	}
	if n <= 24 {
		return true
	}
	a, b := beginning(p), beginning(q)
	n = min(len(a), len(b))
	if a[:n] != b[:n] {
		return false
	}
	// One that ends there goes with nothing longer.
	return (len(a) >= len(b) || !exact(p)) && (len(b) >= len(a) || !exact(q))
}

// exact reports whether the pattern matches one path only.
func exact(p string) bool { return strings.HasSuffix(p, "$") && strings.IndexByte(p, '*') < 0 }

// covers reports whether every path that matches q matches p: p is matched
// against q as text, in which only a star of p may take a star of q. It may
// miss a cover, it never claims one that is none.
func covers(p, q string) bool {
	if !strings.HasSuffix(q, "$") {
		if strings.HasSuffix(p, "$") && !strings.HasSuffix(p, "*$") {
			return false
		}
		q += "*"
	} else {
		q = q[:len(q)-1]
	}
	anchored := strings.HasSuffix(p, "$")
	if anchored {
		p = p[:len(p)-1]
	}
	// p's literals must be found in q, left to right, none across a star;
	// a star of q in the text equals no octet of a literal of p.
	first, rest, star := strings.Cut(p, "*")
	if !strings.HasPrefix(q, first) {
		return false
	}
	q = q[len(first):]
	for star {
		first, rest, star = strings.Cut(rest, "*")
		if !star && anchored {
			return strings.HasSuffix(q, first)
		}
		i := strings.Index(q, first)
		if i < 0 {
			return false
		}
		q = q[i+len(first):]
	}
	return !anchored || q == ""
}

// shortest is the shortest text that matches the pattern and begins with "/":
// all its stars empty.
func shortest(pattern string) string {
	pattern = strings.TrimSuffix(pattern, "$")
	if strings.IndexByte(pattern, '*') >= 0 {
		pattern = strings.ReplaceAll(pattern, "*", "")
	}
	if pattern == "" || pattern[0] != '/' {
		return "/" + pattern
	}
	return pattern
}

// least is the length of shortest(pattern).
func least(pattern string) int {
	n, slash := 0, false
	for i := range len(pattern) {
		if c := pattern[i]; c != '*' && (c != '$' || i != len(pattern)-1) {
			slash = slash || n == 0 && c == '/'
			n++
		}
	}
	if !slash {
		n++
	}
	return n
}
