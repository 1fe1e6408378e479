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

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/fetch"
)

// fakeWeb answers looks from a function and watches how they are made.
type fakeWeb struct {
	answer func(origin string, at time.Time) fetch.Outcome
	takes  func(origin string) time.Duration
	clock  func() time.Time
	host   func(origin string) string // what politeness is counted by

	mu      sync.Mutex
	looks   map[string]int
	inSite  map[string]bool
	inHost  map[string]int
	mostIn  map[string]int // looks at once, by host
	overlap int
	total   int
}

func newFakeWeb(answer func(string, time.Time) fetch.Outcome) *fakeWeb {
	return &fakeWeb{
		answer: answer, clock: time.Now, host: domainOf,
		takes: func(string) time.Duration { return 50 * time.Millisecond },
		looks: map[string]int{}, inSite: map[string]bool{}, inHost: map[string]int{}, mostIn: map[string]int{},
	}
}

func (f *fakeWeb) Look(ctx context.Context, req fetch.Request) fetch.Outcome {
	host := f.host(req.Origin)
	f.mu.Lock()
	if f.inSite[req.Origin] {
		f.overlap++
	}
	f.inSite[req.Origin] = true
	f.inHost[host]++
	f.mostIn[host] = max(f.mostIn[host], f.inHost[host])
	f.mu.Unlock()

	at, start := f.clock(), time.Now()
	canceled := false
	select {
	case <-time.After(f.takes(req.Origin)):
	case <-ctx.Done():
		canceled = true
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.inSite[req.Origin] = false
	f.inHost[host]--
	if canceled {
		return fetch.Outcome{At: at, State: fetch.Unreachable, Reason: fetch.Canceled}
	}
	f.looks[req.Origin]++
	f.total++
	out := f.answer(req.Origin, at)
	out.At, out.Took = at, time.Since(start)
	return out
}

// looked says how many looks at a site have finished.
func (f *fakeWeb) looked(origin string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks[origin]
}

func (f *fakeWeb) lookedInAll() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

func policyAnswer(text string) fetch.Outcome {
	return fetch.Outcome{State: fetch.Policy, Status: 200, Body: []byte(text), FinalURL: "https://example.com/robots.txt"}
}

func testJudge(t testing.TB, schedule string) *Judge {
	t.Helper()
	catalogue, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJudge(Settings{Confirm: testConfirm, Schedule: schedule, Watch: []string{"GPTBot", "CCBot"}, Catalogue: catalogue})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func testDaemon(t testing.TB, store Store, web Fetcher, schedule string, change func(*Options)) *Daemon {
	t.Helper()
	o := Options{
		Store: store, Fetcher: web, Router: toEverybody{}, Judge: testJudge(t, schedule),
		Concurrency: 16, PerDomain: 4, PerAddress: 4, Timeout: 30 * time.Second, Poll: 5 * time.Second,
	}
	if change != nil {
		change(&o)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func testSites(n int) (sites []Site, origins []string) {
	for i := range n {
		origin := fmt.Sprintf("https://site%d.example", i)
		sites = append(sites, Site{Origin: origin, State: fetch.Pending, Config: SiteConfig{Origin: origin}})
		origins = append(origins, origin)
	}
	return sites, origins
}

// running runs a daemon for a while inside a synctest bubble.
func running(t *testing.T, d *Daemon, during func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- d.Run(ctx) }()
	during()
	cancel()
	if err := <-stopped; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}

func TestDaemonLooksOnScheduleAndTellsChangesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(50)
		store := newMemStore(sites...)
		start := time.Now()
		web := newFakeWeb(func(origin string, at time.Time) fetch.Outcome {
			if origin == origins[7] && at.Sub(start) > 30*time.Hour {
				return policyAnswer("User-agent: GPTBot\nDisallow: /\n")
			}
			return policyAnswer("User-agent: *\nDisallow:\n")
		})
		d := testDaemon(t, store, web, "@every 6h", nil)
		running(t, d, func() { time.Sleep(72 * time.Hour) })
		for _, o := range origins {
			if n := web.looked(o); n < 12 || n > 14 {
				t.Errorf("%s: %d looks in 72 h, want one every 6 h", o, n)
			}
		}
		if len(store.changes) != 1 {
			t.Fatalf("%d changes, want 1: %+v", len(store.changes), store.changes)
		}
		c := store.changes[0]
		if c.Site != origins[7] || c.Kind != KindAccess || c.Summary != "GPTBot now blocked" || c.Severity != Critical || !c.Watched {
			t.Errorf("change: %+v", c)
		}
	})
}

func TestOnceLooksAtEachSiteExactlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(3000)
		for i := range sites {
			sites[i].NextCheckAt = time.Now().Add(time.Duration(i-1500) * time.Minute) // due or not
		}
		store := newMemStore(sites...)
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		d := testDaemon(t, store, web, "@every 6h", nil)
		if err := d.Once(t.Context(), origins); err != nil {
			t.Fatal(err)
		}
		for _, o := range origins {
			if web.looked(o) != 1 || store.site(o).State != fetch.Policy {
				t.Fatalf("%s: %d looks, state %s", o, web.looked(o), store.site(o).State)
			}
		}
	})
}

func TestCheckNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(3)
		store := newMemStore(sites...)
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		d := testDaemon(t, store, web, "@every 6h", nil)
		running(t, d, func() {
			time.Sleep(time.Hour)
			before := web.looked(origins[0])
			if err := d.CheckNow(t.Context(), origins[0]); err != nil {
				t.Fatal(err)
			}
			if web.looked(origins[0]) != before+1 || time.Since(store.site(origins[0]).LastCheckAt) > time.Second {
				t.Errorf("CheckNow returned before the look was recorded")
			}
			web.takes = func(string) time.Duration { return 10 * time.Second }
			go func() { _ = d.CheckNow(t.Context(), origins[1]) }()
			time.Sleep(time.Second)
			if err := d.CheckNow(t.Context(), origins[1]); !errors.Is(err, ErrBusy) {
				t.Errorf("a second look at once: %v, want ErrBusy", err)
			}
			time.Sleep(time.Minute)
		})
	})
}

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

// A site that waits so long for its turn that its lease runs out is claimed
// again, also when it is the last one.
func TestOnceOutlastsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sites []Site
		var origins []string
		for i := range 40 {
			origin := fmt.Sprintf("https://host%d.crowded.example", i)
			sites = append(sites, Site{Origin: origin, State: fetch.Pending, Config: SiteConfig{Origin: origin}})
			origins = append(origins, origin)
		}
		store := newMemStore(sites...)
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		web.takes = func(string) time.Duration { return 30 * time.Second }
		d := testDaemon(t, store, web, "@every 6h", func(o *Options) { o.PerDomain = 1 })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		if err := d.Once(ctx, origins); err != nil {
			t.Fatal(err)
		}
		for _, o := range origins {
			if web.looked(o) != 1 {
				t.Errorf("%s: %d looks", o, web.looked(o))
			}
		}
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

// A party that is slow and has many sites must not keep the others waiting.
func TestACrowdedHostHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sites []Site
		add := func(host string, due time.Time) string {
			c := SiteConfig{Origin: "https://" + host}
			sites = append(sites, Site{Origin: c.Origin, Config: c, State: fetch.Pending, NextCheckAt: due})
			return c.Origin
		}
		for i := range 1500 {
			add(fmt.Sprintf("blog%d.crowded.example", i), time.Now().Add(-2*time.Hour)) // due first
		}
		var others []string
		for i := range 200 {
			others = append(others, add(fmt.Sprintf("site%d.example", i), time.Now().Add(-time.Hour)))
		}
		store := newMemStore(sites...)
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		web.takes = func(origin string) time.Duration {
			if domainOf(origin) == "crowded.example" {
				return 20 * time.Second
			}
			return time.Second
		}
		d := testDaemon(t, store, web, "@every 6h", nil)
		running(t, d, func() {
			time.Sleep(10 * time.Minute)
			late := 0
			for _, o := range others {
				if web.looked(o) == 0 {
					late++
				}
			}
			if late > 0 {
				t.Errorf("%d of %d other sites still wait after 10 minutes", late, len(others))
			}
			time.Sleep(4 * time.Hour)
		})
		if web.mostIn["crowded.example"] > 4 {
			t.Errorf("%d looks at once at the crowded host", web.mostIn["crowded.example"])
		}
		for origin, s := range store.sites {
			if s.site.State != fetch.Policy {
				t.Fatalf("%s was never looked at", origin)
			}
		}
	})
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

func TestDaemonsShareAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(300)
		store := newMemStore(sites...)
		web := newFakeWeb(func(string, time.Time) fetch.Outcome { return policyAnswer("") })
		web.takes = func(string) time.Duration { return 10 * time.Second }
		one, two := testDaemon(t, store, web, "@every 1h", nil), testDaemon(t, store, web, "@every 1h", nil)
		running(t, one, func() {
			running(t, two, func() { time.Sleep(12 * time.Hour) })
			time.Sleep(12 * time.Hour)
		})
		if web.overlap > 0 || store.lost > 0 {
			t.Errorf("%d looks at one site at once, %d results lost", web.overlap, store.lost)
		}
		for _, o := range origins {
			if n := web.looked(o); n < 22 || n > 26 {
				t.Errorf("%s: %d looks in 24 h, want one an hour", o, n)
			}
		}
	})
}

// A look that ends for a reason of our own says nothing about the site.
func TestALookWithoutATurnIsPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, origins := testSites(1)
		store := newMemStore(sites...)
		var busy atomic.Bool
		busy.Store(true)
		web := newFakeWeb(func(string, time.Time) fetch.Outcome {
			if busy.Load() {
				return fetch.Outcome{State: fetch.Unreachable, Reason: fetch.Busy}
			}
			return policyAnswer("")
		})
		d := testDaemon(t, store, web, "@every 6h", nil)
		running(t, d, func() {
			time.Sleep(10 * time.Minute)
			n := web.looked(origins[0])
			if n < 4 || n > 11 || store.site(origins[0]).State != fetch.Pending {
				t.Errorf("%d tries in 10 minutes, state %s", n, store.site(origins[0]).State)
			}
			if err := d.CheckNow(t.Context(), origins[0]); !errors.Is(err, ErrNotNow) {
				t.Errorf("CheckNow says %v, want ErrNotNow", err)
			}
			busy.Store(false)
			time.Sleep(3 * time.Minute)
			if s := store.site(origins[0]); s.State != fetch.Policy {
				t.Errorf("the site is still %s", s.State)
			}
		})
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
