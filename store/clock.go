package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/robotswatch/robotswatch/notify"
)

const (
	// clockTolerance is by how much this machine's clock may differ from the
	// database's before that is made up for: sites are looked at seconds
	// apart, and the way to the database takes its time.
	clockTolerance = time.Second
	// clockEvery is how often the two are compared.
	clockEvery = time.Minute
)

// skew is by how much the database's clock is ahead of this machine's.
type skew struct {
	ahead    atomic.Int64 // nanoseconds
	compared atomic.Int64 // Unix milliseconds
}

// Now is the time by the clock that decides: the database's where many
// daemons share one, so that one on a machine whose clock is wrong records
// what it sees at the time at which it saw it; else this machine's.
func (s *Store) Now() time.Time { return time.Now().Add(s.ahead()) }

func (s *Store) ahead() time.Duration { return time.Duration(s.skew.ahead.Load()) }

// toShared is a time of this machine by the clock that decides.
func (s *Store) toShared(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(s.ahead())
}

// fromShared is the inverse of toShared.
func (s *Store) fromShared(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-s.ahead())
}

// shared is a selection by the clock that decides.
func (s *Store) shared(sel notify.Selection) notify.Selection {
	sel.Due, sel.CreatedBefore, sel.TriedBefore = s.toShared(sel.Due), s.toShared(sel.CreatedBefore), s.toShared(sel.TriedBefore)
	return sel
}

// compareClocks measures the skew, now and then, where the database's clock
// decides.
func (s *Store) compareClocks(ctx context.Context) error {
	begun := time.Now()
	if s.clock(begun) != nil || begun.UnixMilli()-s.skew.compared.Load() < clockEvery.Milliseconds() {
		return nil
	}
	var ms int64
	if err := s.QueryRow(ctx, "SELECT {{now}}").Scan(&ms); err != nil {
		return fmt.Errorf("compare clocks: %w", err)
	}
	took := time.Since(begun)
	ahead := fromMillis(ms).Sub(begun.Add(took / 2))
	if ahead.Abs() < clockTolerance+took/2 {
		ahead = 0
	}
	s.skew.ahead.Store(int64(ahead))
	s.skew.compared.Store(begun.UnixMilli())
	return nil
}
