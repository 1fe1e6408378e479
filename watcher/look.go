package watcher

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

// perform looks at a site and hands the result to the writer.
func (d *Daemon) perform(ctx context.Context, t *task, w *writer) {
	look, cancel := context.WithTimeout(ctx, d.look)
	defer cancel()
	site := t.lease.Site
	now := d.opt.Clock()
	out := d.opt.Fetcher.Look(look, site.Request(now))
	out.At = now // by the clock that all daemons go by
	if out.Reason.Ours() {
		t.unused = true
		return
	}
	soon := d.Judge().set.Confirm.Interval
	if d.ourFault(site, out) {
		w.put(d.putOff(t, site, soon))
		return
	}
	d.opt.Observer.Checked(out)
	v, err := d.judged(ctx, site, out)
	switch {
	case err == nil:
		w.put(written{task: t, result: Result{
			Lease: t.current(), Site: v.Site, Observation: v.Observation, Body: v.Body, Changes: d.route(v.Changes),
		}})
	case ctx.Err() != nil:
		t.unused = true
	case errors.Is(err, ErrNotFound):
		d.opt.Log.Error("an earlier version is lost: the next look at the site is a first one", "site", site.Origin, "error", err)
		w.put(d.putOff(t, site.anew(), soon))
	default:
		d.opt.Log.Error("cannot judge a look", "site", site.Origin, "error", err)
		w.put(d.putOff(t, site, soon))
	}
}

// judged keeps what a stranger's file may still break in us to one site: a
// panic puts it off and is logged, and the other sites go on.
func (d *Daemon) judged(ctx context.Context, site Site, out fetch.Outcome) (v Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Judge().Judge(ctx, site, out, d.opt.Store)
}

// ourFault reports whether a look says something about our own network only.
// A site that was never looked at is recorded all the same: its first state
// is no event, and not confirmed.
func (d *Daemon) ourFault(site Site, out fetch.Outcome) bool {
	down, changed := d.link.weigh(time.Now(), site, out)
	if changed {
		d.opt.Observer.OwnOutage(down)
		if down {
			d.opt.Log.Warn("most sites fell silent at once: taken as an outage of this machine's network; their states are held back until it is over")
		} else {
			d.opt.Log.Info("sites answer again: the outage of this machine's network is over")
		}
	}
	return known(site.State) && (down && silence(out) || out.Reason == fetch.NoResources)
}

func (d *Daemon) route(changes []Change) []Routed {
	router := *d.router.Load()
	routed := make([]Routed, len(changes))
	for i, c := range changes {
		receivers, key := router.Route(c)
		routed[i] = Routed{Change: c, Receivers: receivers, GroupKey: key}
	}
	return routed
}

// putOff is the result of no look: the site is due again between once and
// twice the time from now, each at its own moment.
func (d *Daemon) putOff(t *task, site Site, by time.Duration) written {
	spread := time.Duration(share(site.Origin, max(by.Milliseconds(), 1))) * time.Millisecond
	site.NextCheckAt = d.opt.Clock().Add(by + spread).UTC()
	return written{task: t, result: Result{Lease: t.current(), Site: site}, err: ErrNotNow}
}

// anew is the site as if it had never been looked at, its history aside.
func (s *Site) anew() Site {
	return Site{
		ID: s.ID, Origin: s.Origin, Config: s.Config, State: fetch.Pending,
		LastCheckAt: s.LastCheckAt, LastChangeAt: s.LastChangeAt, Expected: s.Expected,
		Memory: Memory{Address: s.Memory.Address, Last: s.Memory.Last},
	}
}
