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

// compareRules finds, for each side, which rules decide on paths that the
// other side gives the opposite verdict.
func compareRules(reading robots.Reading, before, after []robots.Rule) outcome {
	s := newSolver(reading)
	b, a := &side{rules: before}, &side{rules: after}
	match(b, a)
	out := outcome{before: s.level(b)}
	if len(b.only) == 0 && len(a.only) == 0 {
		// The same patterns with the same verdicts: order means nothing.
		out.after = out.before
		out.proven = !s.gaveUp
		return out
	}
	out.after = s.level(a)
	out.disallowed = s.effects(a, b)
	out.allowed = s.effects(b, a)
	out.proven = !s.gaveUp
	if out.proven { // else a rule may have an effect that was not found
		out.idle = append(idleRules(b, a, false), idleRules(a, b, true)...)
	}
	return out
}

// effects gives the Disallow rules of x that decide on paths that y allows,
// and marks which of the rules that only one side has take part.
//
// Take such a path, d the rule of x that decides on it, and a the one of y, an
// Allow or none. If y has d too, then d matches there, so a is stronger than
// d; and x must lack a, or d would not decide. So either x alone has d, or y
// alone has a. With neither, nothing was tightened, and nothing is searched.
func (s *solver) effects(x, y *side) (list []effect) {
	var allows []int // by index into y.only
	for k, j := range y.only {
		if y.rules[j].Allow {
			allows = append(allows, k)
		}
	}
	// Short ones first: what they find spares the search for longer ones.
	slices.SortStableFunc(allows, func(k, l int) int {
		return len(y.rules[y.only[k]].Pattern) - len(y.rules[y.only[l]].Pattern)
	})
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
// and y allows; allows are the Allow rules that x lacks. y allows a path that
// no Disallow matches, or that an Allow matches and no longer Disallow.
func (s *solver) ownEffect(x, y *side, i int, allows []int) string {
	d := x.rules[i].Pattern
	avoid := s.above(x, i, d, nil)
	own := len(avoid)
	weakest := 0 // length of the shortest Disallow of y that may match, 0 for none
	var rivals []int
	near := y.near(d)
	s.work += len(near)
	for _, j := range near {
		r := &y.rules[j]
		switch {
		case !compatible(r.Pattern, d):
		case r.Allow:
			if !y.lacks(int(j)) {
				rivals = append(rivals, int(j))
			}
		default:
			avoid = append(avoid, r.Pattern)
			if weakest == 0 || len(r.Pattern) < weakest {
				weakest = len(r.Pattern)
			}
		}
	}
	best := s.one(d, avoid, 0)
	avoid = avoid[:own:own]
	best = s.pairs(x, y, d, avoid, allows, best)
	for _, j := range rivals {
		a := y.rules[j].Pattern
		if weakest == 0 || len(a) < weakest || hopeless(d, a, best) {
			continue // nothing that the search without Allow missed, or nothing shorter
		}
		list := avoid
		near := y.near(d)
		s.work += len(near)
		for _, k := range near {
			e := &y.rules[k]
			if !e.Allow && len(e.Pattern) > len(a) && compatible(e.Pattern, d) && compatible(e.Pattern, a) {
				list = append(list, e.Pattern)
			}
		}
		if path := s.both(d, a, list, len(best)); path != "" {
			best = path
		}
		if s.exhausted() {
			break
		}
	}
	return best
}

// hopeless reports whether nothing that matches both patterns is shorter than
// best, by their length alone.
func hopeless(d, a, best string) bool {
	return best != "" && len(best) <= max(len(shortest(d)), len(shortest(a)))
}

// pairs gives a shortest path, shorter than best if there is a best, that d
// matches, none of avoid, and on which one of the rules allows (by index into
// y.only) decides in y. It marks the rules that do so anywhere.
func (s *solver) pairs(x, y *side, d string, avoid []string, allows []int, best string) string {
	for _, k := range allows {
		j := y.only[k]
		a := y.rules[j].Pattern
		s.work++
		if !compatible(a, d) {
			continue
		}
		below := 0 // any length shows that the rule works
		if y.works[k] {
			if hopeless(d, a, best) {
				continue
			}
			below = len(best)
		}
		path := s.both(d, a, s.above(y, j, d, avoid), below)
		if path == "" {
			continue
		}
		y.works[k] = true
		if best == "" || len(path) < len(best) {
			best = path
		}
		if s.exhausted() {
			break
		}
	}
	return best
}

// above appends to list the patterns of x that are stronger than rule i and
// may match what d matches, and the path that is always allowed.
func (s *solver) above(x *side, i int, d string, list []string) []string {
	p := x.rules[i].Pattern
	list = s.exempt(list, d)
	near := x.near(p)
	s.work += len(near)
	for _, j := range near {
		f := x.rules[j].Pattern
		if len(f) >= len(p) && int(j) != i && x.stronger(int(j), i) && compatible(f, p) && compatible(f, d) {
			list = append(list, f)
		}
	}
	return list
}

// sharedEffects gives the rules of x that y has too and that decide where an
// Allow of y that x lacks does.
func (s *solver) sharedEffects(x, y *side, allows []int) (list []effect) {
	rivals := make(map[int][]int) // rule of x -> allows that may take paths from it
	for _, k := range allows {
		a := y.rules[y.only[k]].Pattern
		near := x.near(a)
		s.work += len(near)
		for _, i := range near {
			d := &x.rules[i]
			if !d.Allow && len(d.Pattern) <= len(a) && compatible(d.Pattern, a) && !x.lacks(int(i)) {
				rivals[int(i)] = append(rivals[int(i)], k)
			}
		}
	}
	for i := range x.rules {
		if rivals[i] == nil {
			continue
		}
		d := x.rules[i].Pattern
		if path := s.pairs(x, y, d, slices.Clip(s.above(x, i, d, nil)), rivals[i], ""); path != "" {
			list = append(list, effect{i, path})
		}
		if s.exhausted() {
			break
		}
	}
	return list
}

// idleRules gives the rules that only x has and that have no effect, each with
// the rule that gives the same verdict instead.
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

// coveredBy looks at a shortest path that rule i of x matches. If another rule
// of x decides there, or would without i and say the same, that one covers i;
// else the one that decides in y.
func coveredBy(x, y *side, i int) (by int, inOther bool) {
	path := shortest(x.rules[i].Pattern)
	next := x.deciderWithout(i, path)
	if next >= 0 && (x.stronger(next, i) || x.rules[next].Allow == x.rules[i].Allow) {
		return next, false
	}
	if j := y.decider(path); j >= 0 {
		return j, true
	}
	return -1, false
}
