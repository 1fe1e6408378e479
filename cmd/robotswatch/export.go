package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/dataset"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

// exportFlags are those of export.
type exportFlags struct {
	format, out, since, site, gap string
	agents                        []string
	partition                     bool
}

// tables are what export knows.
var tables = []string{"observations", "policies", "changes", warcTable}

// warcTable is no table: what was seen, as a web archive.
const warcTable = "warc"

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export observations|policies|changes|warc",
		Short: "Write what is known as a table (CSV, JSON Lines, Parquet) or as a web archive",
		Long: `Writes what is known as a table for notebooks. observations: runs of equal
answers. policies: when each agent had which access to each site, with the line
that decided. changes: the change events. docs/datasets.md describes the columns.
warc: what was seen as a web archive (WARC 1.1, each record packed where the
name of --out ends in .gz), which "backfill warc" reads to the same end.`,
		Example: "  robotswatch export policies --format parquet --out policies.parquet\n" +
			"  robotswatch export changes --format parquet --out changes --partition --since 7d\n" +
			"  robotswatch export warc --out seen.warc.gz",
		Args: cobra.ExactArgs(1), ValidArgs: tables,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(tables, args[0]) {
				return fmt.Errorf("export %q: allowed are %s", args[0], strings.Join(tables, ", "))
			}
			if args[0] == warcTable {
				for _, name := range []string{"format", "partition", "agent", "gap"} {
					if cmd.Flags().Changed(name) {
						return fmt.Errorf("export warc takes no --%s", name)
					}
				}
				return a.exportWARC(cmd.Context(), f)
			}
			return a.export(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "", "csv, jsonl or parquet (default: as the name of --out ends, else csv)")
	fl.StringVar(&f.out, "out", "-", "`file` to write, - for standard output; with --partition a directory")
	fl.StringVar(&f.since, "since", "", "only what reaches to this `time` or begins later: 2026-05-01, 2026-05-01T12:00:00Z, or 7d")
	fl.BoolVar(&f.partition, "partition", false, "a file a day, in directories day=2026-05-01")
	fl.StringVar(&f.site, "site", "", "only this `site`")
	fl.StringSliceVar(&f.agents, "agent", nil, "policies of these product `tokens` or groups (default: those watched on each site)")
	fl.StringVar(&f.gap, "gap", fmt.Sprintf("%dd", history.DefaultGap/(24*time.Hour)), "policies: an answer is known to go on when it is seen again within this `duration`")
	return cmd
}

// exporter is one export.
type exporter struct {
	lib    *library
	format dataset.Format
	flags  exportFlags
	since  time.Time
	gap    time.Duration
	from   dataset.Origin
	agents []diff.Agent // nil: those watched
	rows   int
	log    *slog.Logger
}

