package store

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

// WalkRecords implements history.Records.
func (s *Store) WalkRecords(ctx context.Context, origin, after string) iter.Seq2[history.Record, error] {
	return func(yield func(history.Record, error) bool) {
		for more := true; more; {
			page, active, err := s.anySites(ctx, after, origin)
			if err != nil {
				yield(history.Record{}, fmt.Errorf("records of sites: %w", err))
				return
			}
			more = len(page) == exportPage
			for i, site := range page {
				after = site.Origin
				rec, err := s.recordOf(ctx, site)
				rec.Active = active[i]
				if err == nil && len(rec.Runs) == 0 {
					continue
				}
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
}

// recordTries is how often a record is read whose site changes meanwhile: a
// look is hours away from the next one.
const recordTries = 5

// recordOf reads runs and changes that belong together, beside looks, without
// holding a transaction open.
func (s *Store) recordOf(ctx context.Context, site watcher.Site) (rec history.Record, err error) {
	rec.Config = site.Config
	rec.Config.Origin = site.Origin
	latest := ""
	for range recordTries {
		if rec.Changes, err = s.siteChanges(ctx, site.Origin); err != nil {
			return rec, err
		}
		if rec.Runs, err = s.Observations(ctx, site.Origin, time.Time{}, time.Time{}, 0); err != nil {
			return rec, err
		}
		slices.Reverse(rec.Runs)
		err = s.QueryRow(ctx, "SELECT coalesce(max(id), '') FROM changes WHERE site_id = (SELECT id FROM sites WHERE origin = $1)", site.Origin).Scan(&latest)
		if err != nil {
			return rec, fmt.Errorf("changes of %s: %w", site.Origin, err)
		}
		if n := len(rec.Changes); latest == "" && n == 0 || n > 0 && rec.Changes[n-1].ID == latest {
			return rec, nil
		}
	}
	return rec, fmt.Errorf("%s changes faster than it can be read", site.Origin)
}

func (s *Store) siteChanges(ctx context.Context, origin string) (list []watcher.Change, err error) {
	for c, err := range s.ExportChanges(ctx, time.Time{}, origin) {
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// Correct implements history.Records.
func (s *Store) Correct(ctx context.Context, sites []*history.Retelling) error {
	if err := s.Write(ctx, func(tx *Tx) error { return s.correct(ctx, tx, sites) }); err != nil {
		return fmt.Errorf("record what was told again: %w", err)
	}
	return nil
}

// updateChange takes what insertChange does.
const updateChange = `UPDATE changes SET severity = $5, watched = $6, agents_id = $7, data = $8
	WHERE id = $1 AND site_id = $2 AND at = $3 AND kind = $4`

func (s *Store) correct(ctx context.Context, tx *Tx, sites []*history.Retelling) error {
	var adds, updates, removes [][]any
	for _, r := range sites {
		var id, was int64
		err := tx.QueryRow(ctx, `SELECT id, (SELECT count(*) FROM observations WHERE site_id = sites.id AND backfill > 0)
			FROM sites WHERE origin = $1`, r.Origin).Scan(&id, &was)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Origin, err)
		}
		if was != int64(r.Was) {
			return fmt.Errorf("%s: %w", r.Origin, ErrBackfilledMeanwhile)
		}
		for i := range r.Missing {
			c := r.Missing[i]
			c.Backfilled = true
			row, err := s.changeRow(ctx, tx, id, &c)
			if err != nil {
				return err
			}
			adds = append(adds, row)
		}
		for i := range r.Different {
			row, err := s.changeRow(ctx, tx, id, &r.Different[i].Now)
			if err != nil {
				return err
			}
			updates = append(updates, row)
		}
		for _, c := range r.Extra {
			removes = append(removes, []any{c.ID})
		}
	}
	for _, step := range []struct {
		query string
		rows  [][]any
	}{
		{insertChange, adds},
		{updateChange, updates},
		{"DELETE FROM deliveries WHERE change_id = $1", removes},
		{"DELETE FROM changes WHERE id = $1", removes},
	} {
		if _, err := tx.ExecMany(ctx, step.query, step.rows); err != nil {
			return err
		}
	}
	return nil
}
