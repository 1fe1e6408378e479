package store

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	// factLastLook is the fact that holds when the latest look at any site
	// finished.
	factLastLook = "last_look"
	// lookStep is how fine that is kept: half of the smallest step back that
	// anyone acts on.
	lookStep = time.Second
)

// LastLook implements watcher.Store, to about a second. Where the database's
// own clock decides nobody need know, and it is zero.
func (s *Store) LastLook(ctx context.Context) (time.Time, error) {
	if s.clock(time.Time{}) == nil {
		return time.Time{}, nil
	}
	text, err := s.fact(ctx, factLastLook)
	if err != nil || text == "" {
		return time.Time{}, err
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("last look: %w: %w", ErrCorrupt, err)
	}
	return fromMillis(ms), nil
}

// noteLook keeps factLastLook in step with the results that a transaction
// records.
func (s *Store) noteLook(ctx context.Context, tx *Tx, batch []outcome) error {
	var last time.Time
	for i := range batch {
		if at := batch[i].Site.LastCheckAt; batch[i].kept && at.After(last) {
			last = at
		}
	}
	if last.IsZero() || s.clock(last) == nil || last.UnixMilli()-s.lastLook.Load() < lookStep.Milliseconds() {
		return nil
	}
	tx.afterCommit(func() { s.lastLook.Store(last.UnixMilli()) })
	return tx.setFact(ctx, factLastLook, strconv.FormatInt(last.UnixMilli(), 10))
}

// SetBack moves plans and leases to earlier by what the callers' clock was set
// back, and when deliveries are due: a page at a time, so that nobody else
// waits for long. One that is interrupted and begins again moves some twice,
// which makes looks early and none late. Where the database's own clock decides
// there is nothing to do.
func (s *Store) SetBack(ctx context.Context, by time.Duration) error {
	if s.clock(time.Time{}) == nil {
		return nil
	}
	for _, m := range []struct{ table, update string }{
		{"sites", "UPDATE sites SET next_check_at = next_check_at - $1, lease_until = lease_until - $1 WHERE active = 1"},
		{"deliveries", "UPDATE deliveries SET next_at = next_at - $1 WHERE status = 'pending'"},
	} {
		err := s.byPages(ctx, m.table, func(after, upTo int64) (bool, error) {
			_, err := s.exec(ctx, m.update+" AND id > $2 AND id <= $3", by.Milliseconds(), after, upTo)
			return true, err
		})
		if err != nil {
			return fmt.Errorf("move plans of %s: %w", m.table, err)
		}
	}
	last, err := s.LastLook(ctx)
	if err != nil || last.IsZero() {
		return err
	}
	s.lastLook.Store(0)
	return s.setFact(ctx, factLastLook, strconv.FormatInt(last.Add(-by).UnixMilli(), 10))
}
