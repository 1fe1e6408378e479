package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/history"
)

// exportWARC writes what was seen as a web archive.
func (a *app) exportWARC(ctx context.Context, f exportFlags) (err error) {
	now := time.Now()
	since, err := parseMoment("since", f.since, now)
	if err != nil {
		return err
	}
	lib, err := a.openLibrary(ctx)
	if err != nil {
		return err
	}
	defer lib.store.Close()
	site := ""
	if f.site != "" {
		if site, err = lib.knownSite(ctx, f.site, false); err != nil {
			return fmt.Errorf("--site: %w", err)
		}
	}
	return a.deliver(f.out, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 256<<10)
		out, err := history.NewWARCWriter(buffered, strings.HasSuffix(f.out, ".gz"), "robotswatch "+buildVersion(), now, lib.store, lib.judge.Settings().Confirm)
		if err != nil {
			return err
		}
		for h, err := range lib.store.WalkHistories(ctx, site) {
			if err != nil {
				return err
			}
			for i := range h.Runs {
				if h.Runs[i].LastAt.Before(since) {
					continue
				}
				if err := out.Run(ctx, h.Site.Origin, &h.Runs[i]); err != nil {
					return err
				}
			}
		}
		return buffered.Flush()
	})
}
