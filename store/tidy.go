package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"
)

const (
	tidyPeriod = 24 * time.Hour // between two cleanings of a store
	tidyLook   = 15 * time.Minute
	tidyPage   = 2000 // rows or sites that one transaction of a cleaning touches
	// bodyGrace is how long a body stays that nothing refers to: longer than
	// any transaction that is about to refer to it.
	bodyGrace = 24 * time.Hour
	// sentKept is how long deliveries that were sent are remembered.
	sentKept = 90 * 24 * time.Hour
	// expectedKept is how long expectations that ran out are remembered.
	expectedKept = 30 * 24 * time.Hour
	// vacuumStep is how many pages one step gives back to the file system, and
	// vacuumFrom how many free ones are left alone.
	vacuumStep = 256
	vacuumFrom = 2048
)

// Tidied counts what a cleaning removed.
type Tidied struct {
	Observations, Bodies, Deliveries, Expectations, Counts int64
	Pages                                                  int64 // given back to the file system
}

// TidyUp cleans the store once a day, on one of all daemons, until ctx ends:
// see Tidy.
func (s *Store) TidyUp(ctx context.Context, retention time.Duration, log *slog.Logger) {
	tick := time.NewTicker(tidyLook)
	defer tick.Stop()
	for {
		var did Tidied
		began := time.Now()
		ran, err := s.Once(ctx, "tidy", began, tidyPeriod, func(ctx context.Context) (err error) {
			did, err = s.Tidy(ctx, s.Now(), retention)
			return err
		})
		switch {
		case err != nil && ctx.Err() == nil:
			log.Error("cannot clean the store", "error", err)
		case ran && err == nil:
			log.Info("store cleaned", "observations", did.Observations, "bodies", did.Bodies, "deliveries", did.Deliveries,
				"pages", did.Pages, "took", time.Since(began).Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Tidy removes observations that ended more than a retention ago (0: none),
// bodies that nothing refers to any more, deliveries that were sent long ago,
// and counts that are zero. It works in small transactions, beside checks.
func (s *Store) Tidy(ctx context.Context, now time.Time, retention time.Duration) (did Tidied, err error) {
	if retention > 0 {
		if did.Observations, err = s.dropObservations(ctx, now.Add(-retention)); err != nil {
			return did, fmt.Errorf("drop observations: %w", err)
		}
	}
	if did.Observations > 0 {
		if did.Bodies, err = s.dropBodies(ctx, now.Add(-bodyGrace)); err != nil {
			return did, fmt.Errorf("drop bodies: %w", err)
		}
	}
	if did.Deliveries, err = s.dropSent(ctx, now.Add(-sentKept)); err != nil {
		return did, fmt.Errorf("drop deliveries: %w", err)
	}
	err = s.Write(ctx, func(tx *Tx) error {
		did.Counts, did.Expectations = 0, 0
		for _, d := range []struct {
			query string
			args  []any
			n     *int64
		}{
			{"DELETE FROM standings WHERE sites = 0", nil, &did.Counts},
			{"DELETE FROM standings_daily WHERE sites = 0 AND day < $1", []any{dayOf(now)}, &did.Counts},
			{"DELETE FROM expectations WHERE until < $1", []any{toMillis(now.Add(-expectedKept))}, &did.Expectations},
		} {
			n, err := tx.Exec(ctx, d.query, d.args...)
			if err != nil {
				return err
			}
			*d.n += n
		}
		return nil
	})
	if err != nil {
		return did, fmt.Errorf("drop counts: %w", err)
	}
	if did.Pages, err = s.vacuum(ctx); err != nil {
		return did, fmt.Errorf("vacuum: %w", err)
	}
	return did, nil
}

// byPages walks a table by its id and runs fn for each range (after, upTo].
func (s *Store) byPages(ctx context.Context, table string, fn func(after, upTo int64) (more bool, err error)) error {
	for after := int64(0); ; {
		var upTo sql.NullInt64
		err := s.QueryRow(ctx, "SELECT max(id) FROM (SELECT id FROM "+table+" WHERE id > $1 ORDER BY id LIMIT $2) page", after, tidyPage).Scan(&upTo)
		if err != nil || !upTo.Valid {
			return err
		}
		more, err := fn(after, upTo.Int64)
		if err != nil || !more {
			return err
		}
		after = upTo.Int64
	}
}

func (s *Store) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = s.Write(ctx, func(tx *Tx) (err error) {
		n, err = tx.Exec(ctx, query, args...)
		return err
	})
	return n, err
}

// dropBodies removes bodies that neither a site nor an observation refers to
// and nothing has newly referred to since a time. Of those that changes name the
// hash stays.
func (s *Store) dropBodies(ctx context.Context, unseenSince time.Time) (dropped int64, err error) {
	used, err := s.bodiesIn(ctx, `SELECT body_id FROM sites WHERE id > $1 AND id <= $2
		UNION SELECT body_id FROM observations WHERE site_id > $1 AND site_id <= $2`)
	if err != nil {
		return 0, err
	}
	named, err := s.bodiesIn(ctx, `SELECT before_id FROM changes WHERE site_id > $1 AND site_id <= $2
		UNION SELECT after_id FROM changes WHERE site_id > $1 AND site_id <= $2`)
	if err != nil {
		return 0, err
	}
	err = s.byPages(ctx, "bodies", func(after, upTo int64) (bool, error) {
		rows, err := s.Query(ctx, "SELECT id FROM bodies WHERE id > $1 AND id <= $2 AND seen_at < $3 AND length(data) > 0", after, upTo, toMillis(unseenSince))
		if err != nil {
			return false, err
		}
		var doomed, hollow [][]any
		if err := each(rows, func(scan Scan) error {
			var id int64
			err := scan(&id)
			switch args := []any{id, toMillis(unseenSince)}; {
			case used.has(id):
			case named.has(id):
				hollow = append(hollow, append(args, []byte{}))
			default:
				doomed = append(doomed, args)
			}
			return err
		}); err != nil || len(doomed)+len(hollow) == 0 {
			return true, err
		}
		var n int64
		err = s.Write(ctx, func(tx *Tx) error {
			n = 0
			// seen_at again: somebody may refer to it since it was read.
			for _, d := range []struct {
				query string
				rows  [][]any
			}{
				{"DELETE FROM bodies WHERE id = $1 AND seen_at < $2", doomed},
				{"UPDATE bodies SET size = 0, data = $3 WHERE id = $1 AND seen_at < $2", hollow},
			} {
				touched, err := tx.ExecMany(ctx, d.query, d.rows)
				if err != nil {
					return err
				}
				for _, t := range touched {
					n += t
				}
			}
			return nil
		})
		dropped += n
		return true, err
	})
	return dropped, err
}

// bitmap is a set of ids.
type bitmap []uint64

func (b *bitmap) add(id int64) {
	i := int(id / 64)
	for len(*b) <= i {
		*b = append(*b, make([]uint64, max(1024, i+1-len(*b)))...)
	}
	(*b)[i] |= 1 << (id % 64)
}

func (b bitmap) has(id int64) bool {
	i := int(id / 64)
	return id >= 0 && i < len(b) && b[i]>>(id%64)&1 == 1
}

// bodiesIn gives the bodies that a query names, asked for a page of sites at a
// time.
func (s *Store) bodiesIn(ctx context.Context, query string) (found bitmap, err error) {
	err = s.byPages(ctx, "sites", func(after, upTo int64) (bool, error) {
		rows, err := s.Query(ctx, query, after, upTo)
		if err != nil {
			return false, err
		}
		return true, each(rows, func(scan Scan) error {
			var id int64
			err := scan(&id)
			found.add(id)
			return err
		})
	})
	return found, err
}

// dropSent removes deliveries that were sent before a time.
func (s *Store) dropSent(ctx context.Context, before time.Time) (dropped int64, err error) {
	err = s.byPages(ctx, "deliveries", func(after, upTo int64) (bool, error) {
		n, err := s.exec(ctx, "DELETE FROM deliveries WHERE id > $1 AND id <= $2 AND status = 'sent' AND done_at < $3",
			after, upTo, toMillis(before))
		if err != nil {
			return false, err
		}
		dropped += n
		var created sql.NullInt64 // of the newest one: later pages are newer still
		err = s.QueryRow(ctx, "SELECT max(created_at) FROM deliveries WHERE id > $1 AND id <= $2", after, upTo).Scan(&created)
		return !created.Valid || created.Int64 < toMillis(before), err
	})
	return dropped, err
}

// vacuum gives free pages of a SQLite file back, a few at a time; PostgreSQL
// does so by itself.
func (s *Store) vacuum(ctx context.Context) (pages int64, err error) {
	if s.d.name != sqliteDialect.name {
		return 0, nil
	}
	free := func() (n int64, err error) {
		err = s.QueryRow(ctx, "PRAGMA freelist_count").Scan(&n)
		return n, err
	}
	was, err := free()
	if err != nil {
		return 0, err
	}
	for now := was; now > vacuumFrom; {
		if err := s.incrementalVacuum(ctx); err != nil {
			return was - now, err
		}
		left, err := free()
		if err != nil || left >= now { // not a file that can give pages back
			return was - now, err
		}
		now, pages = left, was-left
	}
	return pages, nil
}

func (s *Store) incrementalVacuum(ctx context.Context) error {
	return s.Write(ctx, func(tx *Tx) error {
		rows, err := tx.conn.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumStep))
		if err != nil {
			return err
		}
		return each(rows, func(Scan) error { return nil })
	})
}
