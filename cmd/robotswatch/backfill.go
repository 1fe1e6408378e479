package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/visible"
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
		RunE: needsCommand,
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
	var gap, tempDir, bad string
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
			return a.backfill(cmd.Context(), source, history.Options{Gap: longest, TempDir: tempDir}, bad)
		},
	}
	cmd.Flags().StringVar(&gap, "gap", fmt.Sprintf("%dd", history.DefaultGap/(24*time.Hour)), "an answer is known to go on when it is seen again within this `duration`")
	cmd.Flags().StringVar(&tempDir, "temp-dir", "", "`directory` for sorting large inputs (default: the system's)")
	cmd.Flags().StringVar(&bad, "bad", "", fmt.Sprintf("`file` for the list of records that cannot be used (without it the first %d are shown)", badShown))
	return cmd
}

func (a *app) backfill(ctx context.Context, source history.Source, o history.Options, bad string) (err error) {
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
	list := badList{meter: meter, log: log}
	if bad != "" {
		if list.file, err = os.Create(bad); err != nil {
			return fmt.Errorf("--bad: %w", err)
		}
		defer func() { err = errors.Join(err, list.file.Close()) }()
	}
	o.Store, o.Origin, o.MaxBytes, o.Progress, o.Bad = s, config.NormalizeOrigin, cfg.Fetch.MaxBytes, meter.progress, list.add
	sum, err := history.Run(ctx, source, o)
	meter.clear()
	if err = errors.Join(err, list.err); err != nil {
		return err
	}
	if sum.Untidy != nil {
		log.Warn("everything is recorded, but the store could not be put in order and takes more room than it has to", "error", sum.Untidy)
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

// badList lists records that cannot be used: all of them in a file, or the
// first few for people.
type badList struct {
	meter *meter
	log   *slog.Logger
	file  *os.File // nil: none
	shown int
	err   error
}

func (l *badList) add(b history.Bad) {
	if l.file != nil {
		if _, err := fmt.Fprintln(l.file, visible.Text(b.String())); err != nil && l.err == nil {
			l.err = fmt.Errorf("--bad: %w", err)
		}
		return
	}
	switch l.shown++; {
	case l.shown > badShown+1:
	case l.shown == badShown+1:
		l.meter.say("more cannot be used; from here on they are only counted (--bad FILE lists all)")
	case l.meter.out != nil:
		l.meter.say(visible.Short(b.Where, maxCell) + ": not used: " + visible.Short(b.What, 2*maxCell))
	default:
		l.log.Warn("not used", "where", b.Where, "why", b.What)
	}
}

func (a *app) printBackfill(sum history.Summary) error {
	verdict := "Nothing new."
	if sum.Rewritten > 0 {
		verdict = fmt.Sprintf("The history of %s grew. Nothing is sent.\n"+
			"Those that are not configured are left out of lists of sites and of access; changes, export and access --site SITE --at TIME tell of them.", plural(int(sum.Rewritten), "site", "sites"))
	}
	if _, err := fmt.Fprintln(a.stdout, verdict); err != nil {
		return err
	}
	lines := []struct {
		n    int64
		what string
	}{
		{sum.Captures, "captures read"},
		{sum.Bad, "records could not be used"},
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
		if _, err := fmt.Fprintf(a.stdout, "%12s  %s\n", humanize.Comma(l.n), l.what); err != nil {
			return err
		}
	}
	return nil
}

// plural counts things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}
