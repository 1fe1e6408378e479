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
	works []bool // by index into only: the rule has effect

	asked int     // calls of near
	all   []int32 // every rule, made when first needed
	index []entry // made when asked often
	found []int32 // scratch of near
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

// decider is the index of the rule that decides on a path, -1 for none.
func (x *side) decider(path string) int { return x.deciderWithout(-1, path) }

// deciderWithout is decider if rule i were not there.
func (x *side) deciderWithout(i int, path string) int {
	best := -1
	for j := range x.rules {
		if j != i && (best < 0 || x.stronger(j, best)) && robots.Match(x.rules[j].Pattern, path) {
			best = j
		}
	}
	return best
}

// lacks reports whether rule i is one that the other side lacks.
func (x *side) lacks(i int) bool {
	_, found := slices.BinarySearch(x.only, i)
	return found
}

// near gives the rules that may match what the pattern matches, judged by what
// their patterns begin with, and perhaps some more. The slice is good until
// the next call.
func (x *side) near(pattern string) []int32 {
	x.asked++
	if x.index == nil && x.asked > indexAfter && len(x.rules) > indexFrom {
		x.build()
	}
	if x.index == nil {
		for i := len(x.all); i < len(x.rules); i++ {
			x.all = append(x.all, int32(i))
		}
		return x.all
	}
	text := beginning(pattern)
	after, _ := slices.BinarySearchFunc(x.index, text, func(e entry, text string) int {
		if e.text <= text {
			return -1
		}
		return 1
	})
	x.found = x.found[:0]
	up := int32(after) - 1
	for up >= 0 && !strings.HasPrefix(text, x.index[up].text) {
		up = x.index[up].up
	}
	for ; up >= 0; up = x.index[up].up {
		x.found = append(x.found, x.index[up].rule)
	}
	for _, e := range x.index[after:] {
		if !strings.HasPrefix(e.text, text) {
			break
		}
		x.found = append(x.found, e.rule)
	}
	return x.found
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
	b.works, a.works = make([]bool, len(b.only)), make([]bool, len(a.only))
}

func equal(p, q *robots.Rule) bool { return p.Allow == q.Allow && p.Pattern == q.Pattern }
