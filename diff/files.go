package diff

import (
	"slices"
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
// want to know what an edit means ask for. The agents are those of all lists.
func Effects(before, after *Input, agents ...[]Agent) *Report {
	under := underRules(before, after, agents)
	report := &Report{
		Schema:      Schema,
		Equivalent:  true,
		Compared:    len(under),
		Agents:      []AgentChange{},
		Signals:     signalChanges(before.File(""), after.File("")),
		CrawlDelays: crawlDelayChanges(before, after, under),
		Sitemaps:    sitemapChanges(before.File(""), after.File("")),
	}
	cache := comparisons{}
	var noted notes
	for i := range under {
		u, agent := &under[i], under[i].agent
		c := cache.compare(before, after, u)
		note := cache.note(before, after, u, c)
		if c.Direction != Same || !c.Proven {
			report.Equivalent = false
		}
		if c.Direction == Same && c.Proven && c.Before == c.After {
			report.idle(c.NoEffect)
			if note != "" {
				noted.add(agent.Token, note)
			}
			continue
		}
		if cap(report.Agents) == 0 {
			report.Agents = make([]AgentChange, 0, len(under)-i) // one edit moves many
		}
		report.Agents = append(report.Agents, *c)
		told := &report.Agents[len(report.Agents)-1]
		told.Agent, told.Note = agent.Token, note
	}
	report.Notes = noted.text()
	if len(report.Signals)+len(report.CrawlDelays)+len(report.Sitemaps.Added)+len(report.Sitemaps.Removed) > 0 {
		report.Equivalent = false
	}
	return report
}

// notes say each thing once, whomever it is said of.
type notes []struct {
	tokens []string
	words  string
}

func (n *notes) add(token, words string) {
	for i := range *n {
		if one := &(*n)[i]; one.words == words {
			one.tokens = append(one.tokens, token)
			return
		}
	}
	*n = append(*n, struct {
		tokens []string
		words  string
	}{[]string{token}, words})
}

func (n notes) text() (list []string) {
	for _, one := range n {
		each := ""
		if len(one.tokens) > 1 {
			each = "each "
		}
		list = append(list, strings.Join(one.tokens, ", ")+", "+each+one.words)
	}
	return list
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
	agent         *Agent
	before, after *robots.Rules
}

func underRules(before, after *Input, agents [][]Agent) []ruled {
	n := 0
	for _, some := range agents {
		n += len(some)
	}
	list := make([]ruled, 0, n)
	for _, some := range agents {
		for i := range some {
			list = append(list, ruled{&some[i], before.Rules(some[i]), after.Rules(some[i])})
		}
	}
	return list
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
