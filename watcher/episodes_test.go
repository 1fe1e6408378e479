package watcher_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// episode is what one site does over some days, and what should be told.
type episode struct {
	kind    string
	answers []held // oldest first
	access  int
	enters  int // at most
	leaves  int // at most
	state   int // exactly, of state events that neither enter nor leave
	exact   bool
}

// held is an answer from a moment on.
type held struct {
	from time.Duration
	out  fetch.Outcome
}

func (e *episode) at(since time.Duration) fetch.Outcome {
	out := e.answers[0].out
	for _, h := range e.answers {
		if h.from <= since {
			out = h.out
		}
	}
	return out
}

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

var bodies = []string{
	"User-agent: *\nDisallow: /private/\n",
	"User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nDisallow: /\n",
	"User-agent: *\nDisallow: /\n",
	"User-agent: *\nDisallow:\n",
	"User-agent: *\nDisallow: /private/\nDisallow: /tmp/\n",
}

// sameMeaning is the first of bodies in other words.
const sameMeaning = "# for everyone\nUser-Agent: *\n\nDisallow: /private/*\nDisallow: /private/secret\n"

func body(text string) fetch.Outcome {
	return fetch.Outcome{State: fetch.Policy, Status: 200, Body: []byte(text)}
}

var fails = []fetch.Outcome{
	{State: fetch.Unreachable, Reason: fetch.Timeout},
	{State: fetch.Unreachable, Reason: fetch.ConnRefused},
	{State: fetch.Unreachable, Reason: fetch.DNSNotFound},
	{State: fetch.Unreachable, Reason: "http_503", Status: 503},
	{State: fetch.Unreachable, Reason: "http_429", Status: 429, RetryAfter: 90 * time.Minute},
	{State: fetch.NotRobots, Reason: fetch.HTML, Status: 200},
	{State: fetch.Denied, Reason: "http_403", Status: 403},
	{State: fetch.Denied, Reason: fetch.Challenge, Status: 403},
}

var gone = fetch.Outcome{State: fetch.Absent, Reason: "http_404", Status: 404}

// newEpisode draws a story by the rates of the archives: most of what happens
// are outages, most of them end with the same bytes, a third of all edits
// mean nothing.
func newEpisode(r *rand.Rand) *episode {
	a := r.IntN(len(bodies))
	b := (a + 1 + r.IntN(len(bodies)-1)) % len(bodies)
	e := &episode{answers: []held{{0, body(bodies[a])}}}
	now := day + time.Duration(r.Int64N(int64(12*hour)))
	then := func(out fetch.Outcome, lasts time.Duration) {
		e.answers = append(e.answers, held{now, out})
		now += lasts + time.Duration(r.Int64N(int64(lasts)))
	}
	fail := fails[r.IntN(len(fails))]
	switch x := r.IntN(100); {
	case x < 40:
		e.kind, e.enters, e.leaves = "outage, same bytes", 1, 1
		then(fail, 8*hour)
		then(body(bodies[a]), day)
	case x < 47:
		e.kind, e.access, e.enters, e.leaves = "outage, other bytes", 1, 1, 1
		then(fail, 8*hour)
		then(body(bodies[b]), day)
	case x < 55:
		e.kind = "passing fault"
		then(fail, time.Minute)
		then(body(bodies[a]), day)
	case x < 60:
		e.kind, e.enters, e.leaves = "one outage after another", 2, 2
		then(fail, 8*hour)
		then(body(bodies[a]), day)
		then(fails[r.IntN(len(fails))], 8*hour)
		then(body(bodies[a]), day)
	case x < 75:
		e.kind, e.access, e.exact = "change", 1, true
		then(body(bodies[b]), day)
	case x < 80:
		e.kind, e.access, e.exact = "reversal", 2, true
		then(body(bodies[b]), 20*hour)
		then(body(bodies[a]), day)
	case x < 84:
		e.kind, e.access, e.exact = "two reversals", 4, true
		for range 2 {
			then(body(bodies[b]), 20*hour)
			then(body(bodies[a]), 20*hour)
		}
	case x < 90:
		e.kind, e.exact = "an edit that means nothing, and back", true
		e.answers[0].out = body(bodies[0])
		then(body(sameMeaning), day)
		then(body(bodies[0]), day)
	case x < 94:
		e.kind, e.access, e.exact = "file gone", 1, true
		if bodies[a] == "User-agent: *\nDisallow:\n" {
			e.access, e.state = 0, 1
		}
		then(gone, day)
	case x < 97:
		e.kind, e.access, e.exact = "file gone and back", 2, true
		if bodies[a] == "User-agent: *\nDisallow:\n" {
			e.access, e.state = 0, 2
		}
		then(gone, day)
		then(body(bodies[a]), day)
	default:
		e.kind, e.access, e.exact = "never checked before it went down", 0, true
		e.enters, e.leaves = 0, 1
		e.answers[0].out = fail
		then(body(bodies[a]), day)
	}
	return e
}

