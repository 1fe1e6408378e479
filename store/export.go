package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// exportPage is how many sites are read at once while histories are walked.
const exportPage = 100

// WalkHistories walks all that was seen of sites, those that left the
// configuration too, in order of origin; origin limits it to one site. Sites
// of which nothing was seen are left out. After an error it ends.
func (s *Store) WalkHistories(ctx context.Context, origin string) iter.Seq2[watcher.History, error] {
	return func(yield func(watcher.History, error) bool) {
		for after, more := "", true; more; {
			page, active, err := s.anySites(ctx, after, origin)
			if err != nil {
				yield(watcher.History{}, fmt.Errorf("histories: %w", err))
				return
			}
			more = len(page) == exportPage
			for i, site := range page {
				after = site.Origin
				runs, err := s.Observations(ctx, site.Origin, time.Time{}, time.Time{}, 0)
				if len(runs) == 0 && err == nil {
					continue
				}
				slices.Reverse(runs)
				if !yield(watcher.History{Site: site, Active: active[i], Runs: runs}, err) || err != nil {
					return
				}
			}
		}
	}
}

// anySites reads the next sites in order of origin, active or not.
func (s *Store) anySites(ctx context.Context, after, origin string) (page []watcher.Site, active []bool, err error) {
	rows, err := s.Query(ctx, "SELECT "+siteColumns+", sites.active FROM sites WHERE origin > $1 AND ($2 = '' OR origin = $2)"+
		fmt.Sprintf(" ORDER BY origin LIMIT %d", exportPage), after, origin)
	if err != nil {
		return nil, nil, err
	}
	var got []siteRow
	if err := each(rows, func(scan Scan) error {
		var r siteRow
		var is int64
		err := r.scan(scan, &is)
		got, active = append(got, r), append(active, is != 0)
		return err
	}); err != nil {
		return nil, nil, err
	}
	for i := range got {
		if err := s.complete(ctx, s, &got[i]); err != nil {
			return nil, nil, err
		}
		page = append(page, got[i].site)
	}
	return page, active, nil
}

// ExportChanges walks all changes from a time on, cosmetic ones too, oldest
// first; origin limits it to one site. After an error it ends.
func (s *Store) ExportChanges(ctx context.Context, since time.Time, origin string) iter.Seq2[watcher.Change, error] {
	return func(yield func(watcher.Change, error) bool) {
		after := []byte{}
		if !since.IsZero() {
			after = idBound(since)
		}
		for first := true; ; first = false {
			page, err := s.changesAfter(ctx, after, first, origin)
			if err != nil {
				yield(watcher.Change{}, fmt.Errorf("changes: %w", err))
				return
			}
			for _, c := range page {
				after, _ = changeKey(c.ID)
				if !yield(c, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

func (s *Store) changesAfter(ctx context.Context, key []byte, including bool, origin string) (page []watcher.Change, err error) {
	than := ">"
	if including {
		than = ">="
	}
	return s.queryChanges(ctx, (*changeRow).change, "SELECT "+changeColumns+" FROM changes WHERE id "+than+
		" $1 AND ($2 = '' OR site_id = (SELECT id FROM sites WHERE origin = $2))"+
		fmt.Sprintf(" ORDER BY id LIMIT %d", pageSize), key, origin)
}
