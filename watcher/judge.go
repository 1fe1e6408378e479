package watcher

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

// Settings say how sites are watched and how answers are read.
type Settings struct {
	Confirm   Confirm
	Semantics Semantics
	Schedule  string   // of sites without their own
	Watch     []string // agents of sites without their own: tokens and groups
	Heard     []string // agents that somebody wants to hear of, watched or not: changes tell of them too
	Catalogue *agents.Catalogue
}

// Bodies gives the bytes kept under a hash, or ErrNotFound.
type Bodies interface {
	Body(ctx context.Context, h Hash) ([]byte, error)
}

// LastPolicy gives the text of the policy that a site's last readable answer
// had; nil when there was none. An empty policy is not nil.
func LastPolicy(ctx context.Context, from Bodies, site Site) ([]byte, error) {
	if site.Readable != fetch.Policy || site.Body.IsZero() {
		return nil, nil
	}
	text, err := from.Body(ctx, site.Body)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, fmt.Errorf("the last good policy of %s is missing from the store: %s", site.Origin, site.Body)
	case err != nil:
		return nil, fmt.Errorf("last good policy of %s: %w", site.Origin, err)
	case text == nil:
		return []byte{}, nil
	}
	return text, nil
}

// Judge turns what a look found into what is recorded: the state machine,
// then what its transitions mean for agents, then when to look again. It is
// immutable but for caches, and safe for concurrent use.
type Judge struct {
	set       Settings
	heard     []diff.Agent
	schedules Schedules
	watches   sync.Map // list, comma-separated -> *Watch
	recent    parsed
}

// profileKind is part of every fingerprint: another one makes each site's
// profile anew at its next look. Since 2 it holds what is stated about use.
const profileKind = 2

// Watch is a resolved list of agents.
type Watch struct {
	Agents      []diff.Agent
	Fingerprint string // changes when anything about the agents does
	tokens      map[string]bool
}

// Has reports whether the agent is on the list, in any case.
func (w *Watch) Has(token string) bool { return w.tokens[token] || w.tokens[strings.ToLower(token)] }

// NewJudge checks the settings.
func NewJudge(s Settings) (*Judge, error) {
	if s.Catalogue == nil {
		return nil, errors.New("no agent catalogue")
	}
	if s.Confirm.Failures < 1 || s.Confirm.Interval <= 0 {
		return nil, fmt.Errorf("confirmation needs at least one failure and a positive interval, not %d and %v", s.Confirm.Failures, s.Confirm.Interval)
	}
	heard, err := s.Catalogue.Expand(s.Heard)
	if err != nil {
		return nil, fmt.Errorf("agents to hear of: %w", err)
	}
	j := &Judge{set: s}
	for _, a := range heard {
		j.heard = append(j.heard, AgentOf(a))
	}
	_, errSchedule := j.schedules.Get(s.Schedule)
	_, errWatch := j.Watch(SiteConfig{})
	if err := errors.Join(errSchedule, errWatch); err != nil {
		return nil, err
	}
	return j, nil
}

// Settings the judge was made with.
func (j *Judge) Settings() Settings { return j.set }

// Watch resolves the agents that are watched on a site.
func (j *Judge) Watch(c SiteConfig) (*Watch, error) {
	list := c.Agents
	if len(list) == 0 {
		list = j.set.Watch
	}
	key := strings.Join(list, ",")
	if w, ok := j.watches.Load(key); ok {
		return w.(*Watch), nil
	}
	found, err := j.set.Catalogue.Expand(list)
	if err != nil {
		return nil, fmt.Errorf("agents of %s: %w", c.Origin, err)
	}
	w := &Watch{tokens: make(map[string]bool, len(found))}
	print := fnv.New64a()
	fmt.Fprintln(print, profileKind)
	for _, a := range found {
		agent := AgentOf(a)
		w.Agents = append(w.Agents, agent)
		w.tokens[strings.ToLower(a.Token)] = true
		w.tokens[a.Token] = true // as it is usually asked for
		fmt.Fprintf(print, "%s %q\n", agent.Token, agent.Fallbacks)
	}
	w.Fingerprint = strconv.FormatUint(print.Sum64(), 36)
	j.watches.Store(key, w)
	return w, nil
}

// Effective is the access that holds at a moment for the agents watched on a
// site.
func (j *Judge) Effective(site Site, now time.Time) ([]AgentAccess, error) {
	watch, err := j.Watch(site.Config)
	if err != nil {
		return nil, err
	}
	return Effective(site, watch.Agents, now, j.set.Semantics), nil
}

// Schedule of a site.
func (j *Judge) Schedule(c SiteConfig) (*Schedule, error) {
	if c.Schedule == "" {
		return j.schedules.Get(j.set.Schedule)
	}
	return j.schedules.Get(c.Schedule)
}

// Verdict is what a look means: the site as it will be, with its next check
// planned, and what there is to record and to tell.
type Verdict struct {
	Site        Site
	Observation *Observation
	Body        []byte // of a policy that the store may lack
	Changes     []Change
}

// Judge decides what an outcome means for a site. Bodies of earlier versions
// are asked for only when one has to be compared.
func (j *Judge) Judge(ctx context.Context, site Site, out fetch.Outcome, bodies Bodies) (Verdict, error) {
	watch, err := j.Watch(site.Config)
	if err != nil {
		return Verdict{}, err
	}
	schedule, err := j.Schedule(site.Config)
	if err != nil {
		return Verdict{}, err
	}
	d := Decide(site, out, j.set.Confirm)
	kept := &policies{recent: &j.recent, bodies: bodies}
	kept.find(d.Site.Body, d.Body)
	relisted, err := j.profile(ctx, site, &d.Site, watch, kept)
	if err != nil {
		return Verdict{}, err
	}
	changes, err := j.changes(ctx, site, d, out.At, watch, kept)
	if err != nil {
		return Verdict{}, err
	}
	if relisted && len(changes) == 0 {
		b := builder{before: site, site: d.Site, watch: watch, at: out.At}
		b.relisted()
		changes = b.changes
	}
	for _, c := range changes {
		if c.Kind != KindCosmetic {
			d.Site.LastChangeAt = out.At
		}
	}
	again := time.Duration(0)
	if d.Again {
		again = j.set.Confirm.Interval
	}
	d.Site.NextCheckAt = schedule.plan(site.Origin, d.Site.LastCheckAt, again, out.RetryAfter)
	return Verdict{Site: d.Site, Observation: d.Observation, Body: d.Body, Changes: changes}, nil
}

// profile brings the access of the watched agents up to date when the version
// or the list of agents changed; relisted says that it was only the list.
func (j *Judge) profile(ctx context.Context, before Site, site *Site, watch *Watch, kept *policies) (relisted bool, err error) {
	if site.unsure() {
		site.Profile, site.Signals, site.Memory.Watch = nil, nil, ""
		return false, nil
	}
	if site.version() == before.version() && site.Memory.Watch == watch.Fingerprint {
		return false, nil
	}
	policy, err := kept.of(ctx, site.version())
	if err != nil {
		return false, fmt.Errorf("last good policy of %s: %w", site.Origin, err)
	}
	site.Profile, site.Signals = profileOf(site.version(), policy, watch.Agents), nil
	if site.Readable == fetch.Policy {
		site.Signals = Statements(policy.File(""))
	}
	site.Memory.Watch = watch.Fingerprint
	return site.version() == before.version(), nil
}