// TestEpisodes plays generated stories through claim, judge and record on a
// real store, with the clock faked: five minutes a step, every six hours a
// look, all sites side by side. ROBOTSWATCH_EPISODES sets how many.
func TestEpisodes(t *testing.T) {
	t.Parallel()
	n := sizes.Of(t, "ROBOTSWATCH_EPISODES", 300, 40)
	r := rand.New(rand.NewPCG(9309, uint64(n)))
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	stories := map[string]*episode{}
	var configs []watcher.SiteConfig
	for i := range n {
		origin := fmt.Sprintf("https://episode%d.example", i)
		stories[origin] = newEpisode(r)
		configs = append(configs, watcher.SiteConfig{Origin: origin})
	}
	p := newPipeline(t, configs, start)
	looks := 0
	for now := start; now.Before(start.Add(9 * day)); now = now.Add(5 * time.Minute) {
		looks += p.step(now, func(site watcher.Site) fetch.Outcome {
			return stories[site.Origin].at(now.Sub(start))
		})
	}
	told := map[string]*counted{}
	for c, err := range p.store.WalkChanges(t.Context(), watcher.ChangeFilter{Cosmetic: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if told[c.Site] == nil {
			told[c.Site] = &counted{}
		}
		if c.Kind != watcher.KindCosmetic {
			told[c.Site].add([]watcher.Change{c})
		}
	}
	kinds := map[string]int{}
	for origin, e := range stories {
		kinds[e.kind]++
		got := told[origin]
		if got == nil {
			got = &counted{}
		}
		wrong := got.access != e.access || got.enter > e.enters || got.leave > e.leaves || got.enter != got.leave && e.enters > 0
		if e.exact {
			wrong = wrong || got.other != e.state
		}
		if wrong {
			t.Errorf("%s (%s): told %+v, want %+v", origin, e.kind, *got, *e)
		}
	}
	t.Logf("%d episodes, %d looks: %v", n, looks, kinds)
}

// pipeline is claim, judge and record on a real store.
type pipeline struct {
	t     testing.TB
	store *store.Store
	judge *watcher.Judge
}

func newPipeline(t testing.TB, configs []watcher.SiteConfig, start time.Time) *pipeline {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "watch.db"), store.Options{CallerClock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var list iter.Seq2[watcher.SiteConfig, error] = func(yield func(watcher.SiteConfig, error) bool) {
		for _, c := range configs {
			if !yield(c, nil) {
				return
			}
		}
	}
	due := func(string, string) time.Time { return start }
	if _, err := s.SyncSites(t.Context(), start, list, due); err != nil {
		t.Fatal(err)
	}
	return &pipeline{t: t, store: s, judge: newJudge(t, "@every 6h")}
}

// step makes all looks that are due.
func (p *pipeline) step(now time.Time, answer func(watcher.Site) fetch.Outcome) (looks int) {
	for {
		leases, err := p.store.Claim(p.t.Context(), now, 500, time.Minute)
		if err != nil {
			p.t.Fatal(err)
		}
		if len(leases) == 0 {
			return looks
		}
		looks += len(leases)
		p.record(leases, func(site watcher.Site) fetch.Outcome {
			out := answer(site)
			out.At = now
			return out
		})
	}
}

// record judges what the claimed sites answer, and writes it.
func (p *pipeline) record(leases []watcher.Lease, answer func(watcher.Site) fetch.Outcome) {
	p.t.Helper()
	var results []watcher.Result
	for _, l := range leases {
		v, err := p.judge.Judge(p.t.Context(), l.Site, answer(l.Site), p.store)
		if err != nil {
			p.t.Fatal(err)
		}
		result := watcher.Result{Lease: l, Site: v.Site, Observation: v.Observation, Body: v.Body}
		for _, c := range v.Changes {
			result.Changes = append(result.Changes, watcher.Routed{Change: c, Receivers: []string{"all"}, GroupKey: c.ID})
		}
		results = append(results, result)
	}
	if lost, err := p.store.Record(p.t.Context(), results); err != nil || lost != 0 {
		p.t.Fatalf("recorded with %d lost: %v", lost, err)
	}
}

// TestRealHistoriesThroughTheStore makes each line a look at its own time,
// with everything kept in the store in between: what is told must be what
// Replay tells of the same answers. ROBOTSWATCH_HISTORIES sets how many sites.
func TestRealHistoriesThroughTheStore(t *testing.T) {
	t.Parallel()
	origins, lines := readHistories(t)
	origins = origins[:min(len(origins), sizes.Of(t, "ROBOTSWATCH_HISTORIES", 60, 6))]
	var configs []watcher.SiteConfig
	for _, o := range origins {
		configs = append(configs, watcher.SiteConfig{Origin: o})
	}
	p := newPipeline(t, configs, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	for i := 0; ; i++ {
		var due []string
		for _, o := range origins {
			if i < len(lines[o]) {
				due = append(due, o)
			}
		}
		if len(due) == 0 {
			break
		}
		leases, err := p.store.ClaimSites(t.Context(), time.Now(), due, time.Minute)
		if err != nil || len(leases) != len(due) {
			t.Fatalf("%d of %d sites claimed: %v", len(leases), len(due), err)
		}
		p.record(leases, func(site watcher.Site) fetch.Outcome {
			c := lines[site.Origin][i]
			return c.outcome(c.Time)
		})
	}
	told := map[string]string{}
	for c, err := range p.store.WalkChanges(t.Context(), watcher.ChangeFilter{Cosmetic: true}) {
		if err != nil {
			t.Fatal(err)
		}
		told[c.ID] = fmt.Sprint(c.Site, c.Kind, c.Severity, c.Summary, c.State, c.BeforeSHA256, c.AfterSHA256, len(c.Agents))
	}
	total := 0
	for _, o := range origins {
		r := watcher.NewReplay(p.judge, watcher.SiteConfig{Origin: o})
		for _, line := range lines[o] {
			v, err := r.Next(t.Context(), line.outcome(line.Time))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range v.Changes {
				total++
				if want := fmt.Sprint(c.Site, c.Kind, c.Severity, c.Summary, c.State, c.BeforeSHA256, c.AfterSHA256, len(c.Agents)); told[c.ID] != want {
					t.Errorf("live: %s\nreplay: %s", told[c.ID], want)
				}
			}
		}
	}
	if total != len(told) || total == 0 {
		t.Errorf("%d events live, %d by replay", len(told), total)
	}
}
