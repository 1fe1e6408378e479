package diff

import "github.com/robotswatch/robotswatch/robots"

// AccessOf gives the level of a rule set, proven over all paths. proven is
// false when the search gave up at its limit; the level is then the best
// answer that candidates and sampling gave.
func AccessOf(r *robots.Rules) (level Level, proven bool) {
	s := newSolver(r.Reading())
	level = s.level(r.Rules)
	return level, !s.gaveUp
}

func (s *solver) level(rules []robots.Rule) Level {
	if !s.someDisallowed(rules) {
		return Allowed
	}
	if ordinaryAllowed(rules) {
		if s.someAllowed(rules) {
			return Partial
		}
		return Blocked
	}
	if s.someAllowed(rules) {
		return Restricted
	}
	return Blocked
}

// ordinaryAllowed is the verdict on an ordinary path: "/" and text that no
// rule mentions. 0xFF stands for the text: no normalised pattern has it, so
// only a star can take it.
func ordinaryAllowed(rules []robots.Rule) bool {
	best := -1
	for i := range rules {
		if (best < 0 || stronger(rules, i, best)) && robots.Match(rules[i].Pattern, "/\xff") {
			best = i
		}
	}
	return best < 0 || rules[best].Allow
}

// stronger reports whether rule i decides when i and j both match: the longer
// pattern, Allow before Disallow, the first in the file (RFC 9309, 2.2.2).
func stronger(rules []robots.Rule, i, j int) bool {
	a, b := &rules[i], &rules[j]
	if len(a.Pattern) != len(b.Pattern) {
		return len(a.Pattern) > len(b.Pattern)
	}
	if a.Allow != b.Allow {
		return a.Allow
	}
	return i < j
}

// someDisallowed reports whether there is a path that the rules disallow: one
// that a Disallow matches and no Allow that is at least as long.
func (s *solver) someDisallowed(rules []robots.Rule) bool {
	for i := range rules {
		d := &rules[i]
		if d.Allow {
			continue
		}
		avoid := s.exempt(s.avoid[:0], d.Pattern)
		for j := range rules {
			a := &rules[j]
			if a.Allow && len(a.Pattern) >= len(d.Pattern) && compatible(a.Pattern, d.Pattern) {
				avoid = append(avoid, a.Pattern)
			}
		}
		s.avoid = avoid
		s.work += len(rules)
		if s.one(d.Pattern, avoid, 0) != "" {
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
func (s *solver) someAllowed(rules []robots.Rule) bool {
	for _, path := range [...]string{"/", "/x", "/zyx"} {
		s.work += len(rules)
		if best := decider(rules, path); best < 0 || rules[best].Allow {
			return true
		}
	}
	if s.allowedBy(rules, "/", 0) {
		return true
	}
	for i := range rules {
		a := &rules[i]
		if a.Allow && s.allowedBy(rules, a.Pattern, len(a.Pattern)+1) {
			return true
		}
		if s.exhausted() {
			return false
		}
	}
	return false
}

// allowedBy reports whether a path matches the pattern and no Disallow of at
// least the given length.
func (s *solver) allowedBy(rules []robots.Rule, pattern string, length int) bool {
	avoid := s.exempt(s.avoid[:0], pattern)
	for j := range rules {
		d := &rules[j]
		if !d.Allow && len(d.Pattern) >= length && compatible(d.Pattern, pattern) {
			avoid = append(avoid, d.Pattern)
		}
	}
	s.avoid = avoid
	s.work += len(rules)
	return s.one(pattern, avoid, 0) != ""
}

// decider is the index of the rule that decides on a path, -1 for none.
func decider(rules []robots.Rule, path string) int {
	best := -1
	for i := range rules {
		if (best < 0 || stronger(rules, i, best)) && robots.Match(rules[i].Pattern, path) {
			best = i
		}
	}
	return best
}
