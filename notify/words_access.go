package notify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// outcome is what happened to one or more agents alike.
type outcome struct {
	direction     diff.Direction
	before, after diff.Level
	agents        []diff.AgentChange
}

// outcomes groups agents by what happened to them, the gravest first; agents
// keep their order.
func outcomes(list []diff.AgentChange) []outcome {
	var out []outcome
	for _, a := range list {
		i := slices.IndexFunc(out, func(o outcome) bool {
			return o.direction == a.Direction && o.before == a.Before.Level && o.after == a.After.Level
		})
		if i < 0 {
			i = len(out)
			out = append(out, outcome{direction: a.Direction, before: a.Before.Level, after: a.After.Level})
		}
		out[i].agents = append(out[i].agents, a)
	}
	slices.SortStableFunc(out, func(a, b outcome) int { return cmp.Compare(a.weight(), b.weight()) })
	return out
}

// weight orders outcomes: smaller is graver.
func (o outcome) weight() int {
	switch {
	case o.before == o.after:
		return map[diff.Direction]int{diff.Tightened: 5, diff.Mixed: 6, diff.Loosened: 7, diff.Same: 8}[o.direction]
	case o.after == diff.Blocked:
		return 0
	case o.after == diff.Restricted && o.before != diff.Blocked:
		return 1
	case o.before == diff.Blocked:
		return 2
	case o.before == diff.Restricted:
		return 3
	}
	return 4
}

func (o outcome) names() []string {
	names := make([]string, len(o.agents))
	for i, a := range o.agents {
		names[i] = diff.AgentName(a.Agent)
	}
	return names
}

// phrase says what happened to the agents, for one site ("GPTBot now
// blocked") and for many ("now block GPTBot").
func (o outcome) phrase() (one, many string) {
	who := inTitle(o.names())
	switch {
	case o.before == o.after && o.direction == diff.Tightened:
		return who + " may fetch less", "let " + who + " fetch less"
	case o.before == o.after && o.direction == diff.Loosened:
		return who + " may fetch more", "let " + who + " fetch more"
	case o.before == o.after && o.direction == diff.Mixed:
		return who + " may fetch other paths", "let " + who + " fetch other paths"
	case o.before == o.after:
		return "another group now decides for " + who, "decide for " + who + " by another group"
	case o.after == diff.Blocked:
		return who + " now blocked", "now block " + who
	case o.after == diff.Allowed:
		return who + " now allowed", "now allow " + who
	case o.before == diff.Blocked:
		return who + " no longer blocked", "no longer block " + who
	case o.after == diff.Restricted:
		return who + " now restricted", "now restrict " + who
	case o.before == diff.Restricted:
		return who + " no longer restricted", "no longer restrict " + who
	case o.before == diff.Allowed:
		return who + " now partly blocked", "now block " + who + " in part"
	}
	return who + " now " + levelName(o.after), "changed access of " + who
}

func accessVerdict(c watcher.Change) verdict {
	list := outcomes(c.Agents)
	if len(list) == 0 {
		return of("changed access", "changed access")
	}
	one, many := list[0].phrase()
	if len(list) > 1 {
		o, m := list[1].phrase()
		one, many = one+"; "+o, many+"; "+m
	}
	if len(list) > 2 {
		rest := 0
		for _, o := range list[2:] {
			rest += len(o.agents)
		}
		one, many = one+"; "+count(rest, "more agent"), many+"; "+count(rest, "more agent")
	}
	return on(one, many)
}

// levelName is a level in plain words.
func levelName(l diff.Level) string {
	switch l {
	case diff.Allowed:
		return "allowed"
	case diff.Partial:
		return "partly allowed"
	case diff.Restricted:
		return "restricted"
	case diff.Blocked:
		return "blocked"
	}
	return "unknown"
}

// sourceName says where an access comes from.
func sourceName(s robots.Source) string { return cmp.Or(s.Words(), "never seen") }

