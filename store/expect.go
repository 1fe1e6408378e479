package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// Expect announces a change that shall not alert; once, however often the same
// is announced. It fails with watcher.ErrNotFound for a site that is not watched.
func (s *Store) Expect(ctx context.Context, e watcher.Expectation) (id int64, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		var known int
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM sites WHERE origin = $1 AND active = 1", e.Site).Scan(&known); err != nil {
			return err
		}
		if known == 0 {
			return watcher.ErrNotFound
		}
		err := tx.QueryRow(ctx, "SELECT id FROM expectations WHERE site = $1 AND agent = $2 AND until = $3 AND note = $4",
			e.Site, e.Agent, toMillis(e.Until), e.Note).Scan(&id)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return tx.QueryRow(ctx, "INSERT INTO expectations (site, agent, until, note) VALUES ($1, $2, $3, $4) RETURNING id",
			e.Site, e.Agent, toMillis(e.Until), e.Note).Scan(&id)
	})
	if err != nil {
		return 0, fmt.Errorf("expect a change of %s: %w", e.Site, err)
	}
	return id, nil
}

// Expectations lists those that have not run out, oldest first; of one site,
// or of all for "".
func (s *Store) Expectations(ctx context.Context, site string, now time.Time) ([]watcher.Expectation, error) {
	return expectations(ctx, s, site, now)
}

// DropExpectation takes one back; watcher.ErrNotFound when there is none.
func (s *Store) DropExpectation(ctx context.Context, id int64) error {
	err := s.Write(ctx, func(tx *Tx) error {
		n, err := tx.Exec(ctx, "DELETE FROM expectations WHERE id = $1", id)
		if err == nil && n == 0 {
			return watcher.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("expectation %d: %w", id, err)
	}
	return nil
}

func expectations(ctx context.Context, q Queryer, site string, now time.Time) (list []watcher.Expectation, err error) {
	rows, err := q.Query(ctx, `SELECT id, site, agent, until, note FROM expectations
		WHERE until > $1 AND ($2 = '' OR site = $2) ORDER BY id`, toMillis(now), site)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var e watcher.Expectation
		var until int64
		if err := scan(&e.ID, &e.Site, &e.Agent, &until, &e.Note); err != nil {
			return err
		}
		e.Until = fromMillis(until)
		list = append(list, e)
		return nil
	})
	return list, err
}

// addExpected fills what is announced into leased sites. Announcements are
// few: all of them are read.
func (s *Store) addExpected(ctx context.Context, tx *Tx, now time.Time, leases []watcher.Lease) error {
	list, err := expectations(ctx, tx, "", now)
	if err != nil || len(list) == 0 {
		return err
	}
	bySite := make(map[string][]watcher.Expectation)
	for _, e := range list {
		bySite[e.Site] = append(bySite[e.Site], e)
	}
	for i := range leases {
		leases[i].Site.Expected = bySite[leases[i].Site.Origin]
	}
	return nil
}
