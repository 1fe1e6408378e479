package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// notary makes bundles of what a store holds.
type notary struct {
	store *store.Store
	judge *watcher.Judge
}

// bundle is about what was last seen of a site at a time, zero for now.
func (n *notary) bundle(ctx context.Context, origin string, at time.Time) ([]byte, error) {
	now := time.Now().UTC()
	if at.IsZero() {
		at = now
	}
	run, chain, err := n.store.ChainAt(ctx, origin, at)
	if errors.Is(err, watcher.ErrNotFound) {
		return nil, fmt.Errorf("nothing was seen of %s by %s: %w", origin, at.UTC().Format(time.RFC3339), watcher.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	b := &evidence.Bundle{Schema: evidence.BundleSchema, MadeAt: now, MadeBy: buildVersion(), Site: origin, AskedAt: at.UTC()}
	if b.Chain, err = chain.Prove(run.At); err != nil {
		return nil, err
	}
	b.Record, b.LastAt = string(evidence.RecordOf(origin, &run).Text()), evidence.Moment{Time: run.LastAt}
	if !run.Body.IsZero() {
		body, err := n.store.Body(ctx, run.Body)
		if err != nil {
			return nil, err
		}
		b.Body = &body
	}
	if b.Reading, err = n.reading(ctx, run, b.Body, origin, at); err != nil {
		return nil, err
	}
	return b.Encode()
}

// reading is what an answer means for the agents watched on its site: by its
// rules, or else by how the site stood at the time.
func (n *notary) reading(ctx context.Context, run watcher.Observation, body *[]byte, origin string, at time.Time) (r evidence.Reading, err error) {
	site, err := n.store.SiteByOrigin(ctx, origin)
	if err != nil {
		return r, err
	}
	watch, err := n.judge.Watch(site.Config)
	if err != nil {
		return r, err
	}
	set := n.judge.Settings()
	r = evidence.Reading{Engine: buildVersion(), Catalogue: set.Catalogue.Version, State: fetch.Policy}
	if body != nil {
		r.Agents = evidence.Read(*body, watch.Agents)
		return r, nil
	}
	runs, err := n.store.Observations(ctx, origin, time.Time{}, at.Add(time.Millisecond), asOfRuns)
	if err != nil {
		return r, err
	}
	then := watcher.AsOf(site, runs, at, set.Confirm)
	text, err := (&library{store: n.store, judge: n.judge}).policy(ctx, then)
	if err != nil {
		return r, err
	}
	then.Profile = watcher.Profile(watcher.Version{State: then.Readable, Body: then.Body}, text, watch.Agents)
	r.State = then.State
	rules := evidence.Read(text, watch.Agents)
	for i, e := range watcher.Effective(then, watch.Agents, at, set.Semantics) {
		a := evidence.AgentReading{Agent: e.Agent, Fallbacks: watch.Agents[i].Fallbacks, Access: e.Level, Source: e.Source}
		if e.Source != robots.SourceStatus && e.Level != diff.Unknown {
			a, r.Policy = rules[i], then.Body
		}
		r.Agents = append(r.Agents, a)
	}
	return r, nil
}

// headsEvery is how often a daemon looks whether a day is over.
const headsEvery = 30 * time.Minute

// witnessHeads logs each day, on one of all daemons, the SHA-256 of where the
// chains stood at midnight: what was seen before cannot be written anew
// without somebody who kept that line noticing.
func witnessHeads(ctx context.Context, s *store.Store, log *slog.Logger) {
	tick := time.NewTicker(headsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := witness(ctx, s, time.Now().UTC(), log); err != nil && ctx.Err() == nil {
			log.Error("cannot read the heads of the chains of evidence", "error", err)
		}
	}
}

// witness logs the heads of the last midnight, unless that was done on this
// day.
func witness(ctx context.Context, s *store.Store, now time.Time, log *slog.Logger) error {
	midnight := now.Truncate(24 * time.Hour)
	_, err := s.Once(ctx, "heads", now, now.Sub(midnight), func(ctx context.Context) error {
		sum := sha256.New()
		sites, err := writeHeads(ctx, s, midnight, sum)
		if err == nil {
			log.Info("heads of the chains of evidence", "at", midnight.Format(time.RFC3339), "sites", sites, "sha256", fmt.Sprintf("%x", sum.Sum(nil)))
		}
		return err
	})
	return err
}