func accessDetails(c watcher.Change, others []diff.AgentChange) []Section {
	var sections []Section
	var rest []diff.AgentChange
	for i, o := range outcomes(c.Agents) {
		if i < maxOutcomesListed {
			sections = append(sections, outcomeSection(o))
		} else {
			rest = append(rest, o.agents...)
		}
	}
	var lines []Line
	if len(rest) > 0 {
		lines = append(lines, Line{plain("More changes: " + listed(outcome{agents: rest}.names(), maxAgentsListed))})
	}
	if len(others) > 0 {
		lines = append(lines, Line{plain("Other agents changed too: " + listed(outcome{agents: others}.names(), maxAgentsListed))})
	}
	if lines != nil {
		sections = append(sections, Section{Lines: lines})
	}
	return sections
}

// outcomeSection has who, before and after, and the lines that decide.
func outcomeSection(o outcome) Section {
	s := Section{Heading: headingOf(o), Lines: []Line{{plain(listed(o.names(), maxAgentsListed))}}}
	s.Lines = append(s.Lines, Line{plain(transition(o))})
	entries := deciding(o.agents)
	for i, e := range entries {
		if i == maxEntriesListed {
			s.Lines = append(s.Lines, Line{plainf("and %s more", count(len(entries)-i, "deciding line"))})
			break
		}
		s.Lines = append(s.Lines, entryLine(e))
	}
	if slices.ContainsFunc(o.agents, func(a diff.AgentChange) bool { return !a.Proven }) {
		s.Lines = append(s.Lines, Line{plain("Not proven: the rules are so involved that the search gave up; this is what it found.")})
	}
	for _, n := range notes(o.agents) {
		s.Lines = append(s.Lines, Line{plain("Note: " + n)})
	}
	return s
}

func headingOf(o outcome) string {
	switch {
	case o.before == o.after && o.direction == diff.Tightened:
		return "May fetch less"
	case o.before == o.after && o.direction == diff.Loosened:
		return "May fetch more"
	case o.before == o.after && o.direction == diff.Mixed:
		return "May fetch other paths"
	case o.before == o.after:
		return "Decided by another group"
	}
	name := levelName(o.after)
	return "Now " + name
}

// transition is before and after, with where each comes from when that is
// the same for all.
func transition(o outcome) string {
	from := func(side func(diff.AgentChange) diff.Access) string {
		first := side(o.agents[0])
		for _, a := range o.agents {
			if side(a).Source != first.Source {
				return levelName(first.Level)
			}
		}
		return levelName(first.Level) + " (" + sourceName(first.Source) + ")"
	}
	return "before: " + from(func(a diff.AgentChange) diff.Access { return a.Before }) +
		" → after: " + from(func(a diff.AgentChange) diff.Access { return a.After })
}

// entry is a deciding line with the side on which it stands.
type entry struct {
	diff.Entry
	allowed bool // newly allowed: the line stood in the old file
}

// deciding lists the distinct deciding lines of agents.
func deciding(list []diff.AgentChange) []entry {
	type key struct {
		rule    string
		line    int
		allowed bool
	}
	seen := map[key]bool{}
	var out []entry
	add := func(entries []diff.Entry, allowed bool) {
		for _, e := range entries {
			k := key{allowed: allowed}
			if e.Rule != nil {
				k.rule = *e.Rule
			}
			if e.Line != nil {
				k.line = *e.Line
			}
			if !seen[k] {
				seen[k] = true
				out = append(out, entry{e, allowed})
			}
		}
	}
	for _, a := range list {
		add(a.NewlyDisallowed, false)
		add(a.NewlyAllowed, true)
	}
	return out
}

// entryLine: "newly blocked, e.g. /private/x, by line 12: Disallow: /private/"
func entryLine(e entry) Line {
	line := Line{plain("newly blocked, e.g. "), code(visible.Short(e.Example, maxPathShown))}
	if e.allowed {
		line[0].Text = "newly allowed, e.g. "
	}
	if e.Rule == nil {
		return line
	}
	by := ", by "
	if e.allowed {
		by = ", until now blocked by "
	}
	if e.Line != nil {
		by += "line " + thousands(*e.Line) + ": "
	}
	return append(line, plain(by), code(visible.Short(*e.Rule, maxRuleShown)))
}

// notes are the distinct notes of agents, at most two.
func notes(list []diff.AgentChange) []string {
	var out []string
	for _, a := range list {
		n := strings.TrimSpace(visible.Short(a.Note, 300))
		if n != "" && !slices.Contains(out, n) && len(out) < 2 {
			out = append(out, n)
		}
	}
	return out
}
