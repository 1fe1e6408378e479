package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// The counts that are kept with every move must be those of counting sites,
// whatever happened: this drives a store through random histories.
func TestStandingsEqualARecount(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		day := 0
		rapid.Check(t, func(rt *rapid.T) {
			h := looking{s: s, now: t0.AddDate(0, 0, day)}
			day += 40
			rt.Repeat(map[string]func(*rapid.T){
				"":     h.check,
				"sync": h.sync,
				"look": h.look,
				"late": h.late,
				"sleep": func(rt *rapid.T) {
					h.now = h.now.Add(time.Duration(rapid.IntRange(1, 20*24).Draw(rt, "hours")) * time.Hour)
				},
			})
		})
	})
}

type looking struct {
	s      *Store
	now    time.Time
	leases []watcher.Lease // not used yet, some of them lost
}

func (h *looking) sync(t *rapid.T) {
	var list []watcher.SiteConfig
	for i := range 8 {
		if rapid.Bool().Draw(t, "configured") {
			c := siteConfig(i)
			c.Tags = rapid.SampledFrom([][]string{nil, {"eu"}, {"eu", "news"}}).Draw(t, "tags")
			c.Agents = rapid.SampledFrom([][]string{nil, {"@all"}}).Draw(t, "agents")
			list = append(list, c)
		}
	}
	if _, err := h.s.SyncSites(t.Context(), h.now, configured(list), func(string, string) time.Time { return h.now }); err != nil {
		t.Fatal(err)
	}
}

