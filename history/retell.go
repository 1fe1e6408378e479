package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// Record is all that a store has of a site: what was seen, and the changes
// that were made of it, oldest first.
type Record struct {
	Past
	Active  bool // it is configured now
	Changes []watcher.Change
}

// Retelling is how the changes of a site would be told today.
type Retelling struct {
	Origin    string
	Was       int              // backfilled runs when the record was read
	Told      int              // changes that are as they would be told
	Missing   []watcher.Change // would be told, and are not stored
	Different []Difference
	Extra     []watcher.Change // are stored, and would not be told
	Failed    error            // what was seen cannot be read; then nothing else is known
}

// Same reports whether nothing differs.
func (r *Retelling) Same() bool {
	return len(r.Missing)+len(r.Different)+len(r.Extra) == 0 && r.Failed == nil
}

// Difference is a change that would be told otherwise.
type Difference struct {
	Stored watcher.Change
	Now    watcher.Change // with the identity of the stored one
	What   []string       // in which respects, for people
}

// reteller tells the changes of sites again.
type reteller struct {
	deriver
	only map[string]bool // lower-case tokens: add their part and nothing else; nil: all
}

// retell compares what is stored of a site with what would be told today.
func (t *reteller) retell(ctx context.Context, rec Record) (*Retelling, error) {
	tr, err := t.track(ctx, rec.Past)
	if err != nil {
		return nil, err
	}
	r := &Retelling{Origin: rec.Config.Origin}
	for i := range rec.Runs {
		if rec.Runs[i].Backfill {
			r.Was++
		}
	}
	stored := byPlace(tr, rec.Changes)
	now := byPlace(tr, tr.changes)
	for i := range now {
		if !slices.ContainsFunc(stored, now[i].same) {
			t.missing(tr, r, stored, now[i])
		}
	}
	for _, s := range stored {
		i := slices.IndexFunc(now, s.same)
		switch {
		case i >= 0:
			if err := t.compare(ctx, tr, r, s, now[i]); err != nil {
				return nil, err
			}
		case t.only == nil && tr.exact(s) && t.judged(tr, s.change):
			r.Extra = append(r.Extra, s.change)
		default:
			r.Told++
		}
	}
	return r, nil
}

// track is what was seen of a site in the order in which it is played, and
// the changes that come of it.
type track struct {
	watch    *watcher.Watch
	runs     []watcher.Observation // captures from before the first live look, then what was seen live
	live     int                   // index of the first live run
	known    int                   // index of the first readable live run: what is older may have been removed
	swinging map[int]bool          // live runs at whose beginning the versions of the site swing
	changes  []watcher.Change
}

// track plays what was seen.
func (t *reteller) track(ctx context.Context, p Past) (*track, error) {
	watch, err := t.judge.Watch(p.Config)
	if err != nil {
		return nil, err
	}
	list, _ := segments(p, nil)
	first := list[0]
	tr := &track{watch: watch, live: len(first.runs), swinging: make(map[int]bool)}
	tr.runs = append(tr.runs, first.runs...)
	for _, r := range p.Runs {
		if !r.Backfill {
			tr.runs = append(tr.runs, r)
		}
	}
	tr.known = len(tr.runs)
	if i := slices.IndexFunc(tr.runs[tr.live:], func(r watcher.Observation) bool { return r.State.Readable() }); i >= 0 {
		tr.known = tr.live + i
	}
	w := Rewrite{Config: p.Config, Bodies: make(map[watcher.Hash][]byte)}
	looks, _ := first.merge()
	if err := t.play(ctx, &w, looks, true, first.next); err != nil {
		return nil, err
	}
	tr.changes = w.Changes
	return tr, t.relive(ctx, p.Config, tr)
}

