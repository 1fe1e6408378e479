package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// siteRow is a site as "sites" shows it.
type siteRow struct {
	Site       string                `json:"site"`
	Tags       []string              `json:"tags"`
	State      fetch.State           `json:"state"`
	Reason     fetch.Reason          `json:"reason"`
	StateSince *time.Time            `json:"state_since"`
	ReadableAt *time.Time            `json:"readable_at"`
	SHA256     string                `json:"sha256"`
	LastCheck  *time.Time            `json:"last_check_at"`
	LastChange *time.Time            `json:"last_change_at"`
	NextCheck  *time.Time            `json:"next_check_at"`
	Agents     []watcher.AgentAccess `json:"agents"`
}

func (a *app) sitesCommand() *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use:   "sites",
		Short: "List the watched sites and how they are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := q.check(); err != nil {
				return err
			}
			lib, err := a.openLibrary(cmd.Context())
			if err != nil {
				return err
			}
			defer lib.store.Close()
			if err := lib.known(cmd.Context(), &q, true); err != nil {
				return err
			}
			sites := lib.store.WalkSites(cmd.Context(), watcher.SiteFilter{Origin: q.site, Tag: q.tag})
			return siteTable.write(a.stdout, q.format, lib.siteRows(limited(a, &q, sites)))
		},
	}
	q.add(cmd, "site", "tag")
	return cmd
}

var siteTable = table[siteRow]{
	header: []string{"site", "state", "reason", "state_since", "last_check_at", "last_change_at", "blocked", "restricted", "partial", "tags"},
	cells: func(r siteRow) []string {
		by := map[diff.Level]int{}
		for _, x := range r.Agents {
			by[x.Level]++
		}
		return []string{r.Site, string(r.State), string(r.Reason), when(r.StateSince), when(r.LastCheck), when(r.LastChange),
			fmt.Sprint(by[diff.Blocked]), fmt.Sprint(by[diff.Restricted]), fmt.Sprint(by[diff.Partial]), strings.Join(r.Tags, ",")}
	},
}

func when(t *time.Time) string {
	if t == nil {
		return ""
	}
	return moment(*t)
}

func (l *library) siteRows(sites iter.Seq2[watcher.Site, error]) iter.Seq2[siteRow, error] {
	return func(yield func(siteRow, error) bool) {
		for s, err := range sites {
			row := siteRow{
				Site: s.Origin, Tags: append([]string{}, s.Config.Tags...), State: s.State, Reason: s.Reason,
				StateSince: optional(s.StateSince), ReadableAt: optional(s.ReadableAt), SHA256: s.Body.String(),
				LastCheck: optional(s.LastCheckAt), LastChange: optional(s.LastChangeAt), NextCheck: optional(s.NextCheckAt),
			}
			if err == nil {
				row.Agents = l.effective(s)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
