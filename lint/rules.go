package lint

import (
	"fmt"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
)

// maxRules bounds the rules that are looked at, in all sets together.
const maxRules = 20_000

// rules finds rules that change no verdict for any agent that they are for.
// A line can be part of several sets, since groups of one token merge.
// complete is false when not all could be tried.
func (c *checker) rules() (complete bool) {
	sets, complete := c.ruleSets()
	used := make(map[int]bool)      // by line
	idle := make(map[int]diff.Idle) // by line, as the first set explains it
	for _, set := range sets {
		list, proven := diff.IdleRules(set)
		complete = complete && proven
		without := make(map[*robots.Rule]bool, len(list))
		for _, n := range list {
			without[n.Rule] = true
			if _, known := idle[n.Rule.Line]; !known {
				idle[n.Rule.Line] = n
			}
		}
		for i := range set.Rules {
			if r := &set.Rules[i]; !without[r] {
				used[r.Line] = true
			}
		}
	}
	for line, n := range idle {
		if !used[line] && !statesTheDefault(n) {
			c.add(line, CodeNoEffect, "2.2.2", noEffect(n))
		}
	}
	return complete
}

// ruleSets gives the distinct sets of effective rules; complete is false when
// they have more than maxRules.
func (c *checker) ruleSets() (sets []*robots.Rules, complete bool) {
	seen := make(map[string]bool)
	left := maxRules
	for _, token := range append(c.file.Tokens(), "*") {
		r := c.file.Rules(token)
		key := fmt.Sprint(r.GroupLines)
		if len(r.Rules) == 0 || seen[key] {
			continue
		}
		if left -= len(r.Rules); left < 0 {
			return sets, false
		}
		seen[key] = true
		sets = append(sets, r)
	}
	return sets, true
}

// statesTheDefault: Allow: / without anything to overrule is how people say
// that a group is free.
func statesTheDefault(n diff.Idle) bool {
	if !n.Rule.Allow || n.CoveredBy != nil {
		return false
	}
	switch n.Rule.Pattern {
	case "/", "/*", "*":
		return true
	}
	return false
}

// noEffect says why a rule changes nothing.
func noEffect(n diff.Idle) string {
	rule := visible.Short(n.Rule.Text, 80)
	switch {
	case n.Nothing:
		return rule + " matches no path that a URL can have"
	case n.CoveredBy == nil && n.Rule.Allow:
		return rule + " allows what no rule disallows"
	case n.CoveredBy == nil:
		return rule + " concerns /robots.txt alone, which is always allowed"
	}
	by := visible.Short(n.CoveredBy.Text, 80)
	if n.CoveredBy.Allow != n.Rule.Allow {
		return fmt.Sprintf("%s never decides: %s in line %d is stronger", rule, by, n.CoveredBy.Line)
	}
	if n.CoveredBy.Pattern == n.Rule.Pattern {
		return fmt.Sprintf("%s stands in line %d already", rule, n.CoveredBy.Line)
	}
	return fmt.Sprintf("%s adds nothing to %s in line %d", rule, by, n.CoveredBy.Line)
}
