package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// asOfRuns is how many runs of answers before a moment are read to find out
// how a site stood: the last policy among them settles it.
const asOfRuns = 200

// accessRow is what an agent may fetch on a site.
type accessRow struct {
	Site       string        `json:"site"`
	Agent      string        `json:"agent"`
	Access     diff.Level    `json:"access"`
	Source     robots.Source `json:"source"`
	State      fetch.State   `json:"state"`
	Since      *time.Time    `json:"since"` // when the access became that; null as of a time, or without --agent
	At         *time.Time    `json:"at"`    // null: now
	ObservedAt *time.Time    `json:"observed_at"`
	Stale      bool          `json:"stale"`
}

func (a *app) accessCommand() *cobra.Command {
	var (
		q     queryFlags
		level string
	)
	cmd := &cobra.Command{
		Use:   "access",
		Short: "List what agents may fetch on the watched sites, now or at a time",
		Long: `Lists the effective access of the agents watched on each site, or of the one
asked for, now or as of a time. A site that was not known then is "unknown".
With --agent it also says since when.`,
		Example: `  robotswatch access --agent GPTBot --access blocked
  robotswatch access --agent GPTBot --at 2026-05-01`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := q.check(); err != nil {
				return err
			}
			if !slices.Contains(accessLevels, diff.Level(level)) {
				return fmt.Errorf("--access %q: allowed are allowed, partial, restricted, blocked and unknown", level)
			}
			at, err := parsePast("at", q.at, time.Now())
			if err != nil {
				return err
			}
			lib, err := a.openLibrary(cmd.Context())
			if err != nil {
				return err
			}
			defer lib.store.Close()
			if err := lib.known(cmd.Context(), &q, at.IsZero()); err != nil {
				return err
			}
			rows := lib.accessRows(cmd.Context(), watcher.SiteFilter{Origin: q.site, Tag: q.tag}, q.agent, at)
			return accessTable.write(a.stdout, q.format, limited(a, &q, ofLevel(rows, diff.Level(level))))
		},
	}
	q.add(cmd, "site", "agent", "tag", "at")
	cmd.Flags().StringVar(&level, "access", "", "only this `access`: allowed, partial, restricted, blocked or unknown")
	return cmd
}

// accessLevels are what --access takes; "" is all.
var accessLevels = []diff.Level{"", diff.Allowed, diff.Partial, diff.Restricted, diff.Blocked, diff.Unknown}

// ofLevel keeps the rows of one level, "" all.
func ofLevel(rows iter.Seq2[accessRow, error], level diff.Level) iter.Seq2[accessRow, error] {
	return func(yield func(accessRow, error) bool) {
		for row, err := range rows {
			if (err != nil || level == "" || row.Access == level) && !yield(row, err) {
				return
			}
		}
	}
}

var accessTable = table[accessRow]{
	header: []string{"site", "agent", "access", "source", "state", "since", "observed_at", "stale"},
	cells: func(r accessRow) []string {
		return []string{r.Site, r.Agent, string(r.Access), string(r.Source), string(r.State), when(r.Since), when(r.ObservedAt), strconv.FormatBool(r.Stale)}
	},
}

// accessRows walks sites and, on each, the agents watched there or the one
// named; at is zero for now.
func (l *library) accessRows(ctx context.Context, f watcher.SiteFilter, agent string, at time.Time) iter.Seq2[accessRow, error] {
	return func(yield func(accessRow, error) bool) {
		for site, err := range l.sitesAt(ctx, f, at) {
			var rows []accessRow
			if err == nil {
				rows, err = l.siteAccess(ctx, site, agent, at)
			}
			if err != nil {
				yield(accessRow{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// sitesAt walks the watched sites; of a past time also the one asked for that
// is not watched now.
func (l *library) sitesAt(ctx context.Context, f watcher.SiteFilter, at time.Time) iter.Seq2[watcher.Site, error] {
	if f.Origin == "" || f.Tag != "" || at.IsZero() {
		return l.store.WalkSites(ctx, f)
	}
	return func(yield func(watcher.Site, error) bool) {
		site, err := l.store.SiteByOrigin(ctx, f.Origin)
		if !errors.Is(err, watcher.ErrNotFound) {
			yield(site, err)
		}
	}
}

func (l *library) siteAccess(ctx context.Context, site watcher.Site, agent string, at time.Time) ([]accessRow, error) {
	list, err := l.agentsOf(site, agent)
	if err != nil {
		return nil, err
	}
	moment := at
	if at.IsZero() {
		moment = time.Now()
	} else {
		runs, err := l.store.Observations(ctx, site.Origin, time.Time{}, at.Add(time.Millisecond), asOfRuns)
		if err != nil {
			return nil, err
		}
		site = watcher.AsOf(site, runs, at, l.judge.Settings().Confirm)
	}
	text, err := l.policy(ctx, site)
	if err != nil {
		return nil, err
	}
	site.Profile = watcher.Profile(watcher.Version{State: site.Readable, Body: site.Body}, text, list)
	rows := make([]accessRow, 0, len(list))
	for _, e := range watcher.Effective(site, list, moment, l.judge.Settings().Semantics) {
		observed, stale := site.Seen(e.Source, moment)
		rows = append(rows, accessRow{
			Site: site.Origin, Agent: e.Agent, Access: e.Level, Source: e.Source, State: site.State,
			At: optional(at), ObservedAt: optional(observed), Stale: stale,
		})
	}
	if agent == "" || !at.IsZero() {
		return rows, nil
	}
	since, err := l.since(ctx, site, rows[0])
	rows[0].Since = optional(since)
	return rows, err
}

// since is when the access of a row became what it is: of a state, when that
// began; else the last change of the agent's access, or the first look.
func (l *library) since(ctx context.Context, site watcher.Site, row accessRow) (time.Time, error) {
	if row.Source == robots.SourceStatus {
		return site.StateSince, nil
	}
	ids := []int64{site.ID}
	changed, err := l.store.AccessSince(ctx, ids, row.Agent)
	if err != nil {
		return time.Time{}, err
	}
	if t, ok := changed[site.ID]; ok {
		return t, nil
	}
	first, err := l.store.FirstSeen(ctx, ids)
	return first[site.ID], err
}

// agentsOf gives the agents watched on a site, or the one named.
func (l *library) agentsOf(site watcher.Site, name string) ([]diff.Agent, error) {
	if name == "" {
		watch, err := l.judge.Watch(site.Config)
		if err != nil {
			return nil, err
		}
		return watch.Agents, nil
	}
	return []diff.Agent{watcher.AgentNamed(l.judge.Settings().Catalogue, name)}, nil
}

// policy is the last good policy of a site, nil when it has none.
func (l *library) policy(ctx context.Context, site watcher.Site) ([]byte, error) {
	return watcher.LastPolicy(ctx, l.store, site)
}
