package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/robots"
)

// side is one of two rule sets that are compared.
type side struct {
	rules []robots.Rule
	only  []int  // rules that the other side lacks, ascending
	works []bool // by index into only: the rule has shown an effect

	idle, idleAllows int // rules in only that have shown none; Allow rules among them

	asked int     // how often rules were looked for
	index []entry // made when asked often
}

// entry of the index: what a rule's pattern begins with. Entries are sorted;
// up leads to the nearest one before that is a prefix or equal, so that all
// prefixes of a text are on one chain (a trie laid flat).
type entry struct {
	text string
	rule int32
	up   int32 // -1 for none
}

// An index costs about as much as this many looks at all rules.
const (
	indexAfter = 24
	indexFrom  = 64 // rules
)

// stronger reports whether rule i decides when i and j both match: the longer
// pattern, Allow before Disallow, the first in the file (RFC 9309, 2.2.2).
func (x *side) stronger(i, j int) bool {
	a, b := &x.rules[i], &x.rules[j]
	if len(a.Pattern) != len(b.Pattern) {
		return len(a.Pattern) > len(b.Pattern)
	}
	if a.Allow != b.Allow {
		return a.Allow
	}
	return i < j
}

// lacks gives the place of rule i in only; ok is false when the other side has
// the rule too.
func (x *side) lacks(i int) (k int, ok bool) { return slices.BinarySearch(x.only, i) }

// mark notes that rule i, if it is one that the other side lacks, has effect.
func (x *side) mark(i int) {
	if k, ok := x.lacks(i); ok && !x.works[k] {
		x.works[k] = true
		x.idle--
		if x.rules[i].Allow {
			x.idleAllows--
		}
	}
}

// near gives the rules that may match what the pattern matches, judged by what
// both begin with. The slice is good until the next call.
func (s *solver) near(x *side, pattern string) []int32 {
	s.found = s.found[:0]
	looks := len(x.rules)
	if x.indexed() {
		s.found = x.chain(s.found, pattern)
		looks = len(s.found)
		s.found = slices.DeleteFunc(s.found, func(i int32) bool { return !compatible(x.rules[i].Pattern, pattern) })
	} else {
		for i := range x.rules {
			if compatible(x.rules[i].Pattern, pattern) {
				s.found = append(s.found, int32(i))
			}
		}
	}
	s.spend(looks * (costLook + len(pattern)/64))
	return s.found
}

// decider is the index of the rule of x, other than without, that decides on a
// path, -1 for none.
func (s *solver) decider(x *side, path string, without int) int {
	best := -1
	if x.indexed() {
		s.found = x.chain(s.found[:0], path+"$")
		s.spend(costLook * len(s.found))
		for _, i := range s.found {
			if int(i) != without && (best < 0 || x.stronger(int(i), best)) && s.match(x.rules[i].Pattern, path) {
				best = int(i)
			}
		}
		return best
	}
	s.spend(costLook * len(x.rules))
	for i := range x.rules {
		if i != without && (best < 0 || x.stronger(i, best)) && compatible(x.rules[i].Pattern, path) && s.match(x.rules[i].Pattern, path) {
			best = i
		}
	}
	return best
}

// indexed reports whether there is an index, and makes one when it was asked
// often enough.
func (x *side) indexed() bool {
	x.asked++
	if x.index == nil && x.asked > indexAfter && len(x.rules) > indexFrom {
		x.build()
	}
	return x.index != nil
}

// chain appends the rules whose patterns begin with a prefix of what the
// pattern begins with, longest first, then those that begin with more.
func (x *side) chain(list []int32, pattern string) []int32 {
	text := beginning(pattern)
	after, _ := slices.BinarySearchFunc(x.index, text, func(e entry, text string) int {
		if e.text <= text {
			return -1
		}
		return 1
	})
	up := int32(after) - 1
	for up >= 0 && !strings.HasPrefix(text, x.index[up].text) {
		up = x.index[up].up
	}
	for ; up >= 0; up = x.index[up].up {
		list = append(list, x.index[up].rule)
	}
	if exact(pattern) {
		return list // nothing may follow
	}
	for _, e := range x.index[after:] {
		if !strings.HasPrefix(e.text, text) {
			break
		}
		list = append(list, e.rule)
	}
	return list
}

func (x *side) build() {
	x.index = make([]entry, len(x.rules))
	for i := range x.rules {
		x.index[i] = entry{text: beginning(x.rules[i].Pattern), rule: int32(i)}
	}
	slices.SortFunc(x.index, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.text, b.text), cmp.Compare(a.rule, b.rule))
	})
	for i := range x.index {
		up := int32(i) - 1
		for up >= 0 && !strings.HasPrefix(x.index[i].text, x.index[up].text) {
			up = x.index[up].up
		}
		x.index[i].up = up
	}
}

// beginning is the literal that a pattern begins with.
func beginning(pattern string) string {
	if i := strings.IndexByte(pattern, '*'); i >= 0 {
		return pattern[:i]
	}
	return strings.TrimSuffix(pattern, "$")
}

// match pairs rules of equal pattern and verdict and leaves the others in
// only. Most edits touch few lines: what is equal at both ends needs no table.
func match(b, a *side) {
	start, endB, endA := 0, len(b.rules), len(a.rules)
	for start < endB && start < endA && equal(&b.rules[start], &a.rules[start]) {
		start++
	}
	for endB > start && endA > start && equal(&b.rules[endB-1], &a.rules[endA-1]) {
		endB--
		endA--
	}
	type key struct {
		pattern string
		allow   bool
	}
	var spare, paired map[key]int // rules of a without, with a partner
	if start < endB && start < endA {
		spare, paired = make(map[key]int), make(map[key]int)
		for _, r := range a.rules[start:endA] {
			spare[key{r.Pattern, r.Allow}]++
		}
	}
	for i := start; i < endB; i++ {
		k := key{b.rules[i].Pattern, b.rules[i].Allow}
		if spare[k] > 0 {
			spare[k]--
			paired[k]++
			continue
		}
		b.only = append(b.only, i)
	}
	for i := start; i < endA; i++ {
		k := key{a.rules[i].Pattern, a.rules[i].Allow}
		if paired[k] > 0 {
			paired[k]--
			continue
		}
		a.only = append(a.only, i)
	}
	for _, x := range [...]*side{b, a} {
		x.works = make([]bool, len(x.only))
		x.idle = len(x.only)
		for _, i := range x.only {
			if x.rules[i].Allow {
				x.idleAllows++
			}
		}
	}
}

func equal(p, q *robots.Rule) bool { return p.Allow == q.Allow && p.Pattern == q.Pattern }