func (h *looking) claim(t *rapid.T) []watcher.Lease {
	leases, err := h.s.Claim(t.Context(), h.now, rapid.IntRange(1, 8).Draw(t, "n"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return leases
}

func (h *looking) look(t *rapid.T) {
	h.finish(t, h.claim(t))
}

// late keeps leases for another time, and uses those of an earlier one.
func (h *looking) late(t *rapid.T) {
	old := h.leases
	h.leases = h.claim(t)
	h.finish(t, old)
}

func (h *looking) finish(t *rapid.T, leases []watcher.Lease) {
	h.now = h.now.Add(time.Millisecond) // no two looks at a site share a moment
	var results []watcher.Result
	for _, l := range leases {
		var r watcher.Result
		switch rapid.IntRange(0, 4).Draw(t, "answer") {
		case 0:
			r = unchanged(l, h.now)
		case 1, 2:
			level := rapid.SampledFrom([]diff.Level{diff.Allowed, diff.Partial, diff.Blocked}).Draw(t, "level")
			r = policy(l, h.now, "Disallow: "+string(level), profileOf(level, robots.SourceNamed))
		case 3:
			r = outage(l, h.now)
			r.Site.Memory.Tentative = rapid.Bool().Draw(t, "tentative")
		case 4:
			r = unchanged(l, h.now)
			r.Site.State, r.Site.StateSince = fetch.Denied, h.now
		}
		results = append(results, r)
	}
	if _, err := h.s.Record(t.Context(), results); err != nil {
		t.Fatal(err)
	}
}

func (h *looking) check(t *rapid.T) {
	kept := h.group(t, "SELECT "+standingColumns+", sites FROM standings WHERE sites <> 0")
	recount := h.group(t, "SELECT "+standingColumns+", count(*) FROM sites WHERE active = 1 GROUP BY "+standingColumns)
	moved := h.group(t, "SELECT "+standingColumns+", sum(sites) FROM standings_daily GROUP BY "+standingColumns+" HAVING sum(sites) <> 0")
	if !maps.Equal(kept, recount) {
		t.Fatalf("kept   %v\nrecount %v", kept, recount)
	}
	if !maps.Equal(moved, recount) {
		t.Fatalf("sum of moves %v\nrecount %v", moved, recount)
	}
}

func (h *looking) group(t *rapid.T, query string) map[standing]int {
	rows, err := h.s.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	by := make(map[standing]int)
	if err := each(rows, func(scan Scan) error {
		var n int
		var k standing
		err := scan(&k.state, &k.phase, &k.profile, &k.agents, &k.tags, &n)
		by[k] = n
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return by
}

func TestTotals(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		sem := watcher.Semantics{}
		watched := []diff.Agent{{Token: "GPTBot"}, {Token: "CCBot"}}
		s := openWith(t, url, Options{CallerClock: true, Effective: func(site watcher.Site) []watcher.AgentAccess {
			return watcher.Effective(site, watched, time.Now(), sem)
		}})
		list := siteConfigs(6)
		list[1].Tags, list[2].Tags = []string{"eu"}, []string{"eu", "news"}
		resync(t, s, list)
		lookAt := func(i int, f func(watcher.Lease) watcher.Result) { record(t, s, f(claimOne(t, s, list[i].Origin))) }
		blocked := func(l watcher.Lease) watcher.Result { return policy(l, t0, "b", blockedProfile) }
		free := func(l watcher.Lease) watcher.Result {
			return policy(l, t0, "a", profileOf(diff.Allowed, robots.SourceWildcard))
		}
		down := func(at time.Time) func(watcher.Lease) watcher.Result {
			return func(l watcher.Lease) watcher.Result { return outage(l, at) }
		}
		lookAt(0, blocked)
		lookAt(1, blocked)
		lookAt(2, free)
		lookAt(3, free)
		lookAt(3, down(t0.AddDate(0, 0, 1)))
		lookAt(4, free)
		lookAt(4, down(t0.AddDate(0, 0, 1)))
		lookAt(4, down(t0.AddDate(0, 0, 32))) // for so long that its policy is in force again

		states, err := s.SiteCounts(t.Context())
		if want := (map[fetch.State]int{fetch.Policy: 3, fetch.Unreachable: 2, fetch.Pending: 1}); err != nil || !maps.Equal(states, want) {
			t.Errorf("states %v, %v; want %v", states, err, want)
		}
		totals, err := s.AgentTotals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range totals {
			got = append(got, fmt.Sprint(a.Agent, " ", a.Access, " ", a.Source, " ", a.Sites))
		}
		want := []string{"CCBot allowed wildcard 4", "CCBot blocked status 1", "CCBot unknown status 1",
			"GPTBot allowed wildcard 2", "GPTBot blocked named 2", "GPTBot blocked status 1", "GPTBot unknown status 1"}
		if !slices.Equal(got, want) {
			t.Errorf("totals\n%q, want\n%q", got, want)
		}
		eu, err := s.Standings(t.Context(), "eu")
		if err != nil || len(eu) != 2 || eu[0].Sites+eu[1].Sites != 2 {
			t.Errorf("eu: %+v, %v", eu, err)
		}
		running := make(map[string]int)
		var last time.Time
		for m, err := range s.StandingMoves(t.Context(), "", time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Day.Before(last) {
				t.Errorf("%s after %s", m.Day, last)
			}
			last = m.Day
			running[string(m.State)+fmt.Sprint(m.Aged)] += m.Sites
		}
		if running["unreachabletrue"] != 1 || running["unreachablefalse"] != 1 || running["policyfalse"] != 3 || !last.Equal(t0.AddDate(0, 0, 32).Truncate(24*time.Hour)) {
			t.Errorf("moves end at %v on %s", running, last)
		}
	})
}

func TestOverdue(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(3))
		record(t, s, unchanged(claim(t, s, t0, 1)[0], t0.Add(10*time.Hour)))
		for hours, want := range map[int]int{23: 0, 25: 2, 35: 3} {
			now := t0.Add(time.Duration(hours) * time.Hour)
			if n, err := s.Overdue(t.Context(), now.Add(-watcher.MaxGap)); err != nil || n != want {
				t.Errorf("after %d hours %d overdue, %v; want %d", hours, n, err, want)
			}
		}
	})
}