func (a *app) export(ctx context.Context, name string, f exportFlags) (err error) {
	e := exporter{flags: f, log: a.logger()}
	if f.format == "" {
		f.format = strings.TrimPrefix(filepath.Ext(f.out), ".")
		if f.format == "" || f.partition {
			f.format = string(dataset.CSV)
		}
	}
	if e.format, err = dataset.ParseFormat(f.format); err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	if f.partition && f.out == "-" {
		return errors.New("--partition needs --out with a directory")
	}
	if e.since, err = parseMoment("since", f.since, time.Now()); err != nil {
		return err
	}
	if f.partition && !e.since.IsZero() {
		e.since = e.since.Truncate(24 * time.Hour) // days are written whole
	}
	if e.gap, err = config.ParseDuration(f.gap); err != nil {
		return fmt.Errorf("--gap: %w", err)
	}
	if e.lib, err = a.openLibrary(ctx); err != nil {
		return err
	}
	defer e.lib.store.Close()
	if f.site != "" {
		if e.flags.site, err = e.lib.knownSite(ctx, f.site, false); err != nil {
			return fmt.Errorf("--site: %w", err)
		}
	}
	catalogue := e.lib.judge.Settings().Catalogue
	e.from = dataset.Origin{Catalogue: catalogue.Version, Engine: buildVersion()}
	if len(f.agents) > 0 {
		list, err := catalogue.Expand(f.agents)
		if err != nil {
			return fmt.Errorf("--agent: %w", err)
		}
		for _, x := range list {
			e.agents = append(e.agents, watcher.AgentOf(x))
		}
	}
	switch name {
	case "observations":
		return writeTable(a.stdout, &e, name, dataset.ObservationsSchema, dataset.NewWriter[dataset.Observation],
			func(r dataset.Observation) time.Time { return r.FirstAt }, func(write func(dataset.Observation) error) error { return e.observations(ctx, write) })
	case "policies":
		return writeTable(a.stdout, &e, name, dataset.PoliciesSchema, dataset.NewWriter[dataset.Policy],
			func(r dataset.Policy) time.Time { return r.ValidFrom }, func(write func(dataset.Policy) error) error { return e.policies(ctx, write) })
	}
	return writeTable(a.stdout, &e, name, dataset.ChangesSchema, dataset.NewChangeWriter,
		func(r dataset.Change) time.Time { return r.At }, func(write func(dataset.Change) error) error { return e.changes(ctx, write) })
}

// writeTable puts rows where they shall go.
func writeTable[R any](stdout io.Writer, e *exporter, name, schema string, open func(io.Writer, dataset.Format, dataset.About) dataset.Writer[R],
	day func(R) time.Time, rows func(write func(R) error) error) (err error) {
	about := dataset.About{Schema: schema, Origin: e.from}
	begin := func(w io.Writer) dataset.Writer[R] { return open(w, e.format, about) }
	whole := func(w io.Writer) error {
		out := begin(w)
		err := rows(func(row R) error {
			e.rows++
			return out.Write(row)
		})
		if err != nil {
			return err
		}
		return out.Close()
	}
	if e.flags.out == "-" {
		return whole(stdout)
	}
	defer func() {
		if err == nil {
			e.log.Info("exported", "table", name, "rows", e.rows, "to", e.flags.out)
		}
	}()
	if !e.flags.partition {
		return dataset.File(e.flags.out, whole)
	}
	days, err := dataset.NewDays(e.flags.out, name+"."+string(e.format), day, begin)
	if err != nil {
		return err
	}
	err = rows(func(row R) error {
		if day(row).Before(e.since) {
			return nil // of a day that is not written
		}
		e.rows++
		return days.Write(row)
	})
	if err != nil {
		return errors.Join(err, days.Drop())
	}
	return days.Close()
}

func (e *exporter) observations(ctx context.Context, write func(dataset.Observation) error) error {
	for h, err := range e.lib.store.WalkHistories(ctx, e.flags.site) {
		if err != nil {
			return err
		}
		for _, o := range h.Runs {
			if o.LastAt.Before(e.since) {
				continue
			}
			if err := write(dataset.ObservationRow(h.Site.Origin, o, e.from)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) policies(ctx context.Context, write func(dataset.Policy) error) error {
	p := dataset.Policies{Judge: e.lib.judge, Bodies: e.lib.store, Agents: e.agents, Gap: e.gap, From: e.from}
	for h, err := range e.lib.store.WalkHistories(ctx, e.flags.site) {
		if err != nil {
			return err
		}
		rows, err := p.Rows(ctx, h)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.ValidTo != nil && row.ValidTo.Before(e.since) {
				continue
			}
			if err := write(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) changes(ctx context.Context, write func(dataset.Change) error) error {
	for c, err := range e.lib.store.ExportChanges(ctx, e.since, e.flags.site) {
		if err != nil {
			return err
		}
		c.Link = e.lib.links.Change(c.ID)
		if err := write(dataset.Change{Change: c, Origin: e.from}); err != nil {
			return err
		}
	}
	return nil
}
