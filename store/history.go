package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// observationColumns is what scanObservation reads, before whatever else is
// selected; of observations joined with its site.
const observationColumns = `observations.at, observations.last_at, observations.state, observations.reason, observations.detail,
	observations.status, observations.final_url,
	(SELECT bodies.sha256 FROM bodies WHERE bodies.id = observations.body_id),
	observations.bytes, observations.truncated, observations.backfill, observations.evidence,
	sites.origin, sites.last_check_at`

const fromObservations = " FROM observations JOIN sites ON sites.id = observations.site_id "

func scanObservation(scan Scan, more ...any) (ob watcher.Observation, origin string, err error) {
	var at, lastAt, truncated, backfill, lastCheck int64
	var state, reason, detail string
	var hash, evidence []byte
	if err := scan(append([]any{&at, &lastAt, &state, &reason, &detail, &ob.Status, &ob.FinalURL, &hash,
		&ob.Bytes, &truncated, &backfill, &evidence, &origin, &lastCheck}, more...)...); err != nil {
		return ob, "", err
	}
	if lastAt == 0 {
		lastAt = max(at, lastCheck)
	}
	if ob.FinalURL == "" && ob.Status != 0 {
		ob.FinalURL = usualURL(origin)
	}
	ob.At, ob.LastAt = fromMillis(at), fromMillis(lastAt)
	longAnswer(&ob, state, reason, detail)
	ob.Truncated, ob.Backfill, ob.Looks = truncated != 0, backfill != 0, int(backfill)
	copy(ob.Body[:], hash)
	ob.Evidence, err = unpackEvidence(origin, evidence)
	return ob, origin, err
}

// Observations gives up to limit runs of a site that began in [since, until),
// newest first. Zero times are no bounds; limit 0 is no limit.
func (s *Store) Observations(ctx context.Context, origin string, since, until time.Time, limit int) ([]watcher.Observation, error) {
	query := "SELECT " + observationColumns + fromObservations +
		"WHERE sites.origin = $1 AND observations.at >= $2 AND observations.at < $3 ORDER BY observations.at DESC"
	if limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", limit)
	}
	end := toMillis(until)
	if until.IsZero() {
		end = forever
	}
	rows, err := s.Query(ctx, query, origin, toMillis(since), end)
	if err != nil {
		return nil, fmt.Errorf("observations of %s: %w", origin, err)
	}
	var runs []watcher.Observation
	err = each(rows, func(scan Scan) error {
		ob, _, err := scanObservation(scan)
		runs = append(runs, ob)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("observations of %s: %w", origin, err)
	}
	return runs, nil
}

// forever is later than any time that is stored.
const forever = int64(1) << 62

// lastObservation is the run that was open at a time: what was last seen then.
// watcher.ErrNotFound before the first look.
func lastObservation(ctx context.Context, q Queryer, origin string, at time.Time) (watcher.Observation, error) {
	ob, _, err := scanObservation(q.QueryRow(ctx, "SELECT "+observationColumns+fromObservations+
		"WHERE sites.origin = $1 AND observations.at <= $2 ORDER BY observations.at DESC LIMIT 1",
		origin, toMillis(at)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = watcher.ErrNotFound
	}
	if err != nil {
		return ob, fmt.Errorf("observation of %s at %s: %w", origin, at.UTC().Format(time.RFC3339), err)
	}
	return ob, nil
}
