package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/watcher"
)

// recordObservations ends the open run and begins the next, linked to it.
func (r *recording) recordObservations(ctx context.Context) error {
	var began []*outcome
	var ends, begins [][]any
	for _, o := range r.kept {
		ob := o.Observation
		if ob == nil {
			continue
		}
		id, last := o.Lease.Site.ID, o.Lease.Site.LastCheckAt
		if !last.IsZero() {
			ends = append(ends, []any{id, toMillis(last)})
		}
		began = append(began, o)
		begins = append(begins, observationRow(id, o.Site.Origin, ob, 0, o.evidence, after(o.before, last, o.digest), r.bodies))
	}
	if _, err := r.tx.ExecMany(ctx, `UPDATE observations SET last_at = $2
		WHERE site_id = $1 AND at = (SELECT observed_at FROM sites WHERE id = $1)`, ends); err != nil {
		return err
	}
	inserted, err := insertObservations(ctx, r.tx, begins)
	if err != nil || inserted == int64(len(begins)) {
		return err
	}
	return r.another(ctx, began)
}

// another is the error that tells of which site another run begins at the same
// time.
func (r *recording) another(ctx context.Context, began []*outcome) error {
	keys := make([][]any, len(began))
	for i, o := range began {
		keys[i] = []any{o.Lease.Site.ID, toMillis(o.Observation.At)}
	}
	found := fmt.Errorf("another answer of a site is recorded for the same time")
	err := r.tx.QueryMany(ctx, "SELECT link FROM observations WHERE site_id = $1 AND at = $2", keys, func(i int, scan Scan) error {
		var link []byte
		err := scan(&link)
		o := began[i]
		if own := after(o.before, o.Lease.Site.LastCheckAt, o.digest).Link; !bytes.Equal(link, own[:]) {
			found = fmt.Errorf("another answer of %s is recorded for %s", o.Site.Origin, o.Observation.At.UTC().Format(time.RFC3339Nano))
		}
		return err
	})
	return errors.Join(found, err)
}

// insertObservations gives how many were added: none where one begins at the
// same time.
func insertObservations(ctx context.Context, tx *Tx, rows [][]any) (int64, error) {
	return tx.InsertMany(ctx, `INSERT INTO observations (site_id, at, last_at, state, reason, detail, status, final_url,
		body_id, bytes, truncated, backfill, evidence, seq, link) VALUES `, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		" ON CONFLICT (site_id, at) DO NOTHING", rows)
}

// observationRow takes the rows of all bodies that it may name.
func observationRow(siteID int64, origin string, ob *watcher.Observation, lastAt int64, packed []byte, link evidence.Mark,
	bodies map[watcher.Hash]int64) []any {
	state, reason, detail := shortAnswer(ob)
	return []any{siteID, toMillis(ob.At), lastAt, state, reason, detail, int64(ob.Status),
		shortURL(origin, ob.FinalURL), bodies[ob.Body], ob.Bytes, toInt(ob.Truncated), backfillOf(ob), packed,
		link.Position, linkOf(link)}
}

// backfillOf is how many captures a backfilled run is made of, 0 for a live one.
func backfillOf(ob *watcher.Observation) int64 {
	if !ob.Backfill {
		return 0
	}
	return int64(max(ob.Looks, 1))
}

// shortURL leaves the usual final URL out.
func shortURL(origin, finalURL string) string {
	if finalURL == usualURL(origin) {
		return ""
	}
	return finalURL
}
