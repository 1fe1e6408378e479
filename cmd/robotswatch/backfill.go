package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// badShown is how many bad records of a backfill are listed.
const badShown = 50

func (a *app) backfillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "Bring in history from archives",
		Long: `Brings in what others captured: in any order, through the same engine as live
looks. Changes are marked as backfilled and never sent. What was observed live
stays as it is. A backfill that was interrupted is simply run again; one that
ran twice changes nothing. Sites that are not configured are kept as inactive.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(
		a.backfillFrom("warc FILE...", "From web archives (WARC 1.0 and 1.1, .gz), as Common Crawl's robotstxt files",
			func(names []string) (history.Source, error) { return history.WARC(names, a.stdin) }),
		a.backfillFrom("jsonl FILE...", "From JSON lines {site, time, status, error, headers, body_base64}",
			func(names []string) (history.Source, error) { return history.JSONL(names, a.stdin) }),
		a.backfillFrom("dir DIRECTORY", "From files named by host and date: example.com/2024-05-01.txt",
			func(names []string) (history.Source, error) {
				if len(names) != 1 {
					return nil, fmt.Errorf("want one directory, not %d", len(names))
				}
				return history.Dir(names[0])
			}),
	)
	return cmd
}

func (a *app) backfillFrom(use, short string, open func(names []string) (history.Source, error)) *cobra.Command {
	var gap, tempDir string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			longest, err := config.ParseDuration(gap)
			if err == nil && longest <= 0 {
				err = errors.New("must be positive")
			}
			if err != nil {
				return fmt.Errorf("--gap: %w", err)
			}
			source, err := open(names)
			if err != nil {
				return err
			}
			return a.backfill(cmd.Context(), source, history.Options{Gap: longest, TempDir: tempDir})
		},
	}
	cmd.Flags().StringVar(&gap, "gap", fmt.Sprintf("%dd", history.DefaultGap/(24*time.Hour)), "an answer is known to go on when it is seen again within this `duration`")
	cmd.Flags().StringVar(&tempDir, "temp-dir", "", "`directory` for sorting large inputs (default: the system's)")
	return cmd
}

func (a *app) backfill(ctx context.Context, source history.Source, o history.Options) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	catalogue, err := agents.Load()
	if err != nil {
		return err
	}
	if o.Judge, err = watcher.NewJudge(judgeSettings(cfg, catalogue)); err != nil {
		return err
	}
	s, err := store.Open(ctx, cfg.Store.URL.Reveal(), store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	log := a.logger()
	if err := syncSites(ctx, s, cfg, log); err != nil {
		return err
	}
	meter := newMeter(a.stderr, log)
	shown := 0
	o.Store, o.Origin, o.MaxBytes, o.Progress = s, config.NormalizeOrigin, cfg.Fetch.MaxBytes, meter.progress
	o.Bad = func(b history.Bad) {
		if shown++; shown <= badShown {
			meter.clear()
			log.Warn("not used", "where", b.Where, "why", b.What)
		} else if shown == badShown+1 {
			meter.clear()
			log.Warn("more is not used; from here on it is only counted")
		}
	}
	sum, err := history.Run(ctx, source, o)
	meter.clear()
	if err != nil {
		return err
	}
	return a.printBackfill(sum)
}

// syncSites makes the store follow the configuration, as the daemon does at
// its start.
func syncSites(ctx context.Context, s *store.Store, cfg *config.Config, log *slog.Logger) error {
	now := time.Now()
	synced, err := s.SyncSites(ctx, now, siteConfigs(cfg), func(string, string) time.Time { return now })
	if err == nil && synced.Changed() {
		log.Info("sites are in step with the configuration", "sites", synced.Sites, "added", synced.Added+synced.Back,
			"updated", synced.Updated, "left", synced.Left)
	}
	return err
}

func (a *app) printBackfill(sum history.Summary) error {
	lines := []struct {
		n    int64
		what string
	}{
		{sum.Captures, "captures read"},
		{sum.Bad, "of them could not be used"},
		{sum.Redirects, "are redirects, which say nothing of where they lead to"},
		{sum.Unresolved, "refer to a capture that is not in the input"},
		{sum.Repeated, "are of a time for which there is another one"},
		{sum.Watched, "are of a time that was watched live"},
		{sum.New, "told something new"},
		{sum.Sites, "sites"},
		{sum.Rewritten, "sites whose history grew"},
		{sum.Runs, "runs of equal answers on those"},
		{sum.Changes, "changes on those, marked as backfilled"},
	}
	for i, l := range lines {
		if l.n == 0 && i > 0 {
			continue
		}
		if _, err := fmt.Fprintf(a.stdout, "%12d  %s\n", l.n, l.what); err != nil {
			return err
		}
	}
	return nil
}
