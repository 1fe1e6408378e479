package store

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

func TestClaimGivesWhatIsDueOldestFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		list := siteConfigs(5)
		list[3].Tags, list[3].Agents, list[3].Schedule = []string{"news", "eu"}, []string{"@search", "GPTBot"}, "@every 1h"
		due := map[string]time.Time{list[0].Origin: t0.Add(-time.Hour), list[1].Origin: t0.Add(time.Second),
			list[2].Origin: t0.Add(-2 * time.Hour), list[3].Origin: t0, list[4].Origin: t0.Add(25 * time.Hour)}
		if _, err := s.SyncSites(t.Context(), t0, configured(list), func(o, _ string) time.Time { return due[o] }); err != nil {
			t.Fatal(err)
		}
		leases := claim(t, s, t0, 10)
		var got []string
		for _, l := range leases {
			got = append(got, l.Site.Origin)
		}
		// The last one is planned further ahead than any schedule allows.
		want := []string{list[2].Origin, list[0].Origin, list[3].Origin, list[4].Origin}
		if !slices.Equal(got, want) {
			t.Fatalf("claimed %v, want %v", got, want)
		}
		c := leases[2].Site.Config
		if !slices.Equal(c.Tags, []string{"eu", "news"}) || !slices.Equal(c.Agents, list[3].Agents) || c.Schedule != "@every 1h" {
			t.Errorf("configuration came back as %+v", c)
		}
		if st := leases[0].Site.State; st != fetch.Pending {
			t.Errorf("a new site is %q", st)
		}
		if again := claim(t, s, t0, 10); len(again) != 0 {
			t.Errorf("%d sites leased twice", len(again))
		}
		if again := claim(t, s, t0.Add(59*time.Second), 10); len(again) != 1 {
			t.Errorf("%d sites due a second later, want 1", len(again))
		}
		if again := claim(t, s, t0.Add(time.Minute), 10); len(again) != 4 {
			t.Errorf("%d sites due after the lease, want 4", len(again))
		}
	})
}

func TestClaimLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(7))
		for _, want := range []int{3, 3, 1, 0} {
			if got := len(claim(t, s, t0, 3)); got != want {
				t.Fatalf("claimed %d, want %d", got, want)
			}
		}
		if got := len(claim(t, s, t0.Add(time.Hour), 0)); got != 0 {
			t.Errorf("claimed %d, want none", got)
		}
	})
}

func TestConcurrentClaimsNeverShareASite(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		const sites, daemons = 1000, 6
		resync(t, open(t, url), siteConfigs(sites))
		var mu sync.Mutex
		owner := make(map[string]int)
		var wg sync.WaitGroup
		for d := range daemons {
			s := open(t, url)
			wg.Go(func() {
				for {
					leases, err := s.Claim(t.Context(), t0, 37, time.Minute)
					if err != nil {
						t.Error(err)
						return
					}
					if len(leases) == 0 {
						return
					}
					mu.Lock()
					for _, l := range leases {
						if other, ok := owner[l.Site.Origin]; ok {
							t.Errorf("%s leased to %d and %d", l.Site.Origin, other, d)
						}
						owner[l.Site.Origin] = d
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		// SKIP LOCKED lets a claimer see fewer than there are; the rest is due still.
		for _, l := range claim(t, open(t, url), t0, sites) {
			if _, ok := owner[l.Site.Origin]; ok {
				t.Errorf("%s leased twice", l.Site.Origin)
			}
			owner[l.Site.Origin] = -1
		}
		if len(owner) != sites {
			t.Errorf("%d sites leased, want %d", len(owner), sites)
		}
	})
}

func TestClaimSites(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		if _, err := s.SyncSites(t.Context(), t0, configured(siteConfigs(3)), func(string, string) time.Time { return t0.Add(time.Hour) }); err != nil {
			t.Fatal(err)
		}
		ask := func(origins ...string) int {
			t.Helper()
			leases, err := s.ClaimSites(t.Context(), t0, origins, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return len(leases)
		}
		if got := ask(siteConfig(0).Origin, "https://nobody.example"); got != 1 {
			t.Errorf("leased %d, want 1", got)
		}
		if got := ask(siteConfig(0).Origin, siteConfig(1).Origin); got != 1 {
			t.Errorf("leased %d, want 1: the other is leased", got)
		}
	})
}

func TestReleasedSitesAreDueAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(3))
		leases := claim(t, s, t0, 3)
		if err := s.Release(t.Context(), leases[:2]); err != nil {
			t.Fatal(err)
		}
		if got := len(claim(t, s, t0, 3)); got != 2 {
			t.Errorf("claimed %d, want the 2 that were released", got)
		}
		if lost, err := s.Record(t.Context(), []watcher.Result{unchanged(leases[0], t0)}); err != nil || lost != 1 {
			t.Errorf("a released lease recorded: lost %d, %v", lost, err)
		}
	})
}
