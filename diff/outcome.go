package diff

import (
	"slices"

	"github.com/robotswatch/robotswatch/robots"
)

// outcome is what a comparison of two rule sets found, by index into their
// rules, so that it serves every pair of sets with the same patterns.
type outcome struct {
	proven        bool
	before, after Level
	disallowed    []effect   // rules of after
	allowed       []effect   // rules of before
	idle          []idleRule // rules of one side without effect
}

// effect is a Disallow rule that decides on paths that the other side allows,
// and a shortest of those.
type effect struct {
	rule    int
	example string
}

// idleRule is a rule of one side that changes no verdict, and the rule that
// gives the same verdict instead; by is -1 when none is needed.
type idleRule struct {
	added   bool // a rule of after, else of before
	rule    int
	by      int
	inOther bool // by is a rule of the other side
}

// side is one of the two rule sets.
type side struct {
	rules []robots.Rule
	only  []int  // rules that the other side lacks, ascending
	works []bool // by index into only: the rule has effect
}

// compareRules finds, for each side, which rules decide on paths that the
// other side gives the opposite verdict.
func compareRules(reading robots.Reading, before, after []robots.Rule) outcome {
	s := newSolver(reading)
	b, a := side{rules: before}, side{rules: after}
	match(&b, &a)
	out := outcome{before: s.level(before)}
	if len(b.only) == 0 && len(a.only) == 0 {
		// The same patterns with the same verdicts: order means nothing.
		out.after = out.before
		out.proven = !s.gaveUp
		return out
	}
	out.after = s.level(after)
	out.disallowed = s.effects(&a, &b)
	out.allowed = s.effects(&b, &a)
	out.proven = !s.gaveUp
	if out.proven { // else a rule may have an effect that was not found
		out.idle = append(idleRules(&b, &a, false), idleRules(&a, &b, true)...)
	}
	return out
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
	var count map[key]int
	if start < endB && start < endA {
		count = make(map[key]int)
		for i := start; i < endA; i++ {
			count[key{a.rules[i].Pattern, a.rules[i].Allow}]++
		}
	}
	var common map[key]int
	if count != nil {
		common = make(map[key]int)
	}
	for i := start; i < endB; i++ {
		k := key{b.rules[i].Pattern, b.rules[i].Allow}
		if count[k] > 0 {
			count[k]--
			common[k]++
			continue
		}
		b.only = append(b.only, i)
	}
	for i := start; i < endA; i++ {
		k := key{a.rules[i].Pattern, a.rules[i].Allow}
		if common[k] > 0 {
			common[k]--
			continue
		}
		a.only = append(a.only, i)
	}
	b.works, a.works = make([]bool, len(b.only)), make([]bool, len(a.only))
}

func equal(p, q *robots.Rule) bool { return p.Allow == q.Allow && p.Pattern == q.Pattern }

func (x *side) lacks(i int) bool {
	_, found := slices.BinarySearch(x.only, i)
	return found
}

// effects gives the Disallow rules of x that decide on paths that y allows,
// and marks which of the rules that only one side has took part.
//
// Take such a path, d the rule of x that decides on it, and a the one of y, an
// Allow or none. If y has d too, then d matches there, so a is stronger than
// d; and x must lack a, or d would not decide. So either x alone has d, or y
// alone has a. With neither, nothing was tightened, and nothing is searched.
func (s *solver) effects(x, y *side) (list []effect) {
	var allows []int // by index into y.only
	for k, i := range y.only {
		if y.rules[i].Allow {
			allows = append(allows, k)
		}
	}
	for k, i := range x.only {
		if x.rules[i].Allow {
			continue
		}
		if path := s.ownEffect(x, y, i, allows); path != "" {
			x.works[k] = true
			list = append(list, effect{i, path})
		}
		if s.exhausted() {
			return list
		}
	}
	if len(allows) > 0 {
		list = append(list, s.sharedEffects(x, y, allows)...)
		slices.SortFunc(list, func(p, q effect) int { return p.rule - q.rule })
	}
	return list
}

