package fetch

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// limiter lets a number of connections at once to each address; the others
// wait in the order in which they came.
type limiter struct {
	each int

	mu    sync.Mutex
	gates map[netip.Addr]*gate
}

// gate of one address; it exists while somebody is inside.
type gate struct {
	inside int
	queue  []chan struct{}
}

func newLimiter(each int) *limiter {
	return &limiter{each: each, gates: make(map[netip.Addr]*gate)}
}

// acquire waits for a turn at the address, as long as the patience lasts
// (errBusy afterwards) and the context allows. Each success needs one release.
func (l *limiter) acquire(ctx context.Context, a netip.Addr, patience time.Duration) error {
	l.mu.Lock()
	g := l.gates[a]
	if g == nil {
		g = new(gate)
		l.gates[a] = g
	}
	if g.inside < l.each {
		g.inside++
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.queue = append(g.queue, turn)
	l.mu.Unlock()

	enough := time.NewTimer(patience)
	defer enough.Stop()
	var err error
	select {
	case <-turn:
		return nil
	case <-enough.C:
		err = errBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	i := slices.Index(g.queue, turn)
	if i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // the turn came at the same moment
		l.release(a)
	}
	return err
}

func (l *limiter) release(a netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.gates[a]
	if len(g.queue) > 0 {
		close(g.queue[0]) // hands the place over
		g.queue = slices.Delete(g.queue, 0, 1)
		return
	}
	if g.inside--; g.inside == 0 {
		delete(l.gates, a)
	}
}
