package diff

import (
	"github.com/robotswatch/robotswatch/robots"
)

// Compare two rule sets of one agent, read the same way: direction, every
// deciding rule with effect and its example, rules without effect. The
// agent's name is left to the caller.
func Compare(before, after *robots.Rules) AgentChange {
	return describe(newSolver(after.Reading()).compare(before.Rules, after.Rules), before, after)
}

// describe puts rules and lines in place of indices.
func describe(o outcome, before, after *robots.Rules) AgentChange {
	c := AgentChange{
		Proven:          o.proven,
		Before:          Access{o.before, before.Source},
		After:           Access{o.after, after.Source},
		NewlyDisallowed: entries(o.disallowed, after.Rules, before.Rules),
		NewlyAllowed:    entries(o.allowed, before.Rules, after.Rules),
	}
	switch {
	case len(o.disallowed) > 0 && len(o.allowed) > 0:
		c.Direction = Mixed
	case len(o.disallowed) > 0:
		c.Direction = Tightened
	case len(o.allowed) > 0:
		c.Direction = Loosened
	}
	for _, n := range o.idle {
		own, other := before.Rules, after.Rules
		if n.added {
			own, other = other, own
		}
		e := NoEffect{Added: n.added, Rule: own[n.rule].Text, Line: own[n.rule].Line}
		if n.by >= 0 {
			by := own
			if n.inOther {
				by = other
			}
			e.CoveredBy, e.CoveredLine, e.CoveredInOther = by[n.by].Text, by[n.by].Line, n.inOther
		}
		c.NoEffect = append(c.NoEffect, e)
	}
	return c
}

func entries(effects []effect, rules, other []robots.Rule) []Entry {
	list := make([]Entry, len(effects))
	for i, e := range effects {
		r := &rules[e.rule]
		list[i] = Entry{Example: e.example, Rule: &r.Text, Line: &r.Line}
		if e.by >= 0 {
			list[i].AllowedBy, list[i].AllowedLine = other[e.by].Text, other[e.by].Line
		}
	}
	return list
}
