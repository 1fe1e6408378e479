package diff

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/robotswatch/robotswatch/robots"
)

// comparisons remembers what was compared: by the groups that apply, then by
// the patterns in them. Changes in it are of nobody by name.
type comparisons struct {
	byPlaces   map[places]*AgentChange
	byGroups   map[string]*AgentChange
	byPatterns map[uint64][]compared // by hash of the patterns
	seed       maphash.Seed
	solver     *solver
	work       int
}

// compared is a pair of rule sets, and what came of it.
type compared struct {
	reading       robots.Reading
	before, after []robots.Rule
	outcome
}

// places tells groups apart by where a file keeps them, which is quickly
// looked up. Groups that are put together in two places have two of them.
type places struct {
	reading           robots.Reading
	before, after     robots.Source
	beforeAt, afterAt *int
}

func placesOf(u *ruled) places {
	at := func(r *robots.Rules) *int {
		if len(r.GroupLines) == 0 {
			return nil
		}
		return &r.GroupLines[0]
	}
	return places{u.agent.Reading, u.before.Source, u.after.Source, at(u.before), at(u.after)}
}

func (m *comparisons) compare(before, after *Input, u *ruled) *AgentChange {
	place := placesOf(u)
	c, known := m.byPlaces[place]
	if !known {
		if m.byPlaces == nil {
			m.byPlaces = make(map[places]*AgentChange)
			m.byGroups = make(map[string]*AgentChange)
			m.byPatterns = make(map[uint64][]compared)
			m.seed = maphash.MakeSeed()
		}
		c = m.byGroup(before, after, u)
		m.byPlaces[place] = c
	}
	return c
}

func (m *comparisons) byGroup(before, after *Input, u *ruled) *AgentChange {
	reading, b, a := u.agent.Reading, u.before, u.after
	key := groupsKey(reading, b, a)
	c, known := m.byGroups[key]
	if !known {
		o := m.byPattern(reading, b, a)
		o.idle = edits(o.idle, before.File(reading), after.File(reading), b, a)
		told := describe(o, b, a)
		c = &told
		m.byGroups[key] = c
	}
	return c
}

func (m *comparisons) byPattern(reading robots.Reading, b, a *robots.Rules) outcome {
	key := m.hash(b.Rules, a.Rules)
	for _, c := range m.byPatterns[key] {
		if c.reading == reading && slices.EqualFunc(c.before, b.Rules, same) && slices.EqualFunc(c.after, a.Rules, same) {
			return c.outcome
		}
	}
	if m.solver == nil {
		m.solver = &solver{}
	}
	m.solver.begin(a.Reading())
	if m.work > maxFilesWork {
		m.solver.limit = lateWork
	}
	o := m.solver.compare(b.Rules, a.Rules)
	m.work += m.solver.work
	m.byPatterns[key] = append(m.byPatterns[key], compared{reading, b.Rules, a.Rules, o})
	return o
}

// hash is the same for pairs of rule sets that do not differ in what decides
// on paths.
func (m *comparisons) hash(sides ...[]robots.Rule) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, rules := range sides {
		for i := range rules {
			h.WriteString(rules[i].Pattern)
			h.WriteByte("-+"[btoi(rules[i].Allow)])
		}
		h.WriteByte('\n')
	}
	return h.Sum64()
}

func same(p, q robots.Rule) bool { return equal(&p, &q) }

// groupsKey says which groups apply, on both sides.
func groupsKey(reading robots.Reading, sides ...*robots.Rules) string {
	key := []byte(reading)
	for _, r := range sides {
		key = append(append(key, '\n'), r.Source...)
		for _, line := range r.GroupLines {
			key = strconv.AppendInt(append(key, ' '), int64(line), 10)
		}
	}
	return string(key)
}

// note says what the other reading of an agent's files makes of the edit, ""
// when it is the same.
func (m *comparisons) note(before, after *Input, u *ruled, c *AgentChange) string {
	agent, lead := *u.agent, ""
	switch {
	case agent.Reading != "" && agent.Reading != robots.ReadingRFC9309:
		agent.Reading, lead = robots.ReadingRFC9309, "read as RFC 9309 says"
	case agent.Operator != "" && agent.Operator != robots.ReadingRFC9309:
		agent.Reading, lead = agent.Operator, fmt.Sprintf("read as its operator does (%s)", agent.Operator)
	default:
		return ""
	}
	o := m.compare(before, after, &ruled{&agent, before.Rules(agent), after.Rules(agent)})
	switch {
	case o.Direction != c.Direction || o.Before.Level != c.Before.Level || o.After.Level != c.After.Level:
		return fmt.Sprintf("%s: %s", lead, levels(*o))
	case !slices.Equal(linesOf(o.NewlyDisallowed), linesOf(c.NewlyDisallowed)) || !slices.Equal(linesOf(o.NewlyAllowed), linesOf(c.NewlyAllowed)):
		return fmt.Sprintf("%s, other rules decide", lead)
	}
	return ""
}

func linesOf(list []Entry) (lines []int) {
	for _, e := range list {
		lines = append(lines, *e.Line)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// edits gives the rules that were really added or removed: when the agent goes
// by other groups than before, those of its old and new groups that both files
// have are left out.
func edits(list []idleRule, before, after *robots.File, b, a *robots.Rules) []idleRule {
	if b.Token == a.Token || len(list) == 0 {
		return list
	}
	was, is := before.Rules(a.Token), after.Rules(b.Token) // the groups, on the other side
	return slices.DeleteFunc(slices.Clone(list), func(n idleRule) bool {
		rules, other, token := b.Rules, is, b.Token
		if n.added {
			rules, other, token = a.Rules, was, a.Token
		}
		return other.Token == token && slices.ContainsFunc(other.Rules, func(r robots.Rule) bool {
			return equal(&r, &rules[n.rule])
		})
	})
}
