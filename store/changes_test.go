//go:build !race

// Nothing runs at once here: the race detector would only make it long.

package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

// Whatever way is taken to find them, the same changes come out, newest first.
func TestChangesByFilter(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		list := siteConfigs(100)
		for i := range list {
			list[i].Tags = [][]string{{"eu"}, {"eu", "news"}, nil}[i%3]
		}
		list[42].Tags = []string{"rare"}
		resync(t, s, list)
		var all []watcher.Change
		n := 0
		for round := range 30 {
			now := t0.AddDate(0, 0, round)
			var results []watcher.Result
			for _, l := range claim(t, s, now, 100) {
				r := unchanged(l, now)
				for range 1 + n%2 {
					n++
					change(&r, fmt.Sprint(n), "log")
					c := &r.Changes[len(r.Changes)-1].Change
					c.Tags = l.Site.Config.Tags
					c.Kind = []watcher.Kind{watcher.KindAccess, watcher.KindCosmetic, watcher.KindAccess, watcher.KindState}[n%4]
					c.Severity = []watcher.Severity{watcher.Critical, watcher.Warning, watcher.Info}[n%3]
					if n%500 == 0 {
						c.Kind, c.Agents[0].Agent = watcher.KindSignal, "RareBot"
					}
					all = append(all, *c)
				}
				results = append(results, r)
			}
			record(t, s, results...)
		}
		slices.SortFunc(all, func(a, b watcher.Change) int { return -compareIDs(a.ID, b.ID) })
		if n < 2*fewChanges {
			t.Fatalf("only %d changes: the long way would not be tested", n)
		}
		for _, f := range []watcher.ChangeFilter{
			{}, {Cosmetic: true}, {Site: list[3].Origin}, {Agent: "gptbot"}, {Agent: "RAREBOT"}, {Agent: "nobody"},
			{Tag: "eu"}, {Tag: "rare"}, {Tag: "none"}, {Kinds: []watcher.Kind{watcher.KindSignal}}, {Kinds: []watcher.Kind{watcher.KindSitemap}},
			{Kinds: []watcher.Kind{watcher.KindAccess, watcher.KindState}}, {Severity: watcher.Warning}, {Severity: watcher.Critical, Tag: "news"},
			{Since: t0.AddDate(0, 0, 3), Until: t0.AddDate(0, 0, 5)}, {Agent: "GPTBot", Kinds: []watcher.Kind{watcher.KindState}, Tag: "rare"},
			{Site: list[42].Origin, Agent: "GPTBot", Kinds: []watcher.Kind{watcher.KindState}}, {Site: "https://nobody.example"},
		} {
			var want []string
			for _, c := range all {
				kinds := f.Kinds
				if len(kinds) == 0 {
					kinds = []watcher.Kind{watcher.KindAccess, watcher.KindState, watcher.KindSignal}
					if f.Cosmetic {
						kinds = append(kinds, watcher.KindCosmetic)
					}
				}
				if (f.Site == "" || c.Site == f.Site) && (f.Agent == "" || hasAgent(c, f.Agent)) && (f.Tag == "" || slices.Contains(c.Tags, f.Tag)) &&
					slices.Contains(kinds, c.Kind) && c.Severity.Rank() >= f.Severity.Rank() &&
					(f.Since.IsZero() || !c.At.Before(f.Since)) && (f.Until.IsZero() || c.At.Before(f.Until)) {
					want = append(want, c.ID)
				}
			}
			whole, err := s.Changes(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if got := idsOf(whole); !slices.Equal(got, want) {
				t.Errorf("%+v: %d changes, want %d", f, len(got), len(want))
			}
			f.Limit = 300
			for _, look := range []int{usualEffort().changes, 2500, 301, 100} {
				s.effort.changes = look
				if got, pages := allChangePages(t, s, f); !slices.Equal(got, want) {
					t.Errorf("%+v in %d pages that look at %d: %d changes, want %d", f, pages, look, len(got), len(want))
				}
			}
			s.effort = usualEffort()
		}
	})
}

// allChangePages turns the pages of a filter to the last; short ones may be
// among them, but none that stands still.
func allChangePages(t *testing.T, s *Store, f watcher.ChangeFilter) (ids []string, pages int) {
	t.Helper()
	for {
		page, err := s.ChangePage(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Changes) > f.Limit || f.Before != "" && page.Next >= f.Before {
			t.Fatalf("%+v: %d changes, next %q", f, len(page.Changes), page.Next)
		}
		ids = append(ids, idsOf(page.Changes)...)
		if pages++; page.Next == "" {
			return ids, pages
		}
		f.Before = page.Next
	}
}

func idsOf(list []watcher.Change) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// A page looks at no more changes than its limit: what comes after is for the
// next one, and that begins where this one ended.
func TestAPageOfChangesLooksAtSoMany(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		const look, behind = 50, 10
		for i := range look + 1 + behind {
			now := t0.Add(time.Duration(i) * 7 * time.Hour)
			r := unchanged(claim(t, s, now, 1)[0], now)
			change(&r, fmt.Sprint(i))
			r.Changes[0].Change.Severity = watcher.Info
			if i == behind { // of all look+1 newer ones none is critical
				r.Changes[0].Change.Severity = watcher.Critical
			}
			record(t, s, r)
		}
		all, err := s.Changes(t.Context(), watcher.ChangeFilter{})
		if err != nil {
			t.Fatal(err)
		}
		rare := all[look]
		if rare.Severity != watcher.Critical {
			t.Fatalf("the rare change is another one: %+v", rare)
		}
		s.effort.changes = look
		f := watcher.ChangeFilter{Severity: watcher.Critical, Limit: 10}
		page, err := s.ChangePage(t.Context(), f)
		if err != nil || len(page.Changes) != 0 || page.Next != all[look-1].ID {
			t.Errorf("it is one too far: %d changes, next %s (%v), want %s", len(page.Changes), page.Next, err, all[look-1].ID)
		}
		f.Before = page.Next
		if page, err = s.ChangePage(t.Context(), f); err != nil || len(page.Changes) != 1 || page.Changes[0].ID != rare.ID || page.Next != "" {
			t.Errorf("the next page: %d changes, next %q (%v)", len(page.Changes), page.Next, err)
		}
		f.Before = all[0].ID
		if page, err = s.ChangePage(t.Context(), f); err != nil || len(page.Changes) != 1 || page.Next != rare.ID {
			t.Errorf("it is the last that is looked at: %d changes, next %q (%v)", len(page.Changes), page.Next, err)
		}
	})
}

func compareIDs(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func hasAgent(c watcher.Change, agent string) bool {
	return slices.ContainsFunc(c.Agents, func(a diff.AgentChange) bool { return strings.EqualFold(a.Agent, agent) })
}

func TestIDBound(t *testing.T) {
	if a, b := idBound(t0), idBound(t0.Add(time.Millisecond)); bytes.Compare(a, b) >= 0 || len(a) != 16 || !bytes.Equal(a[6:], make([]byte, 10)) {
		t.Errorf("%x, %x", a, b)
	}
	if got := idBound(time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)); !bytes.Equal(got, noKey) {
		t.Errorf("beyond all ids: %x", got)
	}
}
