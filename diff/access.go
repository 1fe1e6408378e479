package diff

import "github.com/robotswatch/robotswatch/robots"

// AccessOf gives the level of a rule set, proven over all paths. proven is
// false when the search gave up at its limit; the level is then the best
// answer that candidates and sampling gave.
func AccessOf(r *robots.Rules) (level Level, proven bool) {
	s := newSolver(r.Reading())
	level = s.level(&side{rules: r.Rules})
	return level, !s.gaveUp
}

func (s *solver) level(x *side) Level {
	if !s.someDisallowed(x) {
		return Allowed
	}
	if !s.someAllowed(x) {
		return Blocked
	}
	if ordinaryAllowed(x) {
		return Partial
	}
	return Restricted
}

// ordinaryAllowed is the verdict on an ordinary path: "/" and text that no
// rule mentions. 0xFF stands for the text: no normalised pattern has it, so
// only a star can take it.
func ordinaryAllowed(x *side) bool {
	i := x.decider("/\xff")
	return i < 0 || x.rules[i].Allow
}

// someDisallowed reports whether there is a path that the rules disallow: one
// that a Disallow matches and no Allow that is at least as long.
func (s *solver) someDisallowed(x *side) bool {
	for i := range x.rules {
		d := &x.rules[i]
		if d.Allow {
			continue
		}
		if s.one(d.Pattern, s.opposing(x, d.Pattern, true, len(d.Pattern)), 0) != "" {
			return true
		}
		if s.exhausted() {
			return false
		}
	}
	return false
}

// someAllowed reports whether there is a path, /robots.txt aside, that the
// rules allow: one that no Disallow matches, or that an Allow matches and no
// longer Disallow.
func (s *solver) someAllowed(x *side) bool {
	for _, path := range [...]string{"/", "/x", "/zyx"} {
		s.work += len(x.rules)
		if i := x.decider(path); i < 0 || x.rules[i].Allow {
			return true
		}
	}
	if s.one("/", s.opposing(x, "/", false, 0), 0) != "" {
		return true
	}
	for i := range x.rules {
		a := &x.rules[i]
		if a.Allow && s.one(a.Pattern, s.opposing(x, a.Pattern, false, len(a.Pattern)+1), 0) != "" {
			return true
		}
		if s.exhausted() {
			return false
		}
	}
	return false
}

// opposing gives the patterns of the rules with the given verdict that have at
// least that length and may match what the pattern matches, and the path that
// is always allowed. The slice is good until the next call.
func (s *solver) opposing(x *side, pattern string, allow bool, length int) []string {
	list := s.exempt(s.scratch[:0], pattern)
	near := x.near(pattern)
	s.work += len(near)
	for _, j := range near {
		r := &x.rules[j]
		if r.Allow == allow && len(r.Pattern) >= length && compatible(r.Pattern, pattern) {
			list = append(list, r.Pattern)
		}
	}
	s.scratch = list
	return list
}
