package diff

import (
	"cmp"
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
// a shortest of those, and the rule that allows it there, -1 for none.
type effect struct {
	rule    int
	example string
	by      int
}

// idleRule is a rule of one side that changes no verdict, and the rule that
// gives the same verdict instead; by is -1 when none is needed.
type idleRule struct {
	added   bool // a rule of after, else of before
	rule    int
	by      int
	inOther bool // by is a rule of the other side
}

// compare finds, for each side, which rules decide on paths that the other
// side gives the opposite verdict.
func (s *solver) compare(before, after []robots.Rule) outcome {
	b, a := &side{rules: before}, &side{rules: after}
	match(b, a)
	s.spend(costMatch * (len(before) + len(after)))
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
	idle := append(s.idleRules(b, a, false), s.idleRules(a, b, true)...)
	out.proven = !s.gaveUp
	if out.proven { // else a rule may have an effect that was not found
		out.idle = idle
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
	if x.idle == x.idleAllows && y.idleAllows == 0 {
		return nil
	}
	found := s.candidates(x, y)
	for _, i := range x.only {
		if x.rules[i].Allow {
			continue
		}
		if path := s.ownEffect(x, y, i, found[i]); path != "" {
			x.mark(i)
			found[i] = path
		}
		if s.exhausted() {
			break
		}
	}
	s.sharedEffects(x, y, found)
	for i, path := range found {
		if path != "" {
			list = append(list, effect{i, path, s.decider(y, path, -1)})
		}
	}
	return list
}

// candidates tries a shortest path of each rule that may take part, which
// often settles it. It gives the paths found by the rule of x that decides.
func (s *solver) candidates(x, y *side) []string {
	found := make([]string, len(x.rules))
	for _, own := range [...]struct {
		*side
		allow bool
	}{{x, false}, {y, true}} {
		for _, r := range own.only {
			if own.rules[r].Allow != own.allow || s.exhausted() {
				continue
			}
			path := shortest(own.rules[r].Pattern)
			if !s.lang.contains(path) || path == s.lang.exempt {
				continue
			}
			i := s.decider(x, path, -1)
			if i < 0 || x.rules[i].Allow {
				continue
			}
			j := s.decider(y, path, -1)
			if j >= 0 && !y.rules[j].Allow {
				continue
			}
			if found[i] == "" || len(path) < len(found[i]) {
				found[i] = path
			}
			x.mark(i)
			y.mark(j)
		}
	}
	return found
}

// ownEffect gives a shortest path on which rule i of x, which y lacks, decides
// and y allows; best is one that was found already, "" for none. y allows a
// path that no Disallow matches, or that an Allow matches and no longer
// Disallow.
func (s *solver) ownEffect(x, y *side, i int, best string) string {
	d := x.rules[i].Pattern
	settled := len(best) == least(d)
	if settled && y.idleAllows == 0 {
		return best
	}
	base := len(s.list)
	s.above(x, i, d)
	own := len(s.list)
	weakest := 0         // length of the shortest Disallow of y that may match, 0 for none
	var mine, ours []int // Allow rules of y that x lacks, by index into only; that x has, by index
	for _, j := range s.near(y, d) {
		r := &y.rules[j]
		if !r.Allow {
			s.list = append(s.list, r.Pattern)
			if weakest == 0 || len(r.Pattern) < weakest {
				weakest = len(r.Pattern)
			}
		} else if k, ok := y.lacks(int(j)); ok {
			mine = append(mine, k)
		} else {
			ours = append(ours, int(j))
		}
	}
	if !settled {
		if path := s.one(d, s.list[base:], len(best)); path != "" {
			best = path
		}
	}
	s.list = s.list[:own]
	best = s.pairs(y, d, base, mine, best)
	if weakest > 0 {
		best = s.rivals(y, d, base, weakest, ours, best)
	}
	s.list = s.list[:base]
	return best
}

// pairs gives a shortest path, shorter than best if there is a best, that d
// matches, none of the list from base, and on which one of the Allow rules (by
// index into y.only) decides in y. It marks those that do so anywhere.
func (s *solver) pairs(y *side, d string, base int, allows []int, best string) string {
	// Short ones first: what they find spares the search for longer ones.
	slices.SortFunc(allows, func(k, l int) int {
		return cmp.Or(len(y.rules[y.only[k]].Pattern)-len(y.rules[y.only[l]].Pattern), k-l)
	})
	for _, k := range allows {
		a := y.rules[y.only[k]].Pattern
		below := 0 // any length shows that the rule works
		if y.works[k] {
			if hopeless(d, a, best) {
				continue
			}
			below = len(best)
		}
		top := len(s.list)
		s.above(y, y.only[k], d)
		path := s.both(d, a, s.list[base:], below)
		s.list = s.list[:top]
		if path != "" {
			y.mark(y.only[k])
			if best == "" || len(path) < len(best) {
				best = path
			}
		}
		if s.exhausted() {
			break
		}
	}
	return best
}

// rivals gives a shortest path, shorter than best if there is a best, that d
// matches, none of the list from base, one of the Allow rules of y, and no
// longer Disallow of y. weakest is the length of the shortest Disallow: an
// Allow that is shorter wins nothing.
func (s *solver) rivals(y *side, d string, base, weakest int, allows []int, best string) string {
	for _, j := range allows {
		a := y.rules[j].Pattern
		if len(a) < weakest || hopeless(d, a, best) {
			continue
		}
		top := len(s.list)
		for _, k := range s.near(y, d) {
			e := &y.rules[k]
			if !e.Allow && len(e.Pattern) > len(a) && compatible(e.Pattern, a) {
				s.list = append(s.list, e.Pattern)
			}
		}
		path := s.both(d, a, s.list[base:], len(best))
		s.list = s.list[:top]
		if path != "" {
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
	return best != "" && len(best) <= max(least(d), least(a))
}

// above puts on the list the patterns of x that are stronger than rule i and
// may match what d matches, and the path that is always allowed.
func (s *solver) above(x *side, i int, d string) {
	p := x.rules[i].Pattern
	s.exempt(d)
	for _, j := range s.near(x, p) {
		f := x.rules[j].Pattern
		if len(f) >= len(p) && int(j) != i && x.stronger(int(j), i) && compatible(f, d) {
			s.list = append(s.list, f)
		}
	}
}

// sharedEffects finds the rules of x that y has too and that decide where an
// Allow of y that x lacks does.
func (s *solver) sharedEffects(x, y *side, found []string) {
	var allows [][]int // by rule of x: those, by index into y.only
	for k, j := range y.only {
		a := &y.rules[j]
		if !a.Allow {
			continue
		}
		if allows == nil {
			allows = make([][]int, len(x.rules))
		}
		for _, i := range s.near(x, a.Pattern) {
			d := &x.rules[i]
			if d.Allow || len(d.Pattern) > len(a.Pattern) {
				continue
			}
			if _, own := x.lacks(int(i)); !own {
				allows[i] = append(allows[i], k)
				s.spend(costLook)
			}
		}
		if s.exhausted() {
			return
		}
	}
	for i, list := range allows {
		if list == nil {
			continue
		}
		d := x.rules[i].Pattern
		base := len(s.list)
		s.above(x, i, d)
		if path := s.pairs(y, d, base, list, found[i]); path != "" {
			found[i] = path
		}
		s.list = s.list[:base]
		if s.exhausted() {
			break
		}
	}
}

// idleRules gives the rules that only x has and that have no effect, each with
// the rule that gives the same verdict instead.
func (s *solver) idleRules(x, y *side, added bool) (list []idleRule) {
	if x.idle == 0 {
		return nil
	}
	for k, i := range x.only {
		if x.works[k] {
			continue
		}
		if s.exhausted() {
			return nil
		}
		n := idleRule{added: added, rule: i}
		n.by, n.inOther = s.coveredBy(x, y, i)
		list = append(list, n)
	}
	return list
}

// coveredBy looks at a shortest path that rule i of x matches. If another rule
// of x decides there, or would without i and say the same, that one covers i;
// else the one that decides in y.
func (s *solver) coveredBy(x, y *side, i int) (by int, inOther bool) {
	path := shortest(x.rules[i].Pattern)
	next := s.decider(x, path, i)
	if next >= 0 && (x.stronger(next, i) || x.rules[next].Allow == x.rules[i].Allow) {
		return next, false
	}
	if j := s.decider(y, path, -1); j >= 0 {
		return j, true
	}
	return -1, false
}
