package main

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/lint"
	"github.com/robotswatch/robotswatch/watcher"
)

// inertRow is a group of a watched site that binds nobody any more.
type inertRow struct {
	Site string `json:"site"`
	lint.Inert
	Evaded bool `json:"evaded"`
}

var inertTable = table[inertRow]{
	header: []string{"site", "agent", "line", "access", "successors", "evaded"},
	cells: func(r inertRow) []string {
		now := make([]string, len(r.Successors))
		for i, s := range r.Successors {
			now[i] = fmt.Sprintf("%s %s", s.Agent, s.Access)
		}
		return []string{r.Site, r.Token, strconv.Itoa(r.Line), string(r.Access), strings.Join(now, ", "), map[bool]string{true: "yes", false: "no"}[r.Evaded]}
	},
}

// inert lists the rules on watched sites that went inert.
func (a *app) inert(ctx context.Context, format string) error {
	lib, err := a.openLibrary(ctx)
	if err != nil {
		return err
	}
	defer lib.store.Close()
	return inertTable.write(a.stdout, format, lib.inertRows(ctx))
}

func (l *library) inertRows(ctx context.Context) iter.Seq2[inertRow, error] {
	return func(yield func(inertRow, error) bool) {
		for site, err := range l.store.WalkSites(ctx, watcher.SiteFilter{}) {
			var text []byte
			if err == nil && site.Readable == fetch.Policy {
				text, err = l.store.Body(ctx, site.Body)
			}
			if err != nil {
				yield(inertRow{}, err)
				return
			}
			for _, i := range lint.InertGroups(text, l.judge.Settings().Catalogue) {
				if !yield(inertRow{site.Origin, i, i.Evaded()}, nil) {
					return
				}
			}
		}
	}
}
