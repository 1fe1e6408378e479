package watcher

import (
	"slices"

	"github.com/robotswatch/robotswatch/diff"
)

// About is an access event limited to some of its agents; ok is false when it
// is about none of them.
func (c Change) About(wanted func(agent string) bool) (part Change, ok bool) {
	var list []diff.AgentChange
	watched := 0
	for i, a := range c.Agents {
		if wanted(a.Agent) {
			list = append(list, a)
			if i < c.WatchedFirst {
				watched++
			}
		}
	}
	if len(list) == 0 {
		return Change{}, false
	}
	part = c
	part.Agents, part.WatchedFirst, part.Watched = list, watched, watched > 0
	part.Severity = severityOf(list)
	part.Summary = summariseAgents(list) + unstableNote(c.Unstable)
	return part, true
}

// With is an access event that speaks of more agents, derived later than the
// rest. What was told, and how urgent it was, stays.
func (c Change) With(later []diff.AgentChange) Change {
	c.Agents = append(slices.Clone(c.Agents), later...)
	c.BackfilledAgents = slices.Clone(c.BackfilledAgents)
	for _, a := range later {
		c.BackfilledAgents = append(c.BackfilledAgents, a.Agent)
	}
	return c
}
