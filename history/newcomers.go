package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// Newcomers is what storage remembers of agents that are new on the list of
// those watched.
type Newcomers interface {
	Records
	// Newcomers compares the agents that are watched with those that were, and
	// gives some whose past is not computed, and the site after which it is
	// not; none when all is done.
	Newcomers(ctx context.Context, watched []string, now time.Time) (Pending, error)
	// RecordPast records one page of it, in one transaction.
	RecordPast(ctx context.Context, agents []string, page PastPage) error
}

// Pending is a past that is to be computed.
type Pending struct {
	Agents []string
	After  string    // origin of the last site that is done
	Until  time.Time // the last day that counts
}

// PastPage is how some sites stood to new agents, and what their changes say
// of them.
type PastPage struct {
	Changes []*Retelling
	Moves   []watcher.AgentMove
	After   string // origin of its last site
	Last    bool
}

// PastOptions are those of LearnPast.
type PastOptions struct {
	Judge   *watcher.Judge
	Store   Newcomers
	Watched []string
	Now     func() time.Time
	Pause   func(ctx context.Context, worked time.Duration) error // between two pages
	Failed  func(origin string, err error)                        // told of sites that cannot be read; they are left out
}

// pastPage is how many sites are worked through at once.
const pastPage = 32

// LearnPast computes the past of agents that are new on the list: what changes
// of old would have said of them, marked as backfilled, and how many sites
// stood how, day by day. It goes on where it was interrupted. It gives the
// agents that it is done with.
func LearnPast(ctx context.Context, o PastOptions) (learned []string, err error) {
	for {
		p, err := o.Store.Newcomers(ctx, o.Watched, o.Now())
		if err == nil && len(p.Agents) > 0 {
			err = o.learn(ctx, p)
		}
		if err != nil {
			return learned, fmt.Errorf("past of new agents: %w", err)
		}
		if len(p.Agents) == 0 {
			return learned, nil
		}
		learned = append(learned, p.Agents...)
	}
}

func (o *PastOptions) learn(ctx context.Context, p Pending) error {
	only := make(map[string]bool)
	for _, a := range p.Agents {
		only[strings.ToLower(a)] = true
	}
	t := &reteller{deriver: deriver{judge: o.Judge, bodies: o.Store, gap: DefaultGap}, only: only}
	page := pastOf{PastPage: PastPage{After: p.After}, until: dayNumber(p.Until), moves: make(map[moveKey]int)}
	began := time.Now()
	sites := 0
	for rec, err := range o.Store.WalkRecords(ctx, "", p.After) {
		if err != nil {
			return err
		}
		switch err := page.add(ctx, t, rec); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			o.Failed(rec.Config.Origin, err)
		}
		if sites++; sites%pastPage != 0 {
			continue
		}
		if err := o.Store.RecordPast(ctx, p.Agents, page.take()); err != nil {
			return err
		}
		if err := o.Pause(ctx, time.Since(began)); err != nil {
			return err
		}
		began = time.Now()
	}
	last := page.take()
	last.Last = true
	return o.Store.RecordPast(ctx, p.Agents, last)
}

// pastOf collects a page.
type pastOf struct {
	PastPage
	until int64
	moves map[moveKey]int
}

type moveKey struct {
	day    int64
	agent  string
	access diff.Access
	tags   string // separated by commas
}

const day = 24 * time.Hour

func dayNumber(t time.Time) int64 { return t.UnixMilli() / day.Milliseconds() }

func (p *pastOf) add(ctx context.Context, t *reteller, rec Record) error {
	p.After = rec.Config.Origin
	r, err := t.retell(ctx, rec)
	if err != nil {
		return err
	}
	if !r.Same() {
		p.Changes = append(p.Changes, r)
	}
	return p.stood(ctx, t, rec)
}

// stood counts how a site stood while it was watched.
func (p *pastOf) stood(ctx context.Context, t *reteller, rec Record) error {
	watch, err := t.judge.Watch(rec.Config)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(slices.Clone(watch.Agents), func(a diff.Agent) bool { return !t.only[strings.ToLower(a.Token)] })
	h := watcher.History{Site: watcher.Site{Origin: rec.Config.Origin, Config: rec.Config}, Active: rec.Active}
	for _, o := range rec.Runs {
		if !o.Backfill {
			h.Runs = append(h.Runs, o)
		}
	}
	if len(list) == 0 || len(h.Runs) == 0 {
		return nil
	}
	set := t.judge.Settings()
	for _, s := range watcher.Timeline(h, set.Confirm, t.gap) {
		from, to := dayNumber(s.From), p.until+1
		if !s.To.IsZero() {
			to = min(to, dayNumber(s.To))
		}
		if s.Site.State == fetch.Pending || from >= to {
			continue // it does not last until the end of a day
		}
		profile, err := t.profile(ctx, &s, list, set.Semantics)
		if err != nil {
			return err
		}
		for _, a := range profile {
			key := moveKey{from, a.Agent, a.Access, strings.Join(rec.Config.Tags, ",")}
			p.moves[key]++
			if key.day = to; to <= p.until {
				p.moves[key]--
			}
		}
	}
	return nil
}

// profile is the access that holds for agents in a stretch.
func (t *reteller) profile(ctx context.Context, s *watcher.Stretch, list []diff.Agent, sem watcher.Semantics) ([]watcher.AgentAccess, error) {
	v := watcher.Version{State: s.Site.Readable, Body: s.Site.Body}
	var text []byte
	if v.State == fetch.Policy {
		body, err := t.bodies.Body(ctx, v.Body)
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", s.Site.Origin, s.From.Format(time.RFC3339), err)
		}
		text = body
	}
	profile := watcher.Profile(v, text, list)
	for i, a := range profile {
		if s.Site.Memory.Tentative && s.Site.State == fetch.Unreachable {
			a.Access = watcher.Profile(watcher.Version{}, nil, list[i:i+1])[0].Access
		} else {
			a.Access = sem.Effective(s.Site.State, s.Aged, a.Access)
		}
		profile[i] = a
	}
	return profile, nil
}

// take gives the page and begins the next one.
func (p *pastOf) take() PastPage {
	page := p.PastPage
	for k, n := range p.moves {
		if n != 0 {
			m := watcher.AgentMove{Day: time.UnixMilli(k.day * day.Milliseconds()).UTC(), Agent: k.agent, Access: k.access, Sites: n}
			if k.tags != "" {
				m.Tags = strings.Split(k.tags, ",")
			}
			page.Moves = append(page.Moves, m)
		}
	}
	slices.SortFunc(page.Moves, func(a, b watcher.AgentMove) int {
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Agent, b.Agent), slices.Compare(a.Tags, b.Tags))
	})
	p.PastPage, p.moves = PastPage{After: p.After}, make(map[moveKey]int)
	return page
}
