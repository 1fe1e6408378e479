package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/realdata"
	"github.com/robotswatch/robotswatch/watcher"
)

// TestRealPairsAsTwoCaptures: the same access changes as the comparison of
// the two files.
func TestRealPairsAsTwoCaptures(t *testing.T) {
	s := newStore(t)
	var lines []line
	pairs := realdata.Pairs(t)
	for name, pair := range pairs {
		site := "https://" + strings.ReplaceAll(name, "_", "-") + ".example"
		lines = append(lines, policy(site, t0.Add(week), string(pair[1])), policy(site, t0, string(pair[0])))
	}
	if err := s.Sync(t.Context(), []string{"everything"}, t0); err != nil {
		t.Fatal(err)
	}
	backfill(t, s, lines...)
	if n := deliveries(t, s); n != 0 {
		t.Errorf("%d deliveries, want none", n)
	}
	captures := fetch.NewCaptures(1 << 20)
	isPolicy := func(body []byte) bool {
		out, err := captures.Outcome(fetch.Capture{Origin: example, At: t0, Status: 200, Body: body})
		return err == nil && out.State == fetch.Policy
	}
	watch, err := newJudge(t).Watch(watcher.SiteConfig{})
	if err != nil {
		t.Fatal(err)
	}
	moved, pages := 0, 0
	for name, pair := range pairs {
		if !isPolicy(pair[0]) || !isPolicy(pair[1]) {
			pages++ // one side is a page: no policy, and no change of one
			continue
		}
		k := knownOf(t, s, "https://"+strings.ReplaceAll(name, "_", "-")+".example")
		want := map[string]diff.Direction{}
		old, now := diff.NewInput(pair[0]), diff.NewInput(pair[1])
		for _, a := range append(slices.Clone(watch.Agents), diff.Named(old, now, watch.Agents)...) {
			if d := diff.Compare(old.Rules(a), now.Rules(a)).Direction; d != diff.Same {
				want[strings.ToLower(a.Token)] = d
			}
		}
		got := map[string]diff.Direction{}
		for _, c := range k.Changes {
			if !c.Backfilled {
				t.Errorf("%s: %s is not marked", name, c.Summary)
			}
			for _, a := range c.Agents {
				if c.Kind == watcher.KindAccess && a.Direction != diff.Same {
					got[strings.ToLower(a.Agent)] = a.Direction
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if len(want) > 0 {
			moved++
		}
	}
	t.Logf("%d pairs, %d with a change of access, %d in which one side is a page", len(pairs), moved, pages)
	if moved < len(pairs)/2 {
		t.Errorf("only %d of %d pairs move anybody's access", moved, len(pairs))
	}
}

// realSites is how many of the real histories are tested without
// ROBOTSWATCH_LONG.
const realSites = 60

// TestRealHistories: what is recorded is what the replay of the lines gives.
func TestRealHistories(t *testing.T) {
	s := newStore(t)
	j := newJudge(t)
	var lines []line
	bySite := map[string][]line{}
	dec := json.NewDecoder(realdata.Open(t, "corpus", "histories.jsonl.xz"))
	for {
		var l line
		err := dec.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bySite) == realSites && bySite[l.Site] == nil && os.Getenv("ROBOTSWATCH_LONG") == "" {
			break
		}
		lines = append(lines, l)
		bySite[l.Site] = append(bySite[l.Site], l)
	}
	backfill(t, s, lines...)
	captures := fetch.NewCaptures(1 << 20)
	changes := 0
	for site, list := range bySite {
		r := watcher.NewReplay(j, watcher.SiteConfig{Origin: site})
		var want []watcher.Change
		for _, l := range list {
			c := fetch.Capture{Origin: site, At: l.Time, Status: l.Status, Error: l.Error}
			if l.Body != nil {
				c.Body = *l.Body
			}
			out, err := captures.Outcome(c)
			if err != nil {
				t.Fatal(err)
			}
			v, err := r.Next(t.Context(), out)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, v.Changes...)
		}
		k := knownOf(t, s, site)
		slices.SortStableFunc(want, func(a, b watcher.Change) int { return strings.Compare(a.ID, b.ID) })
		if asJSON(t, k.Changes) != asJSON(t, want) {
			t.Errorf("%s: %s, want %s", site, kinds(k.Changes), kinds(want))
		}
		changes += len(want)
	}
	t.Logf("%d sites, %d lines, %d changes", len(bySite), len(lines), changes)
	n, found := replay(t, s, j, false)
	none(t, "replay", n, found)
	if n.Told != changes {
		t.Errorf("%d changes told again, want %d", n.Told, changes)
	}
}
