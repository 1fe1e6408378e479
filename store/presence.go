package store

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// Daemons that share a PostgreSQL tell each other that they are there.
const (
	// presentFor is how long a daemon counts as at work after its last sign of
	// life, and presentEvery how often it gives one.
	presentFor   = time.Minute
	presentEvery = 15 * time.Second
	// presentBye is how long a daemon that ends tries to say so.
	presentBye = 2 * time.Second
	// receiverGrace is how long a receiver that is in no daemon's configuration
	// any more keeps its pending deliveries, where there can be many daemons:
	// longer than one of them is away for a restart.
	receiverGrace = 10 * time.Minute
)

// presence is what a daemon has to say again and again, and to take back.
type presence struct {
	name string

	mu        sync.Mutex
	receivers []string            // that its configuration has
	synced    bool                // they are known
	owners    map[string]struct{} // under these names it leases receivers
}

// wants remembers the receivers of the configuration in force.
func (p *presence) wants(receivers []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receivers, p.synced = slices.Clone(receivers), true
}

func (p *presence) wanted() (receivers []string, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.receivers, p.synced
}

func (p *presence) owns(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owners == nil {
		p.owners = make(map[string]struct{})
	}
	p.owners[owner] = struct{}{}
}

func (p *presence) ownerNames() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.owners))
}

// bePresent makes this process a daemon of a store that many share, until
// Close.
func (s *Store) bePresent(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	s.presence.name = fmt.Sprintf("%s/%d/%d", host, os.Getpid(), time.Now().UnixNano())
	if err := s.signOfLife(ctx); err != nil {
		return fmt.Errorf("say that this daemon is at work: %w", err)
	}
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.stayPresent(lasting)
	}()
	s.onClose(func() error {
		end()
		<-ended
		return s.leave(lasting)
	})
	return nil
}

// stayPresent gives signs of life until ctx ends. One that fails was told to
// OnError, and the next one follows.
func (s *Store) stayPresent(ctx context.Context) {
	tick := time.NewTicker(presentEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			receivers, known := s.presence.wanted()
			if s.signOfLife(ctx) == nil && known {
				_ = s.keepReceivers(ctx, receivers, s.Now())
			}
		}
	}
}

// signOfLife also forgets daemons that were killed.
func (s *Store) signOfLife(ctx context.Context) error {
	return s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO daemons (name, until) VALUES ($1, {{now}} + CAST($2 AS BIGINT))
			ON CONFLICT (name) DO UPDATE SET until = excluded.until`, s.presence.name, presentFor.Milliseconds()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM daemons WHERE until < {{now}}")
		return err
	})
}

// leave hands back what a daemon that ends in order holds: its presence, and
// the receivers that others may deliver to from now on.
func (s *Store) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), presentBye)
	defer cancel()
	err := s.Write(ctx, func(tx *Tx) error {
		for _, owner := range s.presence.ownerNames() {
			if _, err := tx.Exec(ctx, "UPDATE receivers SET lease_until = 0 WHERE owner = $1", owner); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "DELETE FROM daemons WHERE name = $1", s.presence.name)
		return err
	})
	if err != nil {
		return fmt.Errorf("say that this daemon has ended: %w", err)
	}
	return nil
}

// atRest reports ErrAtWork while a daemon works on the store.
func (s *Store) atRest(ctx context.Context) error {
	if s.lockPath != "" {
		return lockedFile(s.lockPath)
	}
	var busy int
	err := s.QueryRow(ctx, "SELECT count(*) FROM daemons WHERE until >= {{now}}").Scan(&busy)
	if err == nil && busy > 0 {
		err = ErrAtWork
	}
	return err
}
