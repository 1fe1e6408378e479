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
	report := &Report{
		Schema:      Schema,
		Equivalent:  true,
		Compared:    len(agents),
		Agents:      []AgentChange{},
		Signals:     signalChanges(before.File(""), after.File("")),
		CrawlDelays: crawlDelayChanges(before, after, agents),
		Sitemaps:    sitemapChanges(before.File(""), after.File("")),
		Text:        countText(before.Text, after.Text),
	}
	cache := comparisons{}
	for _, agent := range agents {
		c := cache.compare(before, after, agent)
		note := cache.note(before, after, agent, c)
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

// comparisons remembers what was compared: by the groups that apply, then by
// the patterns in them.
type comparisons struct {
	byGroups   map[string]AgentChange
	byPatterns map[string]outcome
	work       int
}

func (m *comparisons) compare(before, after *Input, agent Agent) AgentChange {
	b, a := before.Rules(agent), after.Rules(agent)
	key := groupsKey(agent.Reading, b, a)
	c, known := m.byGroups[key]
	if !known {
		patterns := string(agent.Reading) + "\n" + patternsOf(b) + "\n" + patternsOf(a)
		o, known := m.byPatterns[patterns]
		if !known {
			s := newSolver(a.Reading())
			if m.work > maxFilesWork {
				s.limit = lateWork
			}
			o = s.compare(b.Rules, a.Rules)
			m.work += s.work
			if m.byPatterns == nil {
				m.byPatterns = make(map[string]outcome)
				m.byGroups = make(map[string]AgentChange)
			}
			m.byPatterns[patterns] = o
		}
		o.idle = edits(o.idle, before.File(agent.Reading), after.File(agent.Reading), b, a)
		c = describe(o, b, a)
		m.byGroups[key] = c
	}
	c.Agent = agent.Token
	return c
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
func (m *comparisons) note(before, after *Input, agent Agent, c AgentChange) string {
	lead := ""
	switch {
	case agent.Reading != "" && agent.Reading != robots.ReadingRFC9309:
		agent.Reading, lead = robots.ReadingRFC9309, "read as RFC 9309 says"
	case agent.Operator != "" && agent.Operator != robots.ReadingRFC9309:
		agent.Reading, lead = agent.Operator, fmt.Sprintf("read as its operator does (%s)", agent.Operator)
	default:
		return ""
	}
	o := m.compare(before, after, agent)
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

func patternsOf(r *robots.Rules) string {
	var b strings.Builder
	for i := range r.Rules {
		b.WriteByte("-+"[btoi(r.Rules[i].Allow)])
		b.WriteString(r.Rules[i].Pattern)
		b.WriteByte('\n')
	}
	return b.String()
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
	seen := make(map[string]bool)
	for _, a := range known {
		seen[strings.ToLower(a.Token)] = true
	}
	var list []Agent
	b, a := before.File(""), after.File("")
	for _, f := range []*robots.File{b, a} {
		for _, token := range f.Tokens() {
			if !seen[token] {
				seen[token] = true
				list = append(list, Agent{Token: token})
			}
		}
	}
	if b.Rules().Source != robots.SourceWildcard && a.Rules().Source != robots.SourceWildcard {
		return list
	}
	for _, agent := range slices.Concat(known, list) {
		if before.Rules(agent).Source != robots.SourceNamed && after.Rules(agent).Source != robots.SourceNamed {
			return list
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
func crawlDelayChanges(before, after *Input, agents []Agent) []CrawlDelayChange {
	list := []CrawlDelayChange{}
	add := func(name string, b, a *robots.Rules) {
		p, q := seconds(b), seconds(a)
		if (p == nil) != (q == nil) || p != nil && *p != *q {
			list = append(list, CrawlDelayChange{Agent: name, Before: p, After: q})
		}
	}
	add(Everyone, before.File("").Rules(), after.File("").Rules())
	for _, agent := range agents {
		b, a := before.Rules(agent), after.Rules(agent)
		if b.Source == robots.SourceNamed || a.Source == robots.SourceNamed {
			add(agent.Token, b, a)
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
