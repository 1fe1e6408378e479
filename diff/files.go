package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotswatch/robotswatch/robots"
)

// Everyone stands for a crawler that no group names.
const Everyone = "*"

// Files compares two files for the agents given (callers add the ones that
// either file names with Named). Each distinct pair of rule sets is compared
// once. A change of source alone lists its agent, and leaves the files
// equivalent: no path has another verdict.
func Files(before, after *Input, agents []Agent) *Report {
	report := Effects(before, after, agents)
	report.Text = CountText(before.Text, after.Text)
	return report
}

// Effects is Files without Text, which costs as much again and which few who
// want to know what an edit means ask for.
func Effects(before, after *Input, agents []Agent) *Report {
	under := underRules(before, after, agents)
	report := &Report{
		Schema:      Schema,
		Equivalent:  true,
		Compared:    len(agents),
		Agents:      []AgentChange{},
		Signals:     signalChanges(before.File(""), after.File("")),
		CrawlDelays: crawlDelayChanges(before, after, under),
		Sitemaps:    sitemapChanges(before.File(""), after.File("")),
	}
	cache := comparisons{}
	for _, u := range under {
		agent := u.agent
		c := cache.compare(before, after, u)
		note := cache.note(before, after, u, c)
		if c.Direction != Same || !c.Proven {
			report.Equivalent = false
		}
		if c.Direction == Same && c.Proven && c.Before == c.After {
			report.idle(c.NoEffect)
			if note != "" {
				report.Notes = append(report.Notes, agent.Token+", "+note)
			}
			continue
		}
		c.Note = note
		report.Agents = append(report.Agents, c)
	}
	if len(report.Signals)+len(report.CrawlDelays)+len(report.Sitemaps.Added)+len(report.Sitemaps.Removed) > 0 {
		report.Equivalent = false
	}
	return report
}

// idle adds the rules without effect of an agent that is not listed, once
// each.
func (r *Report) idle(list []NoEffect) {
	for _, n := range list {
		if !slices.Contains(r.NoEffect, n) {
			r.NoEffect = append(r.NoEffect, n)
		}
	}
}

// ruled is an agent with its effective rules on both sides.
type ruled struct {
	agent         Agent
	before, after *robots.Rules
}

func underRules(before, after *Input, agents []Agent) []ruled {
	list := make([]ruled, len(agents))
	for i, a := range agents {
		list[i] = ruled{a, before.Rules(a), after.Rules(a)}
	}
	return list
}

// comparisons remembers what was compared: by the groups that apply, then by
// the patterns in them.
type comparisons struct {
	byPlaces   map[places]AgentChange
	byGroups   map[string]AgentChange
	byPatterns map[string]outcome
	work       int
}

// places tells groups apart by where a file keeps them, which is quickly
// looked up. Groups that are put together in two places have two of them.
type places struct {
	reading           robots.Reading
	before, after     robots.Source
	beforeAt, afterAt *int
}

func placesOf(u ruled) places {
	at := func(r *robots.Rules) *int {
		if len(r.GroupLines) == 0 {
			return nil
		}
		return &r.GroupLines[0]
	}
	return places{u.agent.Reading, u.before.Source, u.after.Source, at(u.before), at(u.after)}
}

func (m *comparisons) compare(before, after *Input, u ruled) AgentChange {
	place := placesOf(u)
	c, known := m.byPlaces[place]
	if !known {
		if m.byPlaces == nil {
			m.byPlaces = make(map[places]AgentChange)
			m.byGroups = make(map[string]AgentChange)
			m.byPatterns = make(map[string]outcome)
		}
		c = m.byGroup(before, after, u)
		m.byPlaces[place] = c
	}
	c.Agent = u.agent.Token
	return c
}

func (m *comparisons) byGroup(before, after *Input, u ruled) AgentChange {
	reading, b, a := u.agent.Reading, u.before, u.after
	key := groupsKey(reading, b, a)
	c, known := m.byGroups[key]
	if !known {
		o := m.byPattern(reading, b, a)
		o.idle = edits(o.idle, before.File(reading), after.File(reading), b, a)
		c = describe(o, b, a)
		m.byGroups[key] = c
	}
	return c
}

