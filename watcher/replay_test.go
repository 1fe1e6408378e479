package watcher_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/realdata"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
)

func newJudge(t testing.TB, schedule string) *watcher.Judge {
	t.Helper()
	catalogue, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	j, err := watcher.NewJudge(watcher.Settings{
		Confirm:  watcher.Confirm{Failures: 3, Interval: 5 * time.Minute},
		Schedule: schedule, Watch: []string{"@ai"}, Catalogue: catalogue,
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// moves reports whether anybody's access differs between two versions; nil
// is a site without robots.txt.
func moves(t testing.TB, j *watcher.Judge, before, after []byte) bool {
	t.Helper()
	if before != nil && after != nil && bytes.Equal(before, after) {
		return false
	}
	watch, err := j.Watch(watcher.SiteConfig{})
	if err != nil {
		t.Fatal(err)
	}
	old, now := diff.NewInput(before), diff.NewInput(after)
	list := append(append([]diff.Agent{}, watch.Agents...), diff.Named(old, now, watch.Agents)...)
	for _, a := range list {
		if diff.Compare(old.Rules(a), now.Rules(a)).Direction != diff.Same {
			return true
		}
	}
	return false
}

// counted events of one stretch.
type counted struct{ access, enter, leave, other int }

func (c *counted) add(changes []watcher.Change) {
	for _, ch := range changes {
		switch {
		case ch.Kind == watcher.KindAccess:
			c.access++
		case ch.Kind == watcher.KindState && ch.State.Before.Readable() && !ch.State.After.Readable():
			c.enter++
		case ch.Kind == watcher.KindState && !ch.State.Before.Readable() && ch.State.After.Readable():
			c.leave++
		default:
			c.other++
		}
	}
}

// TestRealHistoriesAsCaptures plays each line as one look, as a backfill
// does: the lines are changes of answer, so no fault is ever confirmed.
func TestRealHistoriesAsCaptures(t *testing.T) {
	t.Parallel()
	j := newJudge(t, "@every 6h")
	origins, lines := readHistories(t)
	var outages, same, changes int
	for _, origin := range origins {
		r := watcher.NewReplay(j, watcher.SiteConfig{Origin: origin})
		var last *[]byte
		var since counted
		faults := 0
		for _, c := range lines[origin] {
			v, err := r.Next(t.Context(), c.outcome(c.Time))
			if err != nil {
				t.Fatal(err)
			}
			since.add(v.Changes)
			if c.Body == nil {
				if last != nil {
					faults++
				}
				continue
			}
			if last != nil {
				want := 0
				if moves(t, j, *last, *c.Body) {
					want = 1
					changes++
				}
				if since.access != want || since.enter > 1 || since.leave > 1 {
					t.Errorf("%s until %v: %d access events, want %d; %d enter, %d leave", origin, c.Time, since.access, want, since.enter, since.leave)
				}
				if faults > 0 {
					outages++
					if bytes.Equal(*last, *c.Body) {
						same++
					}
				}
			}
			last, since, faults = c.Body, counted{}, 0
		}
	}
	t.Logf("%d sites, %d outages, %d ended with the same bytes, %d changes of access", len(origins), outages, same, changes)
	if outages != 1117 || same != 943 {
		t.Errorf("%d outages, %d with the same bytes; the corpus has 1117 and 943", outages, same)
	}
}

// TestRealHistoriesAsTheyWereLived holds each answer until the next one and
// looks once a day, with confirmations. Then a file that is gone for weeks is
// gone: what is expected goes by the readable answers, policy or absent.
// ROBOTSWATCH_HISTORIES sets how many sites.
func TestRealHistoriesAsTheyWereLived(t *testing.T) {
	t.Parallel()
	j := newJudge(t, "@every 24h")
	origins, lines := readHistories(t)
	origins = origins[:min(len(origins), sizes.Of(t, "ROBOTSWATCH_HISTORIES", 60, 6))]
	var looks, outages, changes, absences int
	for _, origin := range origins {
		r := watcher.NewReplay(j, watcher.SiteConfig{Origin: origin})
		history := lines[origin]
		var last *captured // readable
		var since counted
		unreadable := false
		for i := range history {
			c := history[i]
			end := c.Time.Add(14 * 24 * time.Hour)
			if i+1 < len(history) {
				end = history[i+1].Time
			}
			for at := c.Time; at.Before(end); at = r.Site().NextCheckAt {
				v, err := r.Next(t.Context(), c.outcome(at))
				if err != nil {
					t.Fatal(err)
				}
				since.add(v.Changes)
				looks++
			}
			if !c.outcome(c.Time).State.Readable() {
				unreadable = true
				continue
			}
			if c.Body == nil {
				absences++
			}
			want := 0
			if last != nil && moves(t, j, bodyOf(last), bodyOf(&c)) {
				want = 1
				changes++
			}
			leaves := 0
			if unreadable {
				leaves = 1
				outages++
			}
			if since.access != want || since.enter > 1 || since.leave > leaves {
				t.Errorf("%s until %v: %d access events, want %d; %d enter, %d leave", origin, end, since.access, want, since.enter, since.leave)
			}
			last, since, unreadable = &c, counted{}, false
		}
	}
	t.Logf("%d looks, %d outages, %d absences, %d changes of access", looks, outages, absences, changes)
}

func bodyOf(c *captured) []byte {
	if c.Body == nil {
		return nil
	}
	return *c.Body
}

// TestRealPairsWithAFaultBetween plays each real edit with and without an
// outage between old and new.
func TestRealPairsWithAFaultBetween(t *testing.T) {
	t.Parallel()
	j := newJudge(t, "@every 6h")
	faults := map[string]fetch.Outcome{
		"none":       {},
		"503":        {State: fetch.Unreachable, Reason: "http_503", Status: 503},
		"html":       {State: fetch.NotRobots, Reason: fetch.HTML, Status: 200},
		"challenged": {State: fetch.Denied, Reason: fetch.Challenge, Status: 403},
	}
	for name, pair := range realdata.Pairs(t) {
		play := func(fault fetch.Outcome, times int) []watcher.Change {
			r := watcher.NewReplay(j, watcher.SiteConfig{Origin: "https://example.com"})
			at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			var all []watcher.Change
			look := func(out fetch.Outcome) {
				out.At = at
				at = at.Add(time.Hour)
				v, err := r.Next(t.Context(), out)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, v.Changes...)
			}
			look(fetch.Outcome{State: fetch.Policy, Status: 200, Body: pair[0]})
			for range times {
				look(fault)
			}
			look(fetch.Outcome{State: fetch.Policy, Status: 200, Body: pair[1]})
			return all
		}
		var want string
		for _, c := range play(fetch.Outcome{}, 0) {
			if c.Kind == watcher.KindAccess {
				want = c.Summary
			}
		}
		if (want != "") != moves(t, j, pair[0], pair[1]) {
			t.Errorf("%s: access event %q", name, want)
		}
		for fault, out := range faults {
			for _, times := range []int{1, 4} {
				if fault == "none" {
					times = 0
				}
				var n counted
				got := ""
				changes := play(out, times)
				n.add(changes)
				for _, c := range changes {
					if c.Kind == watcher.KindAccess {
						got = c.Summary
					}
				}
				if got != want || n.access > 1 || n.enter != n.leave || times < 3 && n.enter > 0 || times > 3 && n.enter != 1 {
					t.Errorf("%s with %d times %s between: %q, want %q; %+v", name, times, fault, got, want, n)
				}
			}
		}
	}
}
