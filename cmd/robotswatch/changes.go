package main

import (
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/watcher"
)

func (a *app) changesCommand() *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use:     "changes",
		Short:   "List recorded changes, newest first",
		Long:    "Lists recorded changes, newest first, cosmetic ones too unless --kind leaves them out.",
		Example: "  robotswatch changes --agent GPTBot --since 7d",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := q.check(); err != nil {
				return err
			}
			filter := watcher.ChangeFilter{Tag: q.tag, Kinds: typed[watcher.Kind](q.kinds), Cosmetic: true}
			now, err := time.Now(), error(nil)
			if filter.Since, err = parseMoment("since", q.since, now); err != nil {
				return err
			}
			if filter.Until, err = parseMoment("until", q.until, now); err != nil {
				return err
			}
			lib, err := a.openLibrary(cmd.Context())
			if err != nil {
				return err
			}
			defer lib.store.Close()
			if err := lib.known(cmd.Context(), &q, false); err != nil {
				return err
			}
			if filter.Site, filter.Agent = q.site, q.agent; q.agent != "" {
				if err := knownAgent(cmd.Context(), lib.store, lib.judge, q.agent); err != nil {
					return err
				}
			}
			return changeTable.write(a.stdout, q.format, limited(a, &q, lib.linked(lib.store.WalkChanges(cmd.Context(), filter))))
		},
	}
	q.add(cmd, "site", "agent", "tag", "kind", "since", "until")
	return cmd
}

// linked fills in the pages of changes.
func (l *library) linked(changes iter.Seq2[watcher.Change, error]) iter.Seq2[watcher.Change, error] {
	return func(yield func(watcher.Change, error) bool) {
		for c, err := range changes {
			c.Link = l.links.Change(c.ID)
			if !yield(c, err) {
				return
			}
		}
	}
}

var changeTable = table[watcher.Change]{
	header: []string{"at", "site", "kind", "severity", "summary", "cause", "agents", "id"},
	cells: func(c watcher.Change) []string {
		names := make([]string, len(c.Agents))
		for i, x := range c.Agents {
			names[i] = x.Agent
		}
		return []string{moment(c.At), c.Site, string(c.Kind), string(c.Severity), c.Summary, string(c.Cause), strings.Join(names, " "), c.ID}
	},
}