func (m *comparisons) byPattern(reading robots.Reading, b, a *robots.Rules) outcome {
	key := patternsKey(reading, b, a)
	o, known := m.byPatterns[key]
	if !known {
		s := newSolver(a.Reading())
		if m.work > maxFilesWork {
			s.limit = lateWork
		}
		o = s.compare(b.Rules, a.Rules)
		m.work += s.work
		m.byPatterns[key] = o
	}
	return o
}

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
func (m *comparisons) note(before, after *Input, u ruled, c AgentChange) string {
	agent, lead := u.agent, ""
	switch {
	case agent.Reading != "" && agent.Reading != robots.ReadingRFC9309:
		agent.Reading, lead = robots.ReadingRFC9309, "read as RFC 9309 says"
	case agent.Operator != "" && agent.Operator != robots.ReadingRFC9309:
		agent.Reading, lead = agent.Operator, fmt.Sprintf("read as its operator does (%s)", agent.Operator)
	default:
		return ""
	}
	o := m.compare(before, after, ruled{agent, before.Rules(agent), after.Rules(agent)})
	switch {
	case o.Direction != c.Direction || o.Before.Level != c.Before.Level || o.After.Level != c.After.Level:
		return fmt.Sprintf("%s: %s", lead, levels(o))
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

// patternsKey tells pairs of rule sets apart by all that decides on paths.
func patternsKey(reading robots.Reading, sides ...*robots.Rules) string {
	size := len(reading)
	for _, r := range sides {
		for i := range r.Rules {
			size += len(r.Rules[i].Pattern) + 2
		}
	}
	key := append(make([]byte, 0, size+len(sides)), reading...)
	for _, r := range sides {
		key = append(key, '\n')
		for i := range r.Rules {
			key = append(key, "-+"[btoi(r.Rules[i].Allow)])
			key = append(append(key, r.Rules[i].Pattern...), '\n')
		}
	}
	return string(key)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Named gives the agents that either file names and the list lacks, in order
// of first appearance. Everyone is among them when a file has rules for * and
// no agent of the list and of the result goes by them.
func Named(before, after *Input, known []Agent) []Agent {
	lower := make(map[string]bool, len(known))
	for _, a := range known {
		lower[strings.ToLower(a.Token)] = true
	}
	return NamedBeside(before, after, known, func(token string) bool { return lower[token] })
}

// NamedBeside is Named for who has the tokens of the list at hand: has is asked
// for them in lower case.
func NamedBeside(before, after *Input, known []Agent, has func(token string) bool) []Agent {
	seen := make(map[string]bool)
	var list []Agent
	b, a := before.File(""), after.File("")
	for _, f := range []*robots.File{b, a} {
		for _, token := range f.Tokens() {
			if !has(token) && !seen[token] {
				seen[token] = true
				list = append(list, Agent{Token: token})
			}
		}
	}
	if b.Rules().Source != robots.SourceWildcard && a.Rules().Source != robots.SourceWildcard {
		return list
	}
	for _, agents := range [...][]Agent{known, list} {
		for _, agent := range agents {
			if before.Rules(agent).Source != robots.SourceNamed && after.Rules(agent).Source != robots.SourceNamed {
				return list
			}
		}
	}
	return append(list, Agent{Token: Everyone})
}

type signalKey struct{ scope, name, path string }

// signalChanges compares preference lines by scope, name and path. The values
// of repeated lines are compared as a set.
func signalChanges(before, after *robots.File) []SignalChange {
	b, keysB := signalsOf(before)
	a, keysA := signalsOf(after)
	list := []SignalChange{}
	for _, k := range append(keysB, keysA...) {
		if b[k].meaning() != a[k].meaning() {
			list = append(list, SignalChange{Scope: k.scope, Name: k.name, Path: k.path, Before: b[k].text(), After: a[k].text()})
		}
		delete(b, k)
		delete(a, k)
	}
	return list
}

// preferences are the lines of one scope, name and path, in file order.
type preferences []robots.Signal

func (p preferences) text() string {
	values := make([]string, len(p))
	for i, s := range p {
		values[i] = s.Value
	}
	return strings.Join(values, "; ")
}

func (p preferences) meaning() string {
	keys := make([]string, len(p))
	for i, s := range p {
		keys[i] = s.Key()
	}
	slices.Sort(keys)
	return strings.Join(keys, "; ")
}

func signalsOf(f *robots.File) (map[signalKey]preferences, []signalKey) {
	byKey := make(map[signalKey]preferences)
	var keys []signalKey
	for _, s := range f.Signals {
		k := signalKey{s.Scope, s.Name, s.Path}
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		if !slices.ContainsFunc(byKey[k], func(o robots.Signal) bool { return o.Key() == s.Key() }) {
			byKey[k] = append(byKey[k], s)
		}
	}
	return byKey, keys
}

// crawlDelayChanges gives the agents whose effective crawl delay changed.
// Everyone stands for those that no group names, before or after.
func crawlDelayChanges(before, after *Input, under []ruled) []CrawlDelayChange {
	list := []CrawlDelayChange{}
	add := func(name string, b, a *robots.Rules) {
		p, q := seconds(b), seconds(a)
		if (p == nil) != (q == nil) || p != nil && *p != *q {
			list = append(list, CrawlDelayChange{Agent: name, Before: p, After: q})
		}
	}
	add(Everyone, before.File("").Rules(), after.File("").Rules())
	for _, u := range under {
		if u.before.Source == robots.SourceNamed || u.after.Source == robots.SourceNamed {
			add(u.agent.Token, u.before, u.after)
		}
	}
	return list
}

func seconds(r *robots.Rules) *float64 {
	if r.CrawlDelay == nil {
		return nil
	}
	return &r.CrawlDelay.Seconds
}

func sitemapChanges(before, after *robots.File) SitemapsChange {
	return SitemapsChange{Added: missing(after, before), Removed: missing(before, after)}
}

// missing gives the sitemaps of f that g lacks, once each, in file order.
func missing(f, g *robots.File) []string {
	seen := make(map[string]bool, len(g.Sitemaps))
	for _, s := range g.Sitemaps {
		seen[s.URL] = true
	}
	list := []string{}
	for _, s := range f.Sitemaps {
		if !seen[s.URL] {
			seen[s.URL] = true
			list = append(list, s.URL)
		}
	}
	return list
}
