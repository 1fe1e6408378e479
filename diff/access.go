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
	if s.ordinaryAllowed(x) {
		return Partial
	}
	return Restricted
}

// ordinaryAllowed is the verdict on an ordinary path.
func (s *solver) ordinaryAllowed(x *side) bool {
	i := s.decider(x, ordinary, -1)
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
		if s.unopposed(x, d.Pattern, true, len(d.Pattern)) {
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
		if i := s.decider(x, path, -1); i < 0 || x.rules[i].Allow {
			return true
		}
	}
	if s.unopposed(x, "/", false, 0) {
		return true
	}
	for i := range x.rules {
		a := &x.rules[i]
		if a.Allow && s.unopposed(x, a.Pattern, false, len(a.Pattern)+1) {
			return true
		}
		if s.exhausted() {
			return false
		}
	}
	return false
}

// unopposed reports whether a path matches the pattern and no rule of the
// given verdict whose pattern has at least that length; /robots.txt does not
// count.
func (s *solver) unopposed(x *side, pattern string, allow bool, length int) bool {
	base := len(s.list)
	s.exempt(pattern)
	for _, j := range s.near(x, pattern) {
		r := &x.rules[j]
		if r.Allow == allow && len(r.Pattern) >= length {
			s.list = append(s.list, r.Pattern)
		}
	}
	path := s.one(pattern, s.list[base:], 0)
	s.list = s.list[:base]
	return path != ""
}
