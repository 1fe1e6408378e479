package store

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

func TestSyncSites(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		list := siteConfigs(10)
		if got := resync(t, s, list); got != (Synced{Sites: 10, Added: 10}) {
			t.Fatalf("first: %+v", got)
		}
		if got := resync(t, s, list); got.Changed() {
			t.Errorf("the same again: %+v", got)
		}
		record(t, s, policy(claim(t, s, t0, 1)[0], t0, "x", blockedProfile))
		first := claimOne(t, s, list[0].Origin)
		record(t, s, policy(first, t0.Add(time.Minute), "y", blockedProfile))

		changed := slices.Clone(list[1:])
		changed[0].Tags = []string{"news"}
		changed[1].Schedule = "@every 1h"
		changed = append(changed, siteConfig(100))
		slices.Reverse(changed) // order means nothing
		inFlight := claimOne(t, s, list[3].Origin)
		next := t0.Add(30 * time.Minute)
		got, err := s.SyncSites(t.Context(), t0, configured(changed), func(string, string) time.Time { return next })
		if err != nil || got != (Synced{Sites: 10, Added: 1, Updated: 2, Left: 1}) {
			t.Fatalf("changed: %+v, %v", got, err)
		}
		record(t, s, unchanged(inFlight, t0)) // a reload loses no lease
		if site := siteOf(t, s, list[1].Origin); !site.NextCheckAt.Equal(t0) || !slices.Equal(site.Config.Tags, []string{"news"}) {
			t.Errorf("other tags: %+v", site)
		}
		if site := siteOf(t, s, list[2].Origin); !site.NextCheckAt.Equal(next) {
			t.Errorf("another schedule: next check at %s", site.NextCheckAt)
		}

		// The one that left is never due, keeps its history, and continues.
		leases, err := s.ClaimSites(t.Context(), t0.Add(48*time.Hour), []string{list[0].Origin}, time.Minute)
		if err != nil || len(leases) != 0 {
			t.Errorf("left, yet leased: %v, %v", leases, err)
		}
		if got := resync(t, s, list); got.Back != 1 || got.Left != 1 {
			t.Errorf("back: %+v", got)
		}
		if site := siteOf(t, s, list[0].Origin); site.State != fetch.Policy || site.ID != first.Site.ID {
			t.Errorf("came back as %+v", site)
		}
	})
}

func claimOne(t testing.TB, s *Store, origin string) watcher.Lease {
	t.Helper()
	leases, err := s.ClaimSites(t.Context(), t0.Add(time.Hour), []string{origin}, time.Minute)
	if err != nil || len(leases) != 1 {
		t.Fatalf("claim %s: %d leases, %v", origin, len(leases), err)
	}
	return leases[0]
}

func siteOf(t testing.TB, s *Store, origin string) watcher.Site {
	t.Helper()
	site, err := s.SiteByOrigin(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

func TestALookUnderWayAtASiteThatLeavesIsDropped(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(2))
		l := claimOne(t, s, siteConfig(1).Origin)
		resync(t, s, siteConfigs(1))
		if lost, err := s.Record(t.Context(), []watcher.Result{policy(l, t0, "x", blockedProfile)}); err != nil || lost != 1 {
			t.Errorf("lost %d, %v", lost, err)
		}
	})
}

func TestSyncSitesTakesTheFirstOfTwo(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		list := append(siteConfigs(2), siteConfig(0))
		list[2].Tags = []string{"late"}
		if got := resync(t, s, list); got.Added != 2 {
			t.Errorf("%+v", got)
		}
		if got := resync(t, s, list); got.Changed() {
			t.Errorf("again: %+v", got)
		}
		if tags := siteOf(t, s, siteConfig(0).Origin).Config.Tags; len(tags) != 0 {
			t.Errorf("tags %v", tags)
		}
	})
}

func TestSyncSitesStopsAtAnError(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(3))
		broken := errors.New("line 7")
		_, err := s.SyncSites(t.Context(), t0, func(yield func(watcher.SiteConfig, error) bool) {
			if yield(siteConfig(0), nil) {
				yield(watcher.SiteConfig{}, broken)
			}
		}, dueNow)
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if n := count(t, s, "SELECT count(*) FROM sites WHERE active = 1"); n != 3 {
			t.Errorf("%d sites are left, want all 3", n)
		}
	})
}

func TestManyDaemonsSyncAtOnce(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		const sites = 5000
		list := siteConfigs(sites)
		var added atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			s := open(t, url)
			wg.Go(func() {
				done, err := s.SyncSites(t.Context(), t0, configured(list), dueNow)
				if err != nil {
					t.Error(err)
				}
				added.Add(int64(done.Added))
			})
		}
		wg.Wait()
		if added.Load() != sites {
			t.Errorf("%d sites added, want each once", added.Load())
		}
	})
}
