package diff

import (
	"cmp"
	"slices"

	"github.com/robotswatch/robotswatch/robots"
)

// Idle is a rule that decides nothing: without it no path would have another
// verdict.
type Idle struct {
	Rule      *robots.Rule
	CoveredBy *robots.Rule // decides instead; nil when the default gives the verdict
	Nothing   bool         // no path of a URL matches the pattern at all
}

// IdleRules gives the rules of one set that could be removed, all of them
// together, without changing any verdict, in file order. Of rules that stand
// for each other the longer pattern is the one that could go, then the
// Disallow, then the later line. proven is false when the search gave up at
// its limit; what was found until then holds.
func IdleRules(r *robots.Rules) (list []Idle, proven bool) {
	s := newSolver(r.Reading())
	s.limit = maxIdleWork
	with := &side{rules: slices.Clone(r.Rules)}    // what is left of the set
	without := &side{rules: slices.Clone(r.Rules)} // the same, less one rule
	if len(r.Rules) > indexFrom {                  // while all patterns are in place
		with.build()
		without.build()
	}
	var idle []int
	for _, i := range weakestLast(r.Rules) {
		without.rules[i].Pattern = matchesNothing
		works := s.changes(with, without, i)
		if s.gaveUp {
			break
		}
		if works {
			without.rules[i].Pattern = r.Rules[i].Pattern
			continue
		}
		with.rules[i].Pattern = matchesNothing
		idle = append(idle, i)
	}
	slices.Sort(idle)
	for _, i := range idle {
		n := Idle{Rule: &r.Rules[i], Nothing: s.one(r.Rules[i].Pattern, nil, 0) == ""}
		if j := s.decider(with, shortest(r.Rules[i].Pattern), -1); j >= 0 && !n.Nothing {
			n.CoveredBy = &r.Rules[j]
		}
		if s.exhausted() {
			break // no room to say why
		}
		list = append(list, n)
	}
	return list, !s.gaveUp
}

// weakestLast is the order in which rules are tried: the longest first, Allow
// before Disallow, the last line first.
func weakestLast(rules []robots.Rule) []int {
	order := make([]int, len(rules))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		p, q := &rules[i], &rules[j]
		return cmp.Or(cmp.Compare(len(q.Pattern), len(p.Pattern)), cmp.Compare(btoi(q.Allow), btoi(p.Allow)), cmp.Compare(j, i))
	})
	return order
}

// maxIdleWork is what all rules of a set together may cost, in units of
// MaxWork: what they are asked for is advice and not a verdict.
const maxIdleWork = MaxWork

// matchesNothing stands in for the pattern of a rule that was taken out, so
// that rules keep their places: no normalised path begins so.
const matchesNothing = "\xff"

// changes reports whether rule i, which without lacks, changes a verdict.
func (s *solver) changes(with, without *side, i int) bool {
	r := &with.rules[i]
	if path := shortest(r.Pattern); s.lang.contains(path) && path != s.lang.exempt && s.decider(with, path, -1) == i {
		j := s.decider(without, path, -1)
		if allowed := j < 0 || without.rules[j].Allow; allowed != r.Allow {
			return true
		}
	}
	with.only, with.works, with.idle, with.idleAllows = []int{i}, []bool{false}, 1, btoi(r.Allow)
	if !r.Allow {
		return s.ownEffect(with, without, i, "") != ""
	}
	s.sharedEffects(without, with, make([]string, len(without.rules)))
	return with.works[0]
}
