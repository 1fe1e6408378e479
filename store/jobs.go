package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// jobLease is how long a job may take; then it is stopped, and another daemon
// may begin it.
const jobLease = time.Hour

// Once runs a job unless one of all daemons on the store ran it less than a
// period ago, or runs it just now. The period counts from the beginning of a
// run that succeeded; one that failed, or whose daemon died, is tried again by
// whoever calls next (after an hour at most).
func (s *Store) Once(ctx context.Context, name string, now time.Time, period time.Duration, run func(ctx context.Context) error) (ran bool, err error) {
	began, ok, err := s.beginJob(ctx, name, now, period)
	if err != nil {
		return false, fmt.Errorf("job %s: %w", name, err)
	}
	if !ok {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, jobLease)
	defer cancel()
	failed := run(limited)
	done := began
	if failed != nil {
		done = 0
	}
	// The lease is given back also when ctx has ended.
	err = s.Write(context.WithoutCancel(ctx), func(tx *Tx) error {
		_, err := tx.Exec(ctx, "UPDATE jobs SET lease_until = 0, done_at = CASE WHEN CAST($2 AS BIGINT) = 0 THEN done_at ELSE CAST($2 AS BIGINT) END WHERE name = $1",
			name, done)
		return err
	})
	if err = errors.Join(failed, err); err != nil {
		return true, fmt.Errorf("job %s: %w", name, err)
	}
	return true, nil
}

// beginJob takes the lease of a job and gives the time, by the clock that
// decides, in milliseconds.
func (s *Store) beginJob(ctx context.Context, name string, now time.Time, period time.Duration) (began int64, ok bool, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		err := tx.QueryRow(ctx, `INSERT INTO jobs (name, lease_until) VALUES ($1, COALESCE(CAST($2 AS BIGINT), {{now}}) + CAST($3 AS BIGINT))
			ON CONFLICT (name) DO UPDATE SET lease_until = excluded.lease_until
			WHERE jobs.lease_until <= COALESCE(CAST($2 AS BIGINT), {{now}})
				AND jobs.done_at <= COALESCE(CAST($2 AS BIGINT), {{now}}) - CAST($4 AS BIGINT)
			RETURNING lease_until - CAST($3 AS BIGINT)`,
			name, s.clock(now), jobLease.Milliseconds(), period.Milliseconds()).Scan(&began)
		ok = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return began, ok, err
}
