package main

import (
	"context"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	// pastPeriod is how often a daemon asks whether agents are new on the list,
	// and pastRetry how soon after another daemon was at it, which may have
	// been killed, or after a failure.
	pastPeriod = 15 * time.Minute
	pastRetry  = 30 * time.Second
	// pastPause bounds how long it rests between two pages of sites; it rests
	// as long as it worked.
	pastPause = 2 * time.Second
)

// learnPast computes the past of agents that are new in the catalogue or the
// configuration, beside the looks, on one of all daemons, until the context
// ends.
func (d *daemon) learnPast(ctx context.Context, e *engine) {
	for {
		began := time.Now()
		ran, err := d.store.Once(ctx, "past of agents", d.store.Now(), 0, func(ctx context.Context) error {
			watched, err := d.watchedAnywhere(ctx, e)
			if err != nil {
				return err
			}
			learned, err := history.LearnPast(ctx, history.PastOptions{
				Judge: e.judge, Store: d.store, Watched: watched, Now: d.store.Now, Pause: rest,
				Failed: func(site string, err error) {
					d.log.Error("cannot compute the past of new agents on a site; store check tells more", "site", site, "error", err)
				},
			})
			if len(learned) > 0 {
				d.log.Info("the past of new agents is known", "agents", strings.Join(learned, ", "), "took", time.Since(began).Round(time.Millisecond))
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			d.log.Error("cannot compute the past of new agents; trying again later", "error", err, "in", pastRetry)
		}
		again := pastPeriod
		if !ran || err != nil {
			again = pastRetry
		}
		if pause(ctx, again) != nil {
			return
		}
	}
}

// watchedAnywhere lists the agents that are watched on any site.
func (d *daemon) watchedAnywhere(ctx context.Context, e *engine) ([]string, error) {
	standings, err := d.store.Standings(ctx, "")
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	var list []string
	for _, st := range append(standings, watcher.Standing{}) {
		watch, err := e.judge.Watch(watcher.SiteConfig{Agents: st.Agents})
		if err != nil {
			return nil, err
		}
		for _, a := range watch.Agents {
			if !seen[a.Token] {
				seen[a.Token] = true
				list = append(list, a.Token)
			}
		}
	}
	return list, nil
}

// rest waits as long as the work took.
func rest(ctx context.Context, worked time.Duration) error { return pause(ctx, min(worked, pastPause)) }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