// ownEffect gives a shortest path on which rule i of x, which y lacks, decides
// and y allows; allows are the Allow rules that x lacks.
func (s *solver) ownEffect(x, y *side, i int, allows []int) string {
	d := x.rules[i].Pattern
	above := s.above(x, i, nil, d)
	mine := len(above)
	weakest := -1 // the shortest Disallow of y that may match
	s.work += len(y.rules)
	for j := range y.rules {
		e := &y.rules[j]
		if !e.Allow && compatible(e.Pattern, d) {
			above = append(above, e.Pattern)
			if weakest < 0 || len(e.Pattern) < weakest {
				weakest = len(e.Pattern)
			}
		}
	}
	best := s.one(d, above, 0)
	avoid := above[:mine:mine]
	for _, k := range allows {
		j := y.only[k]
		if y.works[k] && s.minimal(d, best) {
			continue
		}
		below := len(best)
		if !y.works[k] {
			below = 0
		}
		path := s.pair(x, y, d, avoid, j, below)
		if path == "" {
			continue
		}
		y.works[k] = true
		if best == "" || len(path) < len(best) {
			best = path
		}
	}
	if weakest < 0 || s.minimal(d, best) {
		return best
	}
	for j := range y.rules {
		a := &y.rules[j]
		if !a.Allow || len(a.Pattern) < weakest || !compatible(a.Pattern, d) || y.lacks(j) {
			continue
		}
		list := avoid
		for k := range y.rules {
			e := &y.rules[k]
			if !e.Allow && len(e.Pattern) > len(a.Pattern) && compatible(e.Pattern, d) && compatible(e.Pattern, a.Pattern) {
				list = append(list, e.Pattern)
			}
		}
		s.work += len(y.rules)
		if path := s.both(d, a.Pattern, list, len(best)); path != "" {
			best = path
		}
		if s.exhausted() {
			break
		}
	}
	return best
}

// minimal reports whether no path that matches d can be shorter than path.
func (s *solver) minimal(d, path string) bool {
	return path != "" && len(path) == len(shortest(d))
}

// pair gives a shortest path that d and rule j of y match, none of avoid, and
// no rule of y that is stronger than j.
func (s *solver) pair(x, y *side, d string, avoid []string, j, below int) string {
	a := y.rules[j].Pattern
	if !compatible(d, a) {
		return ""
	}
	return s.both(d, a, s.above(y, j, avoid, d), below)
}

// above appends the patterns of x that are stronger than rule i and may match
// what d matches.
func (s *solver) above(x *side, i int, list []string, d string) []string {
	p := x.rules[i].Pattern
	list = s.exempt(list, d)
	s.work += len(x.rules)
	for j := range x.rules {
		f := x.rules[j].Pattern
		if len(f) >= len(p) && j != i && stronger(x.rules, j, i) && compatible(f, p) && compatible(f, d) {
			list = append(list, f)
		}
	}
	return list
}

// sharedEffects gives the rules of x that y has too and that decide where an
// Allow of y that x lacks does.
func (s *solver) sharedEffects(x, y *side, allows []int) (list []effect) {
	for i := range x.rules {
		d := &x.rules[i]
		if d.Allow || x.lacks(i) {
			continue
		}
		best := ""
		var avoid []string
		for _, k := range allows {
			j := y.only[k]
			a := &y.rules[j]
			s.work++
			if len(a.Pattern) < len(d.Pattern) || !compatible(a.Pattern, d.Pattern) {
				continue
			}
			if avoid == nil {
				avoid = s.above(x, i, make([]string, 0, 8), d.Pattern)
				avoid = slices.Clip(avoid)
			}
			below := len(best)
			if !y.works[k] {
				below = 0
			}
			path := s.pair(x, y, d.Pattern, avoid, j, below)
			if path == "" {
				continue
			}
			y.works[k] = true
			if best == "" || len(path) < len(best) {
				best = path
			}
		}
		if best != "" {
			list = append(list, effect{i, best})
		}
		if s.exhausted() {
			break
		}
	}
	return list
}

// idleRules gives the rules that only x has and that have no effect, each with
// the rule that gives the same verdict without it.
func idleRules(x, y *side, added bool) (list []idleRule) {
	for k, i := range x.only {
		if x.works[k] {
			continue
		}
		n := idleRule{added: added, rule: i}
		n.by, n.inOther = coveredBy(x, y, i)
		list = append(list, n)
	}
	return list
}

// coveredBy looks at a shortest path that rule i of x matches: the rule that
// decides there, on x's side if it is another one or would be without i, else
// on y's side.
func coveredBy(x, y *side, i int) (by int, inOther bool) {
	path := shortest(x.rules[i].Pattern)
	next := -1
	for j := range x.rules {
		if j != i && robots.Match(x.rules[j].Pattern, path) && (next < 0 || stronger(x.rules, j, next)) {
			next = j
		}
	}
	if next >= 0 && (stronger(x.rules, next, i) || x.rules[next].Allow == x.rules[i].Allow) {
		return next, false
	}
	if j := decider(y.rules, path); j >= 0 {
		return j, true
	}
	return -1, false
}
