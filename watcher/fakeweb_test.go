package watcher

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/fetch"
)

// fakeWeb answers looks from a function and watches how they are made.
type fakeWeb struct {
	answer func(origin string, at time.Time) fetch.Outcome
	takes  func(origin string) time.Duration
	clock  func() time.Time
	host   func(origin string) string // what politeness is counted by

	mu      sync.Mutex
	looks   map[string]int
	inSite  map[string]bool
	inHost  map[string]int
	mostIn  map[string]int // looks at once, by host
	overlap int
	total   int
}

func newFakeWeb(answer func(string, time.Time) fetch.Outcome) *fakeWeb {
	return &fakeWeb{
		answer: answer, clock: time.Now, host: domainOf,
		takes: func(string) time.Duration { return 50 * time.Millisecond },
		looks: map[string]int{}, inSite: map[string]bool{}, inHost: map[string]int{}, mostIn: map[string]int{},
	}
}

func (f *fakeWeb) Look(ctx context.Context, req fetch.Request) fetch.Outcome {
	host := f.host(req.Origin)
	f.mu.Lock()
	if f.inSite[req.Origin] {
		f.overlap++
	}
	f.inSite[req.Origin] = true
	f.inHost[host]++
	f.mostIn[host] = max(f.mostIn[host], f.inHost[host])
	f.mu.Unlock()

	at, start := f.clock(), time.Now()
	canceled := false
	select {
	case <-time.After(f.takes(req.Origin)):
	case <-ctx.Done():
		canceled = true
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.inSite[req.Origin] = false
	f.inHost[host]--
	if canceled {
		return fetch.Outcome{At: at, State: fetch.Unreachable, Reason: fetch.Canceled}
	}
	f.looks[req.Origin]++
	f.total++
	out := f.answer(req.Origin, at)
	out.At, out.Took = at, time.Since(start)
	return out
}

// looked says how many looks at a site have finished.
func (f *fakeWeb) looked(origin string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks[origin]
}

func (f *fakeWeb) lookedInAll() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

func policyAnswer(text string) fetch.Outcome {
	return fetch.Outcome{State: fetch.Policy, Status: 200, Body: []byte(text), FinalURL: "https://example.com/robots.txt"}
}

func testJudge(t testing.TB, schedule string) *Judge {
	t.Helper()
	catalogue, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJudge(Settings{Confirm: testConfirm, Schedule: schedule, Watch: []string{"GPTBot", "CCBot"}, Catalogue: catalogue})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func testDaemon(t testing.TB, store Store, web Fetcher, schedule string, change func(*Options)) *Daemon {
	t.Helper()
	o := Options{
		Store: store, Fetcher: web, Router: toEverybody{}, Judge: testJudge(t, schedule),
		Concurrency: 16, PerDomain: 4, PerAddress: 4, Timeout: 30 * time.Second, Poll: 5 * time.Second,
	}
	if change != nil {
		change(&o)
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func testSites(n int) (sites []Site, origins []string) {
	for i := range n {
		origin := fmt.Sprintf("https://site%d.example", i)
		sites = append(sites, Site{Origin: origin, State: fetch.Pending, Config: SiteConfig{Origin: origin}})
		origins = append(origins, origin)
	}
	return sites, origins
}

// running runs a daemon for a while inside a synctest bubble.
func running(t *testing.T, d *Daemon, during func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- d.Run(ctx) }()
	during()
	cancel()
	if err := <-stopped; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}
