package dataset

import (
	"context"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// Policies says what agents could fetch on sites, and when.
type Policies struct {
	Judge  *watcher.Judge
	Bodies watcher.Bodies
	Agents []diff.Agent // nil: those watched on each site
	Gap    time.Duration
	From   Origin

	read map[reading][]readAccess
}

// reading is a policy as the agents of a list read it.
type reading struct {
	body watcher.Hash
	list string // fingerprint
}

// readAccess is what a policy gives an agent.
type readAccess struct {
	access diff.Access
	rule   *string
	line   *int32
}

// maxRead bounds how many readings are remembered; beyond it the memory starts
// afresh.
const maxRead = 4000

// Rows gives the intervals of a site, agent after agent, each in order of
// time. What nobody knew is a row with access "unknown".
func (p *Policies) Rows(ctx context.Context, h watcher.History) ([]Policy, error) {
	list, print := p.Agents, ""
	if list == nil {
		watch, err := p.Judge.Watch(h.Site.Config)
		if err != nil {
			return nil, err
		}
		list, print = watch.Agents, watch.Fingerprint
	}
	set := p.Judge.Settings()
	stretches := watcher.Timeline(h, set.Confirm, p.Gap)
	byAgent := make([][]Policy, len(list))
	for i := range stretches {
		s := &stretches[i]
		got, err := p.readAll(ctx, &s.Site, list, print)
		if err != nil {
			return nil, err
		}
		for k, a := range list {
			byAgent[k] = extend(byAgent[k], p.row(s, a, got[k], set.Semantics))
		}
	}
	var rows []Policy
	for _, r := range byAgent {
		rows = append(rows, r...)
	}
	return rows, nil
}

func (p *Policies) row(s *watcher.Stretch, a diff.Agent, last readAccess, sem watcher.Semantics) Policy {
	access := diff.Access{Level: diff.Unknown, Source: robots.SourceStatus}
	if s.Site.State != fetch.Pending && !(s.Site.Memory.Tentative && s.Site.State == fetch.Unreachable) {
		access = sem.Effective(s.Site.State, s.Aged, last.access)
	}
	row := Policy{Schema: PoliciesSchema, Site: s.Site.Origin, Agent: a.Token, ValidFrom: s.From, Access: string(access.Level),
		Source: string(access.Source), State: string(s.Site.State), Origin: p.From}
	if !s.To.IsZero() {
		to := s.To
		row.ValidTo = &to
	}
	if access.Source != robots.SourceStatus {
		row.Rule, row.Line, row.SHA256 = last.rule, last.line, s.Site.Body.String()
	}
	return row
}

// extend adds a row, or makes the last one longer that says the same.
func extend(rows []Policy, next Policy) []Policy {
	if n := len(rows); n > 0 {
		last := &rows[n-1]
		if last.Access == next.Access && last.Source == next.Source && last.State == next.State && equal(last.Rule, next.Rule) {
			last.ValidTo = next.ValidTo
			return rows
		}
	}
	return append(rows, next)
}

func equal(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// readAll gives what the last readable answer of a site gives each agent.
func (p *Policies) readAll(ctx context.Context, site *watcher.Site, list []diff.Agent, print string) ([]readAccess, error) {
	if site.Readable != fetch.Policy {
		got := make([]readAccess, len(list))
		if site.Readable == fetch.Absent {
			for i := range got {
				got[i].access = diff.Access{Level: diff.Allowed, Source: robots.SourceStatus}
			}
		}
		return got, nil
	}
	key := reading{site.Body, print}
	if got, ok := p.read[key]; ok {
		return got, nil
	}
	text, err := watcher.LastPolicy(ctx, p.Bodies, *site)
	if err != nil {
		return nil, err
	}
	got := readText(text, list)
	if len(p.read) >= maxRead || p.read == nil {
		p.read = make(map[reading][]readAccess)
	}
	p.read[key] = got
	return got, nil
}

func readText(text []byte, list []diff.Agent) []readAccess {
	got := make([]readAccess, len(list))
	for i, g := range diff.NewInput(text).Grants(list) {
		got[i].access = g.Access
		if rule := diff.Ordinary(g.Rules); rule != nil {
			said, line := rule.Text, int32(rule.Line)
			got[i].rule, got[i].line = &said, &line
		}
	}
	return got
}
