package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// queryFlags are those of the commands that ask the store, as far as each
// applies.
type queryFlags struct {
	site, agent, tag string
	kinds            []string
	since, until, at string
	limit            int
	limitFlag        *pflag.Flag
	format           string
}

// defaultQueryLimit bounds what a person gets to see; programs get all.
const defaultQueryLimit = 1000

func (q *queryFlags) add(cmd *cobra.Command, which ...string) {
	f := cmd.Flags()
	for _, name := range which {
		switch name {
		case "site":
			f.StringVar(&q.site, "site", "", "only this `site`")
		case "agent":
			f.StringVar(&q.agent, "agent", "", "only this product `token`")
		case "tag":
			f.StringVar(&q.tag, "tag", "", "only sites with this tag")
		case "kind":
			f.StringSliceVar(&q.kinds, "kind", nil, "only changes of these kinds: access, state, signal, crawl_delay, sitemap, cosmetic")
		case "since":
			f.StringVar(&q.since, "since", "", "from this `time` on: 2026-05-01, 2026-05-01T12:00:00Z, or a duration ago such as 7d")
		case "until":
			f.StringVar(&q.until, "until", "", "before this `time`")
		case "at":
			f.StringVar(&q.at, "at", "", "as of this `time`")
		}
	}
	f.IntVar(&q.limit, "limit", defaultQueryLimit, "at most so many rows; 0 for all, as in json and csv by default")
	q.limitFlag = f.Lookup("limit")
	f.StringVar(&q.format, "format", "table", "table, json (one object a line) or csv")
}

// check brings the flags to their typed values.
func (q *queryFlags) check() error {
	switch q.format {
	case "table", "json", "csv":
	default:
		return fmt.Errorf("--format %q: allowed are table, json and csv", q.format)
	}
	if q.limit < 0 {
		return fmt.Errorf("--limit %d: must not be negative", q.limit)
	}
	if q.format != "table" && !q.limitFlag.Changed {
		q.limit = 0
	}
	if q.site != "" {
		if _, err := config.NormalizeOrigin(q.site); err != nil {
			return fmt.Errorf("--site: %w", err)
		}
	}
	for _, k := range q.kinds {
		if !slices.Contains(allKinds, watcher.Kind(k)) {
			return fmt.Errorf("--kind %q: allowed are access, state, signal, crawl_delay, sitemap, cosmetic", k)
		}
	}
	return nil
}

// limited is rows up to the limit. One that nobody asked for is told of on
// stderr when it leaves something out.
func limited[T any](a *app, q *queryFlags, rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	if q.limit == 0 {
		return rows
	}
	return func(yield func(T, error) bool) {
		shown := 0
		for row, err := range rows {
			if shown == q.limit {
				if !q.limitFlag.Changed {
					fmt.Fprintf(a.stderr, "robotswatch: these are the first %d; --limit 0 shows all\n", q.limit)
				}
				return
			}
			if !yield(row, err) {
				return
			}
			shown++
		}
	}
}

var allKinds = []watcher.Kind{watcher.KindAccess, watcher.KindState, watcher.KindSignal, watcher.KindCrawlDelay, watcher.KindSitemap, watcher.KindCosmetic}

// parseMoment reads a date (UTC), an RFC 3339 time, or a duration ago; "" is
// the zero time.
func parseMoment(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	if d, err := config.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--%s %q: want a date (2026-05-01), a time (2026-05-01T12:00:00Z) or a duration ago (7d)", flag, s)
}

// parsePast is parseMoment of a time that facts can be asked about.
func parsePast(flag, s string, now time.Time) (time.Time, error) {
	at, err := parseMoment(flag, s, now)
	if err == nil && at.After(now) {
		err = fmt.Errorf("--%s %q: is in the future, of which nothing is known", flag, s)
	}
	return at, err
}

// library is the store as the commands read it, with what is needed to say
// what its facts mean.
type library struct {
	store *store.Store
	judge *watcher.Judge
	links notify.Links
}

// openLibrary opens the configured store for reading.
func (a *app) openLibrary(ctx context.Context) (*library, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	catalogue, err := agents.Load()
	if err != nil {
		return nil, err
	}
	judge, err := watcher.NewJudge(judgeSettings(cfg, catalogue))
	if err != nil {
		return nil, err
	}
	l := &library{judge: judge, links: notify.Links{External: cfg.Server.ExternalURL}}
	l.store, err = store.Open(ctx, cfg.Store.URL.Reveal(), store.Options{ReadOnly: true, Effective: l.effective})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// origin is the site that a text names, "" for none: a bare host means https,
// or http where only that is in the store.
func (l *library) origin(ctx context.Context, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	origin, err := config.NormalizeOrigin(text)
	if err != nil || strings.Contains(text, "://") {
		return origin, err
	}
	if _, err = l.store.SiteByOrigin(ctx, origin); !errors.Is(err, watcher.ErrNotFound) {
		return origin, err
	}
	plain, err := config.NormalizeOrigin("http://" + text)
	if err != nil {
		return "", err
	}
	switch _, err = l.store.SiteByOrigin(ctx, plain); {
	case errors.Is(err, watcher.ErrNotFound):
		return origin, nil
	case err != nil:
		return "", err
	}
	return plain, nil
}

func (l *library) effective(site watcher.Site) []watcher.AgentAccess {
	return effectiveNow(l.judge, site)
}

// effectiveNow is what the store shows of a site; what its last readable
// answer said where the agents to watch are no longer known.
func effectiveNow(judge *watcher.Judge, site watcher.Site) []watcher.AgentAccess {
	access, err := judge.Effective(site, time.Now())
	if err != nil {
		return site.Profile
	}
	return access
}

// table writes rows of one shape in the format that was asked for.
type table[T any] struct {
	header []string // names of CSV columns; in capitals for people
	cells  func(T) []string
}

func (t table[T]) write(w io.Writer, format string, rows func(yield func(T, error) bool)) error {
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for row, err := range rows {
			if err != nil {
				return err
			}
			if err := enc.Encode(row); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		cw := csv.NewWriter(w)
		_ = cw.Write(t.header) // Flush reports it
		for row, err := range rows {
			if err != nil {
				return err
			}
			cells := t.cells(row)
			for i := range cells {
				cells[i] = visible.Cell(cells[i])
			}
			_ = cw.Write(cells)
		}
		cw.Flush()
		return cw.Error()
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.ToUpper(strings.ReplaceAll(strings.Join(t.header, "\t"), "_", " ")))
	for row, err := range rows {
		if err != nil {
			return err
		}
		cells := t.cells(row)
		for i := range cells {
			cells[i] = visible.Short(cmp.Or(cells[i], "-"), maxCell)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	return tw.Flush()
}

// maxCell bounds a cell of a table for people, in characters.
const maxCell = 120

// moment shows a time, nothing for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// optional is a time for JSON: null for none.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
