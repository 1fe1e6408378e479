package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// engine is what one configuration makes of the store: sites are looked at,
// changes are delivered. A reload makes a new one; what is due and what is to
// be delivered are data in the store, so nothing is lost in between.
type engine struct {
	cfg        *config.Config
	judge      *watcher.Judge
	watched    []diff.Agent
	watcher    *watcher.Daemon
	dispatcher *notify.Dispatcher
	receivers  []string
}

// newEngine checks everything that can be checked before the old engine is
// stopped. It changes nothing.
func (d *daemon) newEngine(cfg *config.Config) (*engine, error) {
	judge, err := watcher.NewJudge(judgeSettings(cfg, d.catalogue))
	if err != nil {
		return nil, err
	}
	watched, err := judge.Watch(watcher.SiteConfig{})
	if err != nil {
		return nil, err
	}
	receivers := receiverConfigs(cfg.Receivers)
	router, err := notify.NewRouter(receivers, d.catalogue)
	if err != nil {
		return nil, err
	}
	links := notify.Links{External: cfg.Server.ExternalURL}
	targets, err := notify.Targets(receivers, notify.Means{Policy: receiverPolicy(cfg), Bodies: d.store, Log: d.log, Links: links})
	if err != nil {
		return nil, err
	}
	dispatcher, err := notify.NewDispatcher(d.store, targets, notify.Options{
		Owner: d.owner, Links: links, Router: router, Totals: d.store, Metrics: d.metrics, Log: d.log,
	})
	if err != nil {
		return nil, err
	}
	settings, err := fetchSettings(cfg)
	if err != nil {
		return nil, err
	}
	w, err := watcher.New(watcher.Options{
		Store: d.store, Fetcher: fetch.New(settings), Router: router, Judge: judge,
		Concurrency: cfg.Fetch.Concurrency, PerDomain: cfg.Fetch.PerDomain, PerAddress: cfg.Fetch.PerAddress, Timeout: cfg.Fetch.Timeout,
		Observer: d.metrics, Committed: dispatcher.Poke, Clock: d.store.Now, Log: d.log,
	})
	if err != nil {
		return nil, err
	}
	e := &engine{cfg: cfg, judge: judge, watched: watched.Agents, watcher: w, dispatcher: dispatcher}
	for _, r := range receivers {
		e.receivers = append(e.receivers, r.Name)
	}
	return e, nil
}

// adopt makes the store follow the engine's configuration.
func (e *engine) adopt(ctx context.Context, s *store.Store, log *slog.Logger) error {
	now := s.Now()
	synced, err := s.SyncSites(ctx, now, siteConfigs(e.cfg), e.firstDue(now))
	if err != nil {
		return err
	}
	if err := s.Sync(ctx, e.receivers, now); err != nil {
		return fmt.Errorf("sync receivers: %w", err)
	}
	log.Info("sites are in step with the configuration", "sites", synced.Sites, "added", synced.Added+synced.Back,
		"updated", synced.Updated, "left", synced.Left)
	return nil
}

// firstDue makes new sites due at once, in the order of their slots: the store
// keeps together what is looked at together.
func (e *engine) firstDue(now time.Time) func(origin, spec string) time.Time {
	var schedules watcher.Schedules
	return func(origin, spec string) time.Time {
		schedule, err := schedules.Get(cmp.Or(spec, e.cfg.Schedule.Default))
		if err != nil {
			return now // the configuration was checked: this does not happen
		}
		return schedule.Next(origin, now).Add(-watcher.MaxGap)
	}
}

// run looks, delivers and keeps house until the context ends.
func (d *daemon) run(ctx context.Context, e *engine) error {
	var looking, delivering error
	var wg sync.WaitGroup
	wg.Go(func() { looking = e.watcher.Run(ctx) })
	wg.Go(func() { delivering = e.dispatcher.Run(ctx) })
	wg.Go(func() { d.store.TidyUp(ctx, e.cfg.Store.Retention, d.log) })
	wg.Go(func() { witnessHeads(ctx, d.store, d.log) })
	wg.Go(func() { d.learnPast(ctx, e) })
	wg.Go(func() {
		if err := d.store.LoadNames(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("the first search will take longer", "error", err)
		}
	})
	if h := e.cfg.Heartbeat; h.URL.IsSet() {
		wg.Go(func() {
			heart{
				interval: h.Interval, log: d.log, ping: pinger(h.URL.Reveal(), netpolicy.Policy{AllowPrivate: true}), // the operator's own word
				alive: func(ctx context.Context) error { return d.progress(ctx) },
			}.beat(ctx)
		})
	}
	wg.Wait()
	return errors.Join(looking, delivering)
}

// once looks at every configured site exactly once, delivers, and returns.
func (e *engine) once(ctx context.Context) error {
	var origins []string
	for s, err := range e.cfg.Sites() {
		if err != nil {
			return err
		}
		origins = append(origins, s.Origin)
	}
	if err := e.watcher.Once(ctx, origins); err != nil {
		return err
	}
	return e.dispatcher.Drain(ctx)
}
