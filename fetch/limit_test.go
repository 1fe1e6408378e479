package fetch

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Never more than the limit at one address, nobody is forgotten, and the turn
// goes to whoever has waited longest.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(2)
		var inside, most atomic.Int64
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		a, b := addr("192.0.2.1"), addr("192.0.2.2")
		for i := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // one after another
				if err := l.acquire(context.Background(), a, time.Hour); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				most.Store(max(most.Load(), inside.Add(1)))
				time.Sleep(time.Second)
				inside.Add(-1)
				l.release(a)
			})
		}
		time.Sleep(100 * time.Millisecond)
		// Another address is another gate.
		if err := l.acquire(context.Background(), b, time.Hour); err != nil {
			t.Error(err)
		}
		l.release(b)
		start := time.Now()
		wg.Wait()
		if most.Load() != 2 {
			t.Errorf("%d at once", most.Load())
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("20 turns of a second, two at once, took %v", took)
		}
		for i, n := range order {
			if n != i {
				t.Errorf("order %v", order)
				break
			}
		}
		if len(l.gates) != 0 {
			t.Errorf("%d gates are left", len(l.gates))
		}
	})
}

// Whoever gives up leaves the queue, also in the moment in which the turn comes.
func TestLimiterGivingUp(t *testing.T) {
	l := newLimiter(1)
	a := addr("192.0.2.1")
	var wg sync.WaitGroup
	var granted atomic.Int64
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%5)*100*time.Microsecond)
			defer cancel()
			if l.acquire(ctx, a, time.Duration(i%7)*100*time.Microsecond) == nil {
				granted.Add(1)
				l.release(a)
			}
		})
	}
	wg.Wait()
	if len(l.gates) != 0 {
		t.Errorf("%d gates are left after %d turns", len(l.gates), granted.Load())
	}
	if err := l.acquire(context.Background(), a, time.Hour); err != nil {
		t.Error(err)
	}
}

// A look whose turn does not come is our own business; waiting is not the
// site's time.
func TestWaitingForATurn(t *testing.T) {
	open := make(chan struct{})
	srv := serve(t, func(c net.Conn, r string) {
		<-open
		say(withLength(ok200, group))(c, r)
	})
	c := New(Settings{Policy: loopback, PerAddress: 1, Timeout: hostileTimeout})
	a := netip.MustParseAddrPort(srv.origin[len("http://"):]).Addr()

	if err := c.limit.acquire(context.Background(), a, time.Hour); err != nil {
		t.Fatal(err)
	}
	got := c.Look(context.Background(), Request{Origin: srv.origin})
	if got.Reason != Busy || !got.Reason.Ours() || srv.asked.Load() != 0 {
		t.Errorf("%+v", got)
	}
	// Nearly all of the time is spent waiting, and still there is time to look.
	time.AfterFunc(hostileTimeout*3/4, func() {
		c.limit.release(a)
		time.AfterFunc(hostileTimeout/2, func() { close(open) })
	})
	if got := c.Look(context.Background(), Request{Origin: srv.origin}); got.State != Policy {
		t.Errorf("%+v", got)
	}
	if len(c.limit.gates) != 0 {
		t.Error("a turn was not given back")
	}
}
