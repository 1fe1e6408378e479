package watcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

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
