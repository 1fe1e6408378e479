package watcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

func TestStopHandsBackWhatWasNotLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(200)
		store := newMemStore(sites...)
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		web.takes = func(string) time.Duration { return 20 * time.Second }
		d := testDaemon(t, store, web, "@every 6h", nil)
		running(t, d, func() { time.Sleep(30 * time.Second) })
		leases, err := store.ClaimSites(t.Context(), time.Now(), origins, time.Minute)
		if err != nil || len(leases) != len(origins) {
			t.Errorf("%d of %d sites are free after the daemon stopped (%v)", len(leases), len(origins), err)
		}
		if web.lookedInAll() != 16 {
			t.Errorf("%d looks finished in 30 s, want 16", web.lookedInAll())
		}
	})
}

func TestStopDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, _ := testSites(2*batchSize + 100)
		store := newMemStore(sites...)
		store.fail = func([]Result) error { return errors.New("connection lost") }
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		d := testDaemon(t, store, web, "@every 6h", nil)
		var asked time.Time
		running(t, d, func() {
			time.Sleep(5 * time.Minute)
			if web.lookedInAll() <= batchSize+1 {
				t.Fatalf("%d looks: none waits for the writer", web.lookedInAll())
			}
			asked = time.Now()
			time.AfterFunc(time.Hour, func() {
				store.mu.Lock()
				defer store.mu.Unlock()
				store.fail = nil
			})
		})
		if took := time.Since(asked); took > time.Minute {
			t.Errorf("the daemon stopped %v after it was asked to", took)
		}
	})
}

// withoutWork is a store that gives no sites while it is away.
type withoutWork struct {
	*memStore
	away atomic.Bool
}

func (w *withoutWork) Claim(ctx context.Context, now time.Time, n int, lease time.Duration) ([]Lease, error) {
	if w.away.Load() {
		return nil, errors.New("read-only file system")
	}
	return w.memStore.Claim(ctx, now, n, lease)
}

// lateAnswers is a store whose claims are answered late.
type lateAnswers struct {
	*memStore
	by time.Duration
}

func (l *lateAnswers) Claim(ctx context.Context, now time.Time, n int, lease time.Duration) ([]Lease, error) {
	leases, err := l.memStore.Claim(ctx, now, n, lease)
	if len(leases) > 0 {
		time.Sleep(l.by)
	}
	return leases, err
}

// A daemon that learns of its leases when they have run out, since it stood
// still or its connection did, leaves the sites to whoever has them by now.
func TestALeaseThatIsOverWhenItIsToldIsNotUsed(t *testing.T) {
	for by, looks := range map[time.Duration]int{time.Second: 3, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			sites, _ := testSites(3)
			web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
			d := testDaemon(t, &lateAnswers{newMemStore(sites...), by}, web, "@every 24h", nil)
			running(t, d, func() { time.Sleep(90 * time.Minute) })
			if web.lookedInAll() != looks {
				t.Errorf("answered after %v: %d looks, want %d", by, web.lookedInAll(), looks)
			}
		})
	}
}

// Whoever watches over the daemon learns that it moves, and why it has no work.
func TestRoundsGoOnWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, _ := testSites(3)
		store := &withoutWork{memStore: newMemStore(sites...)}
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		d := testDaemon(t, store, web, "@every 6h", nil)
		if at, err := d.LastRound(), d.Trouble(); !at.IsZero() || err != nil {
			t.Errorf("before the first round: %v %v", at, err)
		}
		running(t, d, func() {
			for _, away := range []bool{false, true, false} {
				store.away.Store(away)
				time.Sleep(time.Minute)
				if ago, err := time.Since(d.LastRound()), d.Trouble(); ago > 10*time.Second || (err != nil) != away {
					t.Errorf("away %v: a round %v ago, trouble: %v", away, ago, err)
				}
			}
		})
	})
}

func TestRecordingIsRetriedAndOnePoisonedResultHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(20)
		store := newMemStore(sites...)
		var up atomic.Bool
		store.fail = func(results []Result) error {
			for _, r := range results {
				if !up.Load() || r.Site.Origin == origins[3] {
					return errors.New("disk is on fire")
				}
			}
			return nil
		}
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		d := testDaemon(t, store, web, "@every 6h", nil)
		running(t, d, func() {
			time.Sleep(time.Minute)
			if d.Trouble() == nil {
				t.Error("nothing can be recorded, and it knows of no trouble")
			}
			up.Store(true)
			time.Sleep(50 * time.Second) // less than a lease in all
			if err := d.Trouble(); err != nil {
				t.Errorf("all is well, and it knows of trouble: %v", err)
			}
			for i, o := range origins {
				if got := store.site(o).State; (got == fetch.Policy) != (i != 3) {
					t.Errorf("%s is %s", o, got)
				}
				if web.looked(o) != 1 {
					t.Errorf("%s: looked at %d times while nothing could be recorded", o, web.looked(o))
				}
			}
		})
	})
}

func TestOwnOutageIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(60)
		store := newMemStore(sites...)
		start := time.Now()
		isDown := func(at time.Time) bool { since := at.Sub(start); return since > 10*time.Hour && since < 20*time.Hour }
		web := newFakeWeb(func(origin string, at time.Time) fetch.Outcome {
			if isDown(at) || origin == origins[0] && at.Sub(start) > 30*time.Hour {
				return fetch.Outcome{State: fetch.Unreachable, Reason: fetch.DNSTimeout}
			}
			return policyAnswer("")
		})
		watch := &outages{}
		d := testDaemon(t, store, web, "@every 1h", func(o *Options) { o.Observer = watch })
		running(t, d, func() { time.Sleep(25 * time.Hour) })
		if len(store.changes) != 0 {
			t.Fatalf("our own outage made %d events, first %+v", len(store.changes), store.changes[0])
		}
		d = testDaemon(t, store, web, "@every 1h", func(o *Options) { o.Observer = watch })
		running(t, d, func() { time.Sleep(11 * time.Hour) })
		if fmt.Sprint(watch.told) != "[true false]" {
			t.Errorf("told %v about our own outage", watch.told)
		}
		for _, o := range origins[1:] {
			if s := store.site(o); s.State != fetch.Policy || time.Since(s.LastCheckAt) > 2*time.Hour {
				t.Errorf("%s is %s, last look %v ago", o, s.State, time.Since(s.LastCheckAt))
			}
		}
		if len(store.changes) != 1 || store.changes[0].Site != origins[0] || store.changes[0].Kind != KindState {
			t.Errorf("the one site that really is down should be the only event: %+v", store.changes)
		}
	})
}

type outages struct {
	nobody
	mu   sync.Mutex
	told []bool
}

func (o *outages) OwnOutage(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, on)
}

// notRemembered makes a policy one that is read from the store again.
var notRemembered = "#" + strings.Repeat("x", recentLongest)

func TestALostVersionIsABaselineAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(1)
		store := newMemStore(sites...)
		start := time.Now()
		web := newFakeWeb(func(_ string, at time.Time) fetch.Outcome {
			return policyAnswer(fmt.Sprintf("User-agent: *\nDisallow: /%d\n", int(at.Sub(start).Hours()/10)) + notRemembered)
		})
		d := testDaemon(t, store, web, "@every 6h", nil)
		running(t, d, func() {
			time.Sleep(time.Hour)
			store.mu.Lock()
			clear(store.bodies)
			store.mu.Unlock()
			time.Sleep(24 * time.Hour)
		})
		s := store.site(origins[0])
		if s.State != fetch.Policy || len(s.Profile) != 2 || len(store.changes) != 1 {
			t.Errorf("state %s, profile %v, %d events; want a new baseline and the one change after it", s.State, s.Profile, len(store.changes))
		}
	})
}

// brittle is a store in which reading a body finds a fault of our own.
type brittle struct{ Store }

func (brittle) Body(context.Context, Hash) ([]byte, error) { panic("a fault of our own") }

// A panic on one site's file leaves the others alone, and the site is looked
// at again.
func TestAPanicIsKeptToItsSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(2)
		start := time.Now()
		web := newFakeWeb(func(origin string, at time.Time) fetch.Outcome {
			if origin == origins[0] && at.Sub(start) > 90*time.Minute {
				return policyAnswer("User-agent: *\nDisallow: /new\n") // compared with the version before
			}
			return policyAnswer("User-agent: *\nDisallow: /\n" + notRemembered)
		})
		d := testDaemon(t, brittle{newMemStore(sites...)}, web, "@every 1h", nil)
		running(t, d, func() { time.Sleep(10 * time.Hour) })
		if n := web.looked(origins[1]); n < 9 {
			t.Errorf("the other site was looked at %d times", n)
		}
		if n := web.looked(origins[0]); n < 20 { // each confirmation interval
			t.Errorf("the site itself was looked at %d times", n)
		}
	})
}
