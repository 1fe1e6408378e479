package store

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// However a page of sites is found, it is what a walk over all of them gives.
func TestPagesOfSitesEqualAWalk(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		watched := []diff.Agent{{Token: "GPTBot"}, {Token: "CCBot"}}
		var now time.Time
		s := openWith(t, url, Options{CallerClock: true, Effective: func(site watcher.Site) []watcher.AgentAccess {
			list := watched
			if len(site.Config.Agents) == 1 && site.Config.Agents[0] != "@all" {
				list = []diff.Agent{{Token: site.Config.Agents[0]}}
			}
			return watcher.Effective(site, list, now, watcher.Semantics{})
		}})
		day := 0
		rapid.Check(t, func(rt *rapid.T) {
			h := looking{s: s, now: time.Now().AddDate(0, 0, day)}
			day += 2
			for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
				h.sync(rt)
				h.look(rt)
				h.now = h.now.Add(7 * time.Hour)
			}
			now = h.now
			f := watcher.SiteFilter{
				Tag:    rapid.SampledFrom([]string{"", "eu", "news", "none"}).Draw(rt, "tag"),
				State:  rapid.SampledFrom([]fetch.State{"", fetch.Policy, fetch.Denied, fetch.Unreachable, fetch.Pending}).Draw(rt, "state"),
				Agent:  rapid.SampledFrom([]string{"", "gptbot", "CCBot", "Nobody"}).Draw(rt, "agent"),
				Search: rapid.SampledFrom([]string{"", "", "3.ex"}).Draw(rt, "search"),
				After:  rapid.SampledFrom([]string{"", "https://site4"}).Draw(rt, "after"),
				Limit:  rapid.IntRange(1, 9).Draw(rt, "limit"),
			}
			if f.Agent != "" {
				f.Access = rapid.SampledFrom([]diff.Level{"", diff.Blocked, diff.Allowed, diff.Unknown}).Draw(rt, "access")
				f.Source = rapid.SampledFrom([]robots.Source{"", robots.SourceNamed, robots.SourceStatus}).Draw(rt, "source")
			}
			var want []string
			for site, err := range s.WalkSites(rt.Context(), f) {
				if err != nil {
					rt.Fatal(err)
				}
				want = append(want, site.Origin)
			}
			page, err := s.Sites(rt.Context(), f)
			if err != nil {
				rt.Fatal(err)
			}
			var got []string
			for _, site := range page {
				got = append(got, site.Origin)
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("%+v\ngot  %v\nwant %v", f, got, want)
			}
			sel, err := s.selection(rt.Context(), f)
			if err != nil {
				rt.Fatal(err)
			}
			for _, way := range []struct {
				name string
				find func() ([]string, error)
			}{
				{"walk", func() ([]string, error) {
					if f.Search != "" { // looked for among the names
						return want, nil
					}
					list, next, err := s.walk(rt.Context(), f, sel, 1_000_000)
					list, _, err = cut(f, list, next, err)
					return list, err
				}},
				{"gather", func() ([]string, error) {
					list, err := s.gather(rt.Context(), f, sel)
					list, _, err = cut(f, list, "", err)
					return list, err
				}},
			} {
				if got, err := way.find(); err != nil || !slices.Equal(got, want) {
					rt.Fatalf("%s of %+v\ngot  %v, %v\nwant %v", way.name, f, got, err, want)
				}
			}
		})
	})
}

func TestSinceWhenAndWhatIsOwed(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		list := siteConfigs(2)
		resync(t, s, list)
		record(t, s, outage(claimOne(t, s, list[0].Origin), t0.Add(-time.Minute))) // tells nothing
		record(t, s, policy(claimOne(t, s, list[0].Origin), t0, "a", profileOf(diff.Allowed, robots.SourceWildcard)))
		r := policy(claimOne(t, s, list[0].Origin), t0.Add(time.Hour), "b", blockedProfile)
		change(&r, "01J00000000000000000000001", "slack")
		c := &r.Changes[0].Change
		c.Kind, c.At = watcher.KindAccess, t0.Add(time.Hour)
		c.Agents = []diff.AgentChange{
			{Agent: "GPTBot", Before: diff.Access{Level: diff.Allowed}, After: diff.Access{Level: diff.Blocked}},
			{Agent: "CCBot", Before: diff.Access{Level: diff.Partial}, After: diff.Access{Level: diff.Partial}},
		}
		id := r.Site.ID
		record(t, s, r)

		for agent, want := range map[string]time.Time{"gptbot": t0.Add(time.Hour), "CCBot": {}, "Nobody": {}} {
			since, err := s.AccessSince(t.Context(), []int64{id, id + 1}, agent)
			if err != nil || !since[id].Equal(want) {
				t.Errorf("%s: since %v (%v), want %v", agent, since, err, want)
			}
		}
		first, err := s.FirstSeen(t.Context(), []int64{id, id + 1})
		if err != nil || len(first) != 1 || !first[id].Equal(t0) {
			t.Errorf("first seen %v (%v)", first, err)
		}
		owed, err := s.Owed(t.Context(), notify.StatusPending, 10)
		if err != nil || len(owed) != 1 || owed[0].Receiver != "slack" || owed[0].Change.ID != c.ID {
			t.Errorf("pending %+v (%v)", owed, err)
		}
		if dead, err := s.Owed(t.Context(), notify.StatusDead, 10); err != nil || len(dead) != 0 {
			t.Errorf("dead %+v (%v)", dead, err)
		}
	})
}
