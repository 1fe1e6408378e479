package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

var blockedProfile = profileOf(diff.Blocked, robots.SourceNamed)

func TestRecordAndReadBack(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		l := claim(t, s, t0, 1)[0]
		r := policy(l, t0, "User-agent: GPTBot\nDisallow: /\n", blockedProfile)
		r.Site.Memory.ETag = `"x"`
		change(&r, "01KB000000000000000000000A", "policy", "log")
		record(t, s, r)

		site, err := s.SiteByOrigin(t.Context(), l.Site.Origin)
		if err != nil {
			t.Fatal(err)
		}
		if site.State != fetch.Policy || site.Readable != fetch.Policy || site.Body != r.Site.Body || site.Memory.ETag != `"x"` ||
			!slices.Equal(site.Profile, blockedProfile) || !site.LastCheckAt.Equal(t0) || !site.NextCheckAt.Equal(r.Site.NextCheckAt) {
			t.Errorf("site came back as %+v", site)
		}
		body, err := s.Body(t.Context(), site.Body)
		if err != nil || string(body) != string(r.Body) {
			t.Errorf("body %q, %v", body, err)
		}
		ob, err := lastObservation(t.Context(), s, l.Site.Origin, t0.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if ob.FinalURL != r.Observation.FinalURL || ob.Evidence.Vendor != "cloudflare" || ob.Body != site.Body || ob.Status != 200 {
			t.Errorf("observation came back as %+v", ob)
		}
		c, err := s.ChangeByID(t.Context(), idOf(t0, "01KB000000000000000000000A"))
		if err != nil || c.Summary != "GPTBot now blocked" || c.Agents[0].NewlyDisallowed[0].Example != "/" {
			t.Errorf("change came back as %+v, %v", c, err)
		}
		if n := count(t, s, "SELECT count(*) FROM deliveries WHERE status = 'pending'"); n != 2 {
			t.Errorf("%d deliveries, want 2", n)
		}
		if _, err := s.Body(t.Context(), watcher.Hash{1}); !errors.Is(err, watcher.ErrNotFound) {
			t.Errorf("unknown body: %v", err)
		}
	})
}

func TestUnchangedLooksWriteNoRowButTheSite(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		now := t0
		record(t, s, policy(claim(t, s, now, 1)[0], now, "User-agent: *\n", blockedProfile))
		rows := func() int {
			return count(t, s, `SELECT (SELECT count(*) FROM observations) + (SELECT count(*) FROM bodies)
				+ (SELECT count(*) FROM changes) + (SELECT count(*) FROM profiles)`)
		}
		before := rows()
		for range 3 {
			now = now.Add(6 * time.Hour)
			record(t, s, unchanged(claim(t, s, now, 1)[0], now))
		}
		if after := rows(); after != before {
			t.Errorf("%d rows, were %d", after, before)
		}
		runs, err := s.Observations(t.Context(), siteConfig(0).Origin, time.Time{}, time.Time{}, 0)
		if err != nil || len(runs) != 1 || !runs[0].At.Equal(t0) || !runs[0].LastAt.Equal(now) {
			t.Errorf("runs %+v, %v", runs, err)
		}
	})
}

func TestRunsFollowEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		at := func(h int) time.Time { return t0.Add(time.Duration(h) * 6 * time.Hour) }
		origin := siteConfig(0).Origin
		record(t, s, policy(claim(t, s, at(0), 1)[0], at(0), "a", blockedProfile))
		record(t, s, unchanged(claim(t, s, at(1), 1)[0], at(1)))
		record(t, s, outage(claim(t, s, at(2), 1)[0], at(2)))
		record(t, s, outage(claim(t, s, at(3), 1)[0], at(3)))
		record(t, s, policy(claim(t, s, at(4), 1)[0], at(4), "b", blockedProfile))
		runs, err := s.Observations(t.Context(), origin, time.Time{}, time.Time{}, 0)
		if err != nil || len(runs) != 3 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		for i, want := range [][2]int{{4, 4}, {2, 3}, {0, 1}} {
			if !runs[i].At.Equal(at(want[0])) || !runs[i].LastAt.Equal(at(want[1])) {
				t.Errorf("run %d: %s to %s", i, runs[i].At, runs[i].LastAt)
			}
		}
		if some, err := s.Observations(t.Context(), origin, at(1), at(4), 5); err != nil || len(some) != 1 {
			t.Errorf("in between: %d runs, %v", len(some), err)
		}
		if ob, err := lastObservation(t.Context(), s, origin, at(3)); err != nil || ob.State != fetch.Unreachable || ob.FinalURL != "https://www.example/robots.txt" {
			t.Errorf("seen then: %+v, %v", ob, err)
		}
		if _, err := lastObservation(t.Context(), s, origin, t0.Add(-time.Second)); !errors.Is(err, watcher.ErrNotFound) {
			t.Errorf("before the first look: %v", err)
		}
	})
}

