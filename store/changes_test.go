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
			f.Limit = 300
			var got []string
			for {
				page, err := s.Changes(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range page {
					got = append(got, c.ID)
				}
				if len(page) < f.Limit {
					break
				}
				f.Before = page[len(page)-1].ID
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v: %d changes, want %d", f, len(got), len(want))
			}
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
