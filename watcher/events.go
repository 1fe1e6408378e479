package watcher

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
)

// changes says what the transitions of one look mean for agents: at most one
// event of each kind.
func (j *Judge) changes(ctx context.Context, before Site, d Decision, at time.Time, watch *Watch, kept *policies) ([]Change, error) {
	b := builder{before: before, site: d.Site, watch: watch, catalogue: j.set.Catalogue, heard: j.heard, at: at, semantics: j.set.Semantics}
	reread := slices.ContainsFunc(d.Transitions, func(t Transition) bool { return !t.ofState() })
	for _, t := range d.Transitions {
		if t.ofState() {
			b.stateEvent(t, CauseStatus, summariseState(t, before.Readable != "", reread))
			continue
		}
		old, err := kept.of(ctx, t.Before)
		if err != nil {
			return nil, fmt.Errorf("earlier version of %s: %w", before.Origin, err)
		}
		now, err := kept.of(ctx, t.After)
		if err != nil {
			return nil, fmt.Errorf("new version of %s: %w", before.Origin, err)
		}
		b.versionEvents(t, old, now)
	}
	return b.changes, nil
}

// builder collects the events of one look.
type builder struct {
	before, site Site
	watch        *Watch
	catalogue    *agents.Catalogue
	heard        []diff.Agent
	at           time.Time
	semantics    Semantics
	changes      []Change
}

func (b *builder) add(c Change) {
	if slices.ContainsFunc(b.changes, func(o Change) bool { return o.Kind == c.Kind }) {
		return // a state event of this look is there already
	}
	c.Schema = ChangeSchema
	c.At = b.at.UTC().Truncate(time.Millisecond)
	c.ID = changeID(b.site.Origin, c.Kind, c.At)
	c.Site = b.site.Origin
	c.Tags = append([]string{}, b.site.Config.Tags...)
	if c.Agents == nil {
		c.Agents = []diff.AgentChange{}
	}
	c.Summary += unstableNote(c.Unstable)
	c.Expected = b.expected(c)
	b.changes = append(b.changes, c)
}

// changeID is a ULID that is the same however often the event is derived.
func changeID(site string, kind Kind, at time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", site, kind, at.UnixMilli()))
	var id ulid.ULID
	_ = id.SetTime(uint64(max(at.UnixMilli(), 0))) // fits for 8,000 years
	_ = id.SetEntropy(sum[:10])
	return id.String()
}

// expected gives the note of an announcement that covers the event: of one
// for any agent, or of those for each agent that is touched.
func (b *builder) expected(c Change) string {
	if len(b.site.Expected) == 0 {
		return ""
	}
	note := func(agent string) string {
		for _, e := range b.site.Expected {
			if b.at.Before(e.Until) && (e.Agent == "" || strings.EqualFold(e.Agent, agent)) {
				if e.Note == "" {
					return "announced"
				}
				return e.Note
			}
		}
		return ""
	}
	found := note("")
	for i, a := range b.about(c.Agents) {
		n := note(a.Agent)
		if n == "" {
			return ""
		}
		if i == 0 {
			found = n
		}
	}
	return found
}

// about gives the watched agents among those that changed, all when none is
// watched.
func (b *builder) about(list []diff.AgentChange) []diff.AgentChange {
	var watched []diff.AgentChange
	for _, a := range list {
		if b.watch.Has(a.Agent) {
			watched = append(watched, a)
		}
	}
	if watched == nil {
		return list
	}
	return watched
}

func (b *builder) stateEvent(t Transition, cause Cause, summary string) {
	severity := Warning
	if b.semantics.blocks(t.StateAfter) && !b.semantics.blocks(t.StateBefore) && !allBlocked(b.before.Profile) {
		severity = Critical
	}
	b.add(Change{
		Kind: KindState, Severity: severity, Summary: summary,
		State: StateChange{t.StateBefore, t.StateAfter}, Reason: t.Reason, Detail: t.Detail, Cause: cause,
		BeforeSHA256: b.before.Body.String(), AfterSHA256: b.site.Body.String(),
		Unstable: t.Unstable, Watched: true,
	})
}

func allBlocked(profile []AgentAccess) bool {
	for _, p := range profile {
		if p.Level != diff.Blocked {
			return false
		}
	}
	return len(profile) > 0
}

// versionEvents compares two readable answers.
func (b *builder) versionEvents(t Transition, before, after *diff.Input) {
	report := diff.Effects(before, after, b.watch.Agents, b.named(before, after))
	base := Change{
		State: StateChange{t.StateBefore, t.StateAfter}, Cause: causeOf(t),
		BeforeSHA256: t.Before.Body.String(), AfterSHA256: t.After.Body.String(),
		Managed: managedBy(before.Text, after.Text), Unstable: t.Unstable, Watched: true,
	}
	if base.Cause == CauseStatus {
		base.Reason, base.Detail = t.Reason, t.Detail
	}
	moved, sameAccess := splitAgents(report.Agents, t)
	if t.AsTold {
		if len(moved) > 0 || len(report.Signals) > 0 {
			b.stateEvent(t, causeOf(t), "robots.txt is again what was reported last")
		}
		return
	}
	told := len(b.changes)
	b.accessEvent(base, t, moved)
	if t.StateBefore != t.StateAfter && len(moved) == 0 {
		b.stateEvent(t, CauseStatus, summariseSwap(t))
	}
	b.lesserEvents(base, report)
	if len(b.changes) == told {
		base.Kind, base.Severity, base.Agents = KindCosmetic, Info, sameAccess
		base.Summary = summariseText(diff.CountText(before.Text, after.Text), sameAccess)
		b.add(base)
	}
}

