package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// Whatever way is taken to find them, the same sites come out, in order.
func TestSitesByFilter(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		const n = 6200 // more than fewSites
		s := open(t, url)
		list := siteConfigs(n)
		for i := range list {
			list[i].Tags = [][]string{nil, {"eu"}, {"eu", "news"}}[i%3]
			if i%100 == 0 {
				list[i].Tags = []string{"rare_%"}
			}
		}
		resync(t, s, list)
		var all []watcher.Site
		for {
			leases := claim(t, s, t0, 500)
			if len(leases) == 0 {
				break
			}
			var results []watcher.Result
			for i, l := range leases {
				level := diff.Allowed
				if i%40 == 0 {
					level = diff.Blocked
				}
				r := policy(l, t0, "x", profileOf(level, robots.SourceNamed))
				if i%50 == 0 {
					r = outage(l, t0)
				}
				results = append(results, r)
				all = append(all, r.Site)
			}
			record(t, s, results...)
		}
		slices.SortFunc(all, func(a, b watcher.Site) int { return strings.Compare(a.Origin, b.Origin) })
		for _, f := range []watcher.SiteFilter{
			{}, {Origin: list[7].Origin}, {Search: "SITE61"}, {State: fetch.Policy}, {State: fetch.Unreachable}, {State: fetch.Denied},
			{Tag: "eu"}, {Tag: "rare_%"}, {Tag: "rare"}, {Agent: "gptbot"}, {Agent: "GPTBot", Access: diff.Blocked}, {Agent: "Nobody"},
			{Agent: "GPTBot", Access: diff.Allowed, Source: robots.SourceNamed}, {Agent: "CCBot", Source: robots.SourceNamed},
			{Tag: "rare_%", State: fetch.Policy, Agent: "GPTBot", Access: diff.Blocked}, {State: fetch.Policy, Search: "99"},
			{CheckedBefore: t0.Add(time.Hour), Tag: "news"},
		} {
			var want []string
			for i := range all {
				site := &all[i]
				if (f.Origin == "" || site.Origin == f.Origin) && strings.Contains(site.Origin, strings.ToLower(f.Search)) &&
					(f.Tag == "" || slices.Contains(site.Config.Tags, f.Tag)) && (f.State == "" || site.State == f.State) && s.selects(f, site) {
					want = append(want, site.Origin)
				}
			}
			f.Limit = 700
			var got []string
			for {
				page, err := s.Sites(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, site := range page {
					got = append(got, site.Origin)
				}
				if len(page) < f.Limit {
					break
				}
				f.After = page[len(page)-1].Origin
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v: %d sites, want %d", f, len(got), len(want))
			}
		}
	})
}

// BenchmarkFind gives the time of one page of sites by several filters.
func BenchmarkFind(b *testing.B) {
	onBothBench(b, func(b *testing.B, url string) {
		s := openWith(b, url, Options{CallerClock: true})
		populate(b, s, benchSites(b))
		for _, f := range []watcher.SiteFilter{
			{}, {Search: "number-77777"}, {Search: "nowhere"}, {State: fetch.Policy}, {State: fetch.Denied}, {Tag: "news"},
			{Agent: "Agent3Bot", Access: diff.Restricted}, {Agent: "Agent3Bot", Access: diff.Blocked}, {Tag: "news", Agent: "Agent1Bot", Access: diff.Allowed},
		} {
			f.Limit = 50
			b.Run(strings.Trim(fmt.Sprintf("%+v", f), "{}"), func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Sites(b.Context(), f); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
