package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
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
	var latest []byte
	for range recordTries {
		if rec.Changes, err = s.siteChanges(ctx, site.Origin); err != nil {
			return rec, err
		}
		if rec.Runs, err = s.Observations(ctx, site.Origin, time.Time{}, time.Time{}, 0); err != nil {
			return rec, err
		}
		slices.Reverse(rec.Runs)
		err = s.QueryRow(ctx, "SELECT id FROM changes WHERE site_id = (SELECT id FROM sites WHERE origin = $1) ORDER BY id DESC LIMIT 1", site.Origin).Scan(&latest)
		if errors.Is(err, sql.ErrNoRows) {
			latest, err = nil, nil
		}
		if err != nil {
			return rec, fmt.Errorf("changes of %s: %w", site.Origin, err)
		}
		var last []byte
		if n := len(rec.Changes); n > 0 {
			last, _ = changeKey(rec.Changes[n-1].ID)
		}
		if bytes.Equal(last, latest) {
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

// updateChange takes what changeArgs gives.
const updateChange = `UPDATE changes SET severity = $4, watched = $5, backfill = $6, agents_id = $7, before_id = $8, after_id = $9,
	data = $10 WHERE id = $1 AND site_id = $2 AND kind = $3`

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
		missing, different := slices.Clone(r.Missing), make([]watcher.Change, len(r.Different))
		for i := range missing {
			missing[i].Backfilled = true
		}
		for i := range r.Different {
			different[i] = r.Different[i].Now
		}
		for _, part := range []struct {
			changes []watcher.Change
			rows    *[][]any
		}{{missing, &adds}, {different, &updates}} {
			rows, err := s.changeRows(ctx, tx, id, part.changes)
			if err != nil {
				return err
			}
			*part.rows = append(*part.rows, rows...)
		}
		for _, c := range r.Extra {
			key, ok := changeKey(c.ID)
			if !ok {
				return fmt.Errorf("%s: %q is no id of a change", r.Origin, c.ID)
			}
			removes = append(removes, []any{key})
		}
	}
	if err := insertChanges(ctx, tx, adds); err != nil {
		return err
	}
	for _, step := range []struct {
		query string
		rows  [][]any
	}{
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

// changeRows is changeArgs for changes of a site that are not packed yet.
func (s *Store) changeRows(ctx context.Context, tx *Tx, siteID int64, list []watcher.Change) ([][]any, error) {
	packed, err := packChanges(list)
	if err != nil {
		return nil, err
	}
	var told []watcher.Hash
	for i := range packed {
		told = append(told, packed[i].before, packed[i].after)
	}
	bodies, err := bodyIDs(ctx, tx, nil, told)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(packed))
	for i := range packed {
		if rows[i], err = s.changeArgs(ctx, tx, siteID, &packed[i], bodies); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
