package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// replaySchema of a replayRow.
const replaySchema = "robotswatch.replay/v1"

// replayRow is a line of the JSON output: a change that differs.
type replayRow struct {
	Schema  string          `json:"schema"`
	Site    string          `json:"site"`
	Verdict string          `json:"verdict"` // missing, different, extra; failed for a site
	What    []string        `json:"what,omitempty"`
	Stored  *watcher.Change `json:"stored"` // null when it is missing
	Now     *watcher.Change `json:"now"`    // null when it is extra
	Written bool            `json:"written"`
}

type replayFlags struct {
	write        bool
	site, format string
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Tell all changes again from what was seen, and show what would differ",
		Long: `Derives the changes of all sites again from the stored observations, with
today's catalogue, configuration and engine, and shows those that would differ:
missing ones, ones told otherwise, extra ones.

Nothing is written without --write. With it the changes become those that are
told now: missing ones are marked as backfilled, agents that were not watched
then are added to the changes that touch them, and nothing is sent. It may run
beside a daemon, and may be interrupted and run again; run twice it changes
nothing. Live looks are not kept one by one: what needed confirmation, or
belongs to a flapping site, is not taken away.

Exit code 1 when something differs that was not written.`,
		Example: "  robotswatch replay --site example.com\n  robotswatch replay --write",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.format != "text" && f.format != "json" {
				return fmt.Errorf("--format %q: allowed are text and json", f.format)
			}
			return a.replay(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.write, "write", false, "record what differs")
	cmd.Flags().StringVar(&f.site, "site", "", "only this `site`")
	cmd.Flags().StringVar(&f.format, "format", "text", "text, or json (one object for each change that differs)")
	return cmd
}

func (a *app) replay(ctx context.Context, f replayFlags) (err error) {
	if f.site != "" {
		if f.site, err = config.NormalizeOrigin(f.site); err != nil {
			return fmt.Errorf("--site: %w", err)
		}
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	catalogue, err := agents.Load()
	if err != nil {
		return err
	}
	judge, err := watcher.NewJudge(judgeSettings(cfg, catalogue))
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, cfg.Store.URL.Reveal(), store.Options{ReadOnly: !f.write})
	if err != nil {
		return err
	}
	defer s.Close()
	told := replayTeller{out: a.stdout, json: f.format == "json", written: f.write}
	n, err := history.Replay(ctx, history.ReplayOptions{
		Judge: judge, Store: s, Origin: f.site, Write: f.write, Tell: told.tell, Done: replayLines(a.logger(), time.Now),
	})
	if err != nil {
		return err
	}
	if f.site != "" && n.Sites == 0 {
		return fmt.Errorf("nothing was seen of %s yet", f.site)
	}
	if err := told.sum(n); err != nil {
		return err
	}
	if n.Failed > 0 {
		return fmt.Errorf("%s could not be replayed; robotswatch store check tells what is wrong", plural(n.Failed, "site", "sites"))
	}
	if n.Differences() > 0 && !f.write {
		return errAnswer
	}
	return nil
}

// replayLines logs now and then how far a replay has come.
func replayLines(log *slog.Logger, now func() time.Time) func(sites int) {
	began := now()
	last := began
	return func(sites int) {
		if at := now(); at.Sub(last) >= meterLine {
			last = at
			log.Info("replaying", "sites", sites, "per_second", int64(float64(sites)/at.Sub(began).Seconds()))
		}
	}
}

// replayTeller says what differs.
type replayTeller struct {
	out     io.Writer
	json    bool
	written bool
}

func (t *replayTeller) tell(r *history.Retelling) error {
	if !t.json {
		if _, err := fmt.Fprintln(t.out, r.Origin); err != nil {
			return err
		}
	}
	if r.Failed != nil {
		return t.failed(r)
	}
	for i := range r.Missing {
		if err := t.row(r.Origin, "missing", nil, &r.Missing[i], nil); err != nil {
			return err
		}
	}
	for i := range r.Different {
		d := &r.Different[i]
		if err := t.row(r.Origin, "different", &d.Stored, &d.Now, d.What); err != nil {
			return err
		}
	}
	for i := range r.Extra {
		if err := t.row(r.Origin, "extra", &r.Extra[i], nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (t *replayTeller) failed(r *history.Retelling) error {
	if t.json {
		enc := json.NewEncoder(t.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(replayRow{Schema: replaySchema, Site: r.Origin, Verdict: "failed", What: []string{r.Failed.Error()}})
	}
	_, err := fmt.Fprintf(t.out, "  cannot be replayed: %s\n", visible.Short(r.Failed.Error(), 2*maxCell))
	return err
}

func (t *replayTeller) row(site, verdict string, stored, now *watcher.Change, what []string) error {
	if t.json {
		enc := json.NewEncoder(t.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(replayRow{replaySchema, site, verdict, what, stored, now, t.written})
	}
	c := cmp.Or(now, stored)
	text := visible.Short(c.Summary, maxCell)
	if len(what) > 0 {
		text += " (" + visible.Short(strings.Join(what, ", "), maxCell) + ")"
	}
	_, err := fmt.Fprintf(t.out, "  %-20s  %-9s  %-11s  %s\n", moment(c.At), verdict, c.Kind, text)
	return err
}

// sum ends the text with the verdict.
func (t *replayTeller) sum(n history.Replayed) error {
	if t.json {
		return nil
	}
	if n.Differ+n.Failed > 0 {
		fmt.Fprintln(t.out) // the next one reports what fails
	}
	line := plural(n.Told, "change is", "changes are") + " as " + map[bool]string{true: "it", false: "they"}[n.Told == 1] + " would be told today"
	if n.Differences() > 0 {
		line = fmt.Sprintf("%s on %s: %d missing, %d different, %d extra; %s",
			plural(n.Differences(), "difference", "differences"), plural(n.Differ, "site", "sites"), n.Missing, n.Different, n.Extra, line)
		if t.written {
			line += "\nAll of it was recorded. Nothing was sent"
		} else {
			line += "\nNothing was written: --write records it"
		}
	} else {
		line = "Nothing differs: " + line + " (" + plural(n.Sites, "site", "sites") + ")"
	}
	_, err := fmt.Fprintln(t.out, line+".")
	return err
}
