//go:build !race

// Nothing runs at once here: the race detector would only make it long.

package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// Whatever way is taken to find them, the same sites come out, in order.
func TestSitesByFilter(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		const n = 6200 // more than are gathered
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
				if i%7 == 0 {
					r.Site.Signals = []string{"content-signal ai-train=no for *", "license for *"}
				}
				if i%50 == 0 {
					r = outage(l, t0)
				}
				if i%31 == 0 {
					r.Site.Memory.Flap.StateTold = fetch.Unreachable
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
			{CheckedBefore: t0.Add(time.Hour), Tag: "news"}, {Signal: "license for *"}, {Unstable: true}, {Signal: "license for *", Unstable: true, State: fetch.Policy},
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
			if f.Origin != "" {
				continue
			}
			for _, little := range []effort{usualEffort(), {gather: 0, look: 1, hits: 3}, {gather: 100, look: walkChunk, hits: 500}} {
				s.effort = little
				if got, pages := allPages(t, s, f); !slices.Equal(got, want) {
					t.Errorf("%+v in %d pages with %+v: %d sites, want %d", f, pages, little, len(got), len(want))
				}
			}
			s.effort = usualEffort()
		}
	})
}

// allPages turns the pages of a filter to the last; short ones may be among
// them, but none that stands still.
func allPages(t *testing.T, s *Store, f watcher.SiteFilter) (origins []string, pages int) {
	t.Helper()
	f.After = ""
	for {
		page, err := s.SitePage(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Sites) > f.Limit || page.Next != "" && page.Next <= f.After {
			t.Fatalf("%+v: %d sites, next %q", f, len(page.Sites), page.Next)
		}
		for _, site := range page.Sites {
			origins = append(origins, site.Origin)
		}
		if pages++; page.Next == "" {
			return origins, pages
		}
		f.After = page.Next
	}
}

// Names are searched as a substring search over all of them would, also those
// that were added since.
func TestNames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching("[ab.]{1,4}")
		var all []string
		var text []byte
		for range 3 {
			added := rapid.SliceOfN(name, 0, 8).Draw(rt, "added")
			all = append(all, added...)
			text = mergeNames(text, slices.Clone(added))
		}
		slices.Sort(all)
		all = slices.Compact(all)
		part, after := rapid.StringMatching("[ab.]{0,2}").Draw(rt, "part"), rapid.StringMatching("[ab.]{0,3}").Draw(rt, "after")
		limit := rapid.IntRange(0, 5).Draw(rt, "limit")
		var want []string
		for _, o := range all {
			if o > after && strings.Contains(o, part) && len(want) < limit {
				want = append(want, o)
			}
		}
		if got := namesWith(text, part, after, limit); !slices.Equal(got, want) {
			rt.Fatalf("%q behind %q in %q: %q, want %q", part, after, all, got, want)
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

// Names that were read ahead are what a search looks through, together with
// those that came since.
func TestNamesAreReadAheadOfASearch(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(3))
		if err := s.LoadNames(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := string(s.names.text); strings.Count(text, "\n") != 3 {
			t.Errorf("read ahead: %q", text)
		}
		resync(t, s, siteConfigs(12))
		found, err := s.Sites(t.Context(), watcher.SiteFilter{Search: "site1", Limit: 10})
		if err != nil || len(found) != 3 { // 1, 10 and 11
			t.Errorf("%d sites, %v", len(found), err)
		}
	})
}