// relive plays what was seen live: looks as the schedule plans them, for as
// long as each answer held.
func (t *reteller) relive(ctx context.Context, c watcher.SiteConfig, tr *track) error {
	replay := watcher.NewReplay(t.judge, c)
	for i := tr.live; i < len(tr.runs); i++ {
		run := &tr.runs[i]
		for at := run.At; ; {
			l := lookOf(run, at)
			if site := replay.Site(); site.Body == run.Body && run.State == fetch.Policy && !at.Equal(run.At) {
				l.out.NotModified = true // the body again would say no more
			} else if err := t.fill(ctx, &l); err != nil {
				return err
			}
			v, err := replay.Next(ctx, l.out)
			if err != nil {
				return fmt.Errorf("%s at %s: %w", c.Origin, at.Format(time.RFC3339), err)
			}
			tr.changes = append(tr.changes, v.Changes...)
			if at.Equal(run.At) {
				tr.swinging[i] = v.Site.Memory.Flap.Told != watcher.Version{}
			}
			if !at.Before(run.LastAt) {
				break
			}
			if at = v.Site.NextCheckAt; at.After(run.LastAt) || quiet(&v.Site) {
				at = run.LastAt
			}
		}
	}
	return nil
}

// quiet reports whether more looks with the same answer change nothing.
func quiet(s *watcher.Site) bool {
	f := &s.Memory.Flap
	return s.Memory.Doubt == nil && !s.Memory.Tentative && f.Told == watcher.Version{} && f.StateTold == "" && f.Looks >= manyLooks
}

// manyLooks is more of them than any count of looks that matters.
const manyLooks = 10

// placed is a change by where it belongs: the times of looks within a run are
// not kept, so the run says more than the time.
type placed struct {
	change watcher.Change
	run    int // -1: before all that is known
	nth    int // of its kind in the run
}

func (p placed) same(o placed) bool {
	return p.run == o.run && p.nth == o.nth && p.change.Kind == o.change.Kind
}

func byPlace(tr *track, changes []watcher.Change) []placed {
	list := make([]placed, len(changes))
	type in struct {
		run  int
		kind watcher.Kind
	}
	seen := make(map[in]int)
	for i, c := range changes {
		run := len(tr.runs) - 1
		for run >= 0 && tr.runs[run].At.After(c.At) {
			run--
		}
		key := in{run, c.Kind}
		if c.Cause == watcher.CauseAgentList { // of what we know, at no place of its own
			key.run = -2
		}
		list[i] = placed{c, key.run, seen[key]}
		seen[key]++
	}
	return list
}

// exact reports whether it depends on nothing but what is kept whether the
// change is told. Live looks are not kept one by one, so what needs to be
// confirmed, and what swings, may have been told rightly all the same.
func (tr *track) exact(p placed) bool {
	c := &p.change
	switch {
	case p.run < 0:
		return false
	case p.run < tr.live, c.Backfilled && p.run == tr.known && tr.live > 0:
		return true
	case p.run <= tr.known || tr.swinging[p.run]:
		return false
	}
	return c.Kind != watcher.KindState && c.Unstable == "" && c.At.Equal(tr.runs[p.run].At) &&
		(c.Cause == watcher.CauseRules || c.Cause == watcher.CauseRedirect)
}

// judged reports whether a change is about anything that would be told today:
// agents that nobody watches any more keep their history.
func (t *reteller) judged(tr *track, c watcher.Change) bool {
	if c.Kind != watcher.KindAccess {
		return true
	}
	return slices.ContainsFunc(c.Agents, func(a diff.AgentChange) bool { return tr.watch.Has(a.Agent) })
}

func (t *reteller) missing(tr *track, r *Retelling, stored []placed, now placed) {
	c := now.change
	if t.only != nil {
		part, ok := t.part(tr, c)
		if !ok {
			return
		}
		c = part
	}
	// Where something else is told of an edit, for whomever, it is not cosmetic.
	if c.Kind == watcher.KindCosmetic && slices.ContainsFunc(stored, func(s placed) bool { return s.change.At.Equal(c.At) && !t.judged(tr, s.change) }) {
		return
	}
	r.Missing = append(r.Missing, c)
}

// part gives what an event says of the agents whose part alone is wanted.
func (t *reteller) part(tr *track, c watcher.Change) (watcher.Change, bool) {
	if c.Kind != watcher.KindAccess {
		return c, false
	}
	return c.About(func(agent string) bool { return t.only[strings.ToLower(agent)] })
}
