package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A job is leased for jobLease, and again each jobRenew while it runs: it may
// take as long as it needs, and where its daemon died another one begins it
// soon.
const (
	jobLease = time.Minute
	jobRenew = 15 * time.Second
)

// errJobLost ends a run whose lease could not be renewed in time: another
// daemon may have begun the job.
var errJobLost = errors.New("its lease ran out: this daemon, or the store, stood still")

// Once runs a job unless one of all daemons on the store ran it less than a
// period ago, or runs it just now. The period counts from the beginning of a
// run that succeeded; one that failed is tried again by whoever calls next, one
// whose daemon died by whoever calls after jobLease, or at once where the
// store has one daemon only.
func (s *Store) Once(ctx context.Context, name string, now time.Time, period time.Duration, run func(ctx context.Context) error) (ran bool, err error) {
	j := job{store: s, name: name, now: now, started: time.Now()}
	if ok, err := j.begin(ctx, period); err != nil || !ok {
		return false, j.failed(err)
	}
	leased, lose := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		j.keep(leased, lose)
	}()
	err = run(leased)
	if lost := context.Cause(leased); errors.Is(lost, errJobLost) {
		err = errors.Join(lost, err)
	}
	lose(nil)
	<-kept
	// The lease is given back also when ctx has ended.
	return true, j.failed(errors.Join(err, j.end(context.WithoutCancel(ctx), err == nil)))
}

// job is one run.
type job struct {
	store   *Store
	name    string
	now     time.Time // when it began, by the caller's clock
	started time.Time // the same moment, to measure from
	began   int64     // the same by the clock that decides, in milliseconds
	until   int64     // the end of the lease by that clock: it tells whose the lease is
	tried   int64     // the end that the last attempt to renew wrote, which stands if only its answer was lost
}

func (j *job) failed(err error) error {
	if err != nil {
		return fmt.Errorf("job %s: %w", j.name, err)
	}
	return nil
}

// clock is the caller's time, for where that decides.
func (j *job) clock() any { return j.store.clock(j.now.Add(time.Since(j.started))) }

// begin takes the lease if the job is due.
func (j *job) begin(ctx context.Context, period time.Duration) (ok bool, err error) {
	err = j.store.Write(ctx, func(tx *Tx) error {
		err := tx.QueryRow(ctx, `INSERT INTO jobs (name, lease_until) VALUES ($1, COALESCE(CAST($2 AS BIGINT), {{now}}) + CAST($3 AS BIGINT))
			ON CONFLICT (name) DO UPDATE SET lease_until = excluded.lease_until
			WHERE jobs.lease_until <= COALESCE(CAST($2 AS BIGINT), {{now}})
				AND jobs.done_at <= COALESCE(CAST($2 AS BIGINT), {{now}}) - CAST($4 AS BIGINT)
			RETURNING lease_until`,
			j.name, j.store.clock(j.now), jobLease.Milliseconds(), period.Milliseconds()).Scan(&j.until)
		ok = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	j.began, j.tried = j.until-jobLease.Milliseconds(), j.until
	return ok, err
}

// keep renews the lease until ctx ends, and loses it when it is another's or
// could not be renewed for too long.
func (j *job) keep(ctx context.Context, lose context.CancelCauseFunc) {
	tick := time.NewTicker(jobRenew)
	defer tick.Stop()
	renewed := j.started
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := time.Now()
		switch mine, err := j.renew(ctx); {
		case err == nil && !mine, err != nil && time.Since(renewed) >= jobLease:
			lose(errJobLost)
			return
		case err == nil:
			renewed = at
		}
	}
}

func (j *job) renew(ctx context.Context) (mine bool, err error) {
	err = j.store.Write(ctx, func(tx *Tx) error {
		err := tx.QueryRow(ctx, `UPDATE jobs SET lease_until = COALESCE(CAST($2 AS BIGINT), {{now}}) + CAST($3 AS BIGINT)
			WHERE name = $1 AND lease_until IN ($4, $5) RETURNING lease_until`,
			j.name, j.clock(), jobLease.Milliseconds(), j.until, j.tried).Scan(&j.tried)
		mine = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err == nil && mine {
		j.until = j.tried
	}
	return mine, err
}

// end gives the lease back, if it is still this run's.
func (j *job) end(ctx context.Context, succeeded bool) error {
	done := j.began
	if !succeeded {
		done = 0
	}
	return j.store.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, `UPDATE jobs SET lease_until = 0, done_at = CASE WHEN CAST($2 AS BIGINT) = 0 THEN done_at ELSE CAST($2 AS BIGINT) END
			WHERE name = $1 AND lease_until IN ($3, $4)`, j.name, done, j.until, j.tried)
		return err
	})
}