func TestALostLeaseLeavesNoTrace(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(2))
		frozen := claim(t, s, t0, 2)
		late := t0.Add(2 * time.Minute)
		other := claim(t, s, late, 1)
		if len(other) != 1 {
			t.Fatalf("claimed %d after the lease ran out", len(other))
		}
		results := make([]watcher.Result, 2)
		for i, l := range frozen {
			results[i] = policy(l, t0, "User-agent: *\nDisallow: /"+l.Site.Origin, blockedProfile)
			change(&results[i], "01KB00000000000000000000"+[]string{"0A", "0B"}[i], "policy")
		}
		lost, err := s.Record(t.Context(), results)
		if err != nil || lost != 1 {
			t.Fatalf("lost %d, %v; want 1", lost, err)
		}
		for table, want := range map[string]int{"observations": 1, "changes": 1, "deliveries": 1, "bodies": 1} {
			if n := count(t, s, "SELECT count(*) FROM "+table); n != want {
				t.Errorf("%s: %d rows, want %d", table, n, want)
			}
		}
		record(t, s, policy(other[0], late, "x", blockedProfile))
		if lost, err := s.Record(t.Context(), []watcher.Result{policy(other[0], late.Add(time.Second), "y", blockedProfile)}); err != nil || lost != 1 {
			t.Errorf("another result with the same lease: lost %d, %v", lost, err)
		}
	})
}

// A commit whose answer never came may have happened: whoever records the
// same again must neither double it nor hear that it was lost.
func TestRecordingTheSameAgainChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		r := policy(claim(t, s, t0, 1)[0], t0, "x", blockedProfile)
		change(&r, "01KB000000000000000000000A", "policy")
		record(t, s, r)
		record(t, s, r)
		for _, table := range []string{"observations", "changes", "deliveries"} {
			if n := count(t, s, "SELECT count(*) FROM "+table); n != 1 {
				t.Errorf("%d %s", n, table)
			}
		}
		if n := count(t, s, "SELECT sum(sites) FROM standings WHERE state = 'policy'"); n != 1 {
			t.Errorf("%d sites counted", n)
		}
	})
}

func TestRecordIsAllOrNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(2))
		leases := claim(t, s, t0, 2)
		good := policy(leases[0], t0, "a", blockedProfile)
		change(&good, "01KB000000000000000000000A", "policy")
		bad := policy(leases[1], t0, "b", blockedProfile)
		bad.Body = nil // refers to bytes that nobody has
		if _, err := s.Record(t.Context(), []watcher.Result{good, bad}); err == nil || !strings.Contains(err.Error(), "neither kept nor given") {
			t.Fatalf("recorded: %v", err)
		}
		if n := count(t, s, `SELECT (SELECT count(*) FROM observations) + (SELECT count(*) FROM bodies) + (SELECT count(*) FROM changes)
			+ (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM sites WHERE state <> 'pending' OR last_check_at <> 0)`); n != 0 {
			t.Errorf("%d rows were left behind", n)
		}
		record(t, s, good) // the lease still holds
	})
}

func TestBodiesAreKeptOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(10))
		var results []watcher.Result
		for _, l := range claim(t, s, t0, 10) {
			results = append(results, policy(l, t0, "User-agent: *\nDisallow: /wp-admin/\n", blockedProfile))
		}
		record(t, s, results...)
		if n := count(t, s, "SELECT count(*) FROM bodies"); n != 1 {
			t.Errorf("%d bodies, want 1", n)
		}
		if n := count(t, s, "SELECT count(*) FROM profiles"); n != 1 {
			t.Errorf("%d profiles, want 1", n)
		}
	})
}

func TestExpectations(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(2))
		e := watcher.Expectation{Site: siteConfig(1).Origin, Agent: "GPTBot", Until: t0.Add(time.Hour), Note: "relaunch"}
		id, err := s.Expect(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		e.ID = id
		if _, err := s.Expect(t.Context(), watcher.Expectation{Site: "https://nobody.example", Until: t0.Add(time.Hour)}); !errors.Is(err, watcher.ErrNotFound) {
			t.Errorf("a site that is not watched: %v", err)
		}
		for _, l := range claim(t, s, t0, 2) {
			if want := l.Site.Origin == e.Site; want != slices.Equal(l.Site.Expected, []watcher.Expectation{e}) {
				t.Errorf("%s expects %+v", l.Site.Origin, l.Site.Expected)
			}
		}
		if list, err := s.Expectations(t.Context(), "", e.Until); err != nil || len(list) != 0 {
			t.Errorf("run out: %v, %v", list, err)
		}
		if err := s.DropExpectation(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := s.DropExpectation(t.Context(), id); !errors.Is(err, watcher.ErrNotFound) {
			t.Errorf("dropped twice: %v", err)
		}
	})
}