// named gives the agents that either file names and nobody watches, as the
// catalogue writes and reads them where it knows them; and those that somebody
// wants to hear of: rules for everyone touch them without naming them.
func (b *builder) named(before, after *diff.Input) []diff.Agent {
	list := diff.NamedBeside(before, after, b.watch.Agents, b.watch.Has)
	for i, n := range list {
		if known, ok := b.catalogue.Lookup(n.Token); ok {
			list[i] = AgentOf(known)
		}
	}
	for _, a := range b.heard {
		i := slices.IndexFunc(list, func(o diff.Agent) bool { return strings.EqualFold(o.Token, a.Token) })
		switch {
		case i >= 0:
			list[i] = a // as it is usually written
		case !b.watch.Has(a.Token):
			list = append(list, a)
		}
	}
	return list
}

func causeOf(t Transition) Cause {
	switch {
	case t.StateBefore != t.StateAfter:
		return CauseStatus
	case t.Host != "":
		return CauseRedirect
	}
	return CauseRules
}

// splitAgents separates agents whose path set changed from those where only
// the source did; the list is used up for it. On the side without a file the
// HTTP answer is the source.
func splitAgents(list []diff.AgentChange, t Transition) (moved, sameAccess []diff.AgentChange) {
	moved = list[:0]
	for i := range list {
		a := &list[i]
		if t.Before.State != fetch.Policy {
			a.Before.Source = robots.SourceStatus
		}
		if t.After.State != fetch.Policy {
			a.After.Source = robots.SourceStatus
		}
		if a.Direction != diff.Same {
			moved = append(moved, *a)
		} else {
			sameAccess = append(sameAccess, *a)
		}
	}
	return moved, sameAccess
}

func (b *builder) accessEvent(base Change, t Transition, moved []diff.AgentChange) {
	if len(moved) == 0 {
		return
	}
	base.WatchedFirst = 0 // they were asked about first
	for base.WatchedFirst < len(moved) && b.watch.Has(moved[base.WatchedFirst].Agent) {
		base.WatchedFirst++
	}
	about := moved
	if base.Watched = base.WatchedFirst > 0; base.Watched {
		about = moved[:base.WatchedFirst]
	}
	base.Kind, base.Severity, base.Agents = KindAccess, severityOf(about), moved
	base.Summary = summariseAgents(about) + causeNote(t, base)
	b.add(base)
}

func severityOf(moved []diff.AgentChange) Severity {
	shut := func(l diff.Level) bool { return l == diff.Blocked || l == diff.Restricted }
	for i := range moved {
		if a := &moved[i]; a.Before.Level != a.After.Level && (shut(a.Before.Level) || shut(a.After.Level)) {
			return Critical
		}
	}
	return Warning
}

// lesserEvents are about everything but access.
func (b *builder) lesserEvents(base Change, report *diff.Report) {
	if len(report.Signals) > 0 {
		c := base
		c.Kind, c.Severity, c.Signals = KindSignal, Warning, report.Signals
		c.Summary = summariseSignals(report.Signals)
		b.add(c)
	}
	if len(report.CrawlDelays) > 0 {
		c := base
		c.Kind, c.Severity, c.CrawlDelays = KindCrawlDelay, Info, report.CrawlDelays
		c.Summary = summariseDelays(report.CrawlDelays)
		c.Watched = slices.ContainsFunc(report.CrawlDelays, func(d diff.CrawlDelayChange) bool {
			return d.Agent == "*" || b.watch.Has(d.Agent)
		})
		b.add(c)
	}
	if s := report.Sitemaps; len(s.Added)+len(s.Removed) > 0 {
		c := base
		c.Kind, c.Severity, c.Sitemaps = KindSitemap, Info, &s
		c.Summary = summariseSitemaps(s)
		b.add(c)
	}
}

// relisted is the event for agents whose access under the same file differs
// because their entry in the catalogue does; nil when there is none. Agents
// new on the list are no change.
func (b *builder) relisted() {
	was := make(map[string]diff.Access, len(b.before.Profile))
	for _, p := range b.before.Profile {
		was[p.Agent] = p.Access
	}
	var moved []diff.AgentChange
	for _, p := range b.site.Profile {
		old, ok := was[p.Agent]
		if !ok || old.Level == p.Level {
			continue
		}
		direction := diff.Loosened
		if openness(p.Level) < openness(old.Level) {
			direction = diff.Tightened
		}
		moved = append(moved, diff.AgentChange{
			Agent: p.Agent, Direction: direction, Proven: true, Before: old, After: p.Access,
			NewlyDisallowed: []diff.Entry{}, NewlyAllowed: []diff.Entry{},
		})
	}
	if len(moved) == 0 {
		return
	}
	b.add(Change{
		Kind: KindAccess, Severity: severityOf(moved), Agents: moved, WatchedFirst: len(moved), Watched: true,
		Summary: summariseAgents(moved) + ": what we know of the agent changed, not the file",
		State:   StateChange{b.site.State, b.site.State}, Cause: CauseAgentList,
		BeforeSHA256: b.site.Body.String(), AfterSHA256: b.site.Body.String(),
	})
}

func openness(l diff.Level) int {
	return slices.Index([]diff.Level{diff.Blocked, diff.Restricted, diff.Partial, diff.Allowed}, l)
}
