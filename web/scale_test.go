//go:build campaign

package web_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

// latencyBudget is what 99 of 100 answers may take.
const latencyBudget = 200 * time.Millisecond

// TestPagesStayQuickOverManySites fills a store with ROBOTSWATCH_SCALE sites
// (the promise is for 1,000,000) and measures every page and API call while
// looks go on, then with 50 clients at once. ROBOTSWATCH_SCALE_STORE names a
// store to fill once and to use again.
func TestPagesStayQuickOverManySites(t *testing.T) {
	n := sizes.Of(t, "ROBOTSWATCH_SCALE", 20_000, 20_000)
	w, variants := manySites(t, n)
	ctx, stop := context.WithCancel(t.Context())
	var looks sync.WaitGroup
	looks.Go(func() { keepLooking(ctx, t, w, variants) })
	defer looks.Wait()
	defer stop()

	rnd := rand.New(rand.NewPCG(5, 6))
	targets := scaleTargets(t, w)
	for _, target := range targets { // what is remembered is remembered from now on
		get(t, w.server, "GET", "http://localhost"+target(rnd))
	}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) { measure(t, w, name, target, rnd) })
	}
	t.Run("50 clients", func(t *testing.T) { manyClients(t, w, targets) })
}

func measure(t *testing.T, w *world, name string, target func(*rand.Rand) string, rnd *rand.Rand) {
	const calls = 200
	var took []time.Duration
	spent := cpu(t)
	for range calls {
		path := target(rnd)
		begin := time.Now()
		got := get(t, w.server, "GET", "http://localhost"+path)
		took = append(took, time.Since(begin))
		if got.Code != 200 {
			t.Fatalf("%s: status %d: %s", path, got.Code, got.Body)
		}
	}
	slices.Sort(took)
	p50, p99 := took[calls/2], took[calls*99/100]
	t.Logf("%-17s cpu %8v  p50 %8v  p99 %8v  max %8v", name, (cpu(t)-spent)/calls, p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond), took[calls-1].Round(10*time.Microsecond))
	if p99 > latencyBudget {
		t.Errorf("%s: 99 %% within %v, want %v", name, p99, latencyBudget)
	}
}

// cpu is what this process has used so far.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Round(10 * time.Microsecond)
}

// manyClients asks from 50 clients at once: no errors, memory flat.
func manyClients(t *testing.T, w *world, targets map[string]func(*rand.Rand) string) {
	var all []func(*rand.Rand) string
	for _, f := range targets {
		all = append(all, f)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round := func() {
		var clients sync.WaitGroup
		for c := range 50 {
			clients.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(c), 1))
				for range 40 {
					path := all[rnd.IntN(len(all))](rnd)
					if got := get(t, w.server, "GET", "http://localhost"+path); got.Code != 200 {
						t.Errorf("%s: status %d", path, got.Code)
					}
				}
			})
		}
		clients.Wait()
	}
	round()
	before := heap()
	begin := time.Now()
	for range 3 {
		round()
	}
	took := time.Since(begin)
	after := heap()
	t.Logf("50 clients: %.0f answers a second; heap %d MiB before, %d MiB after", 3*50*40/took.Seconds(), before>>20, after>>20)
	if after > before+before/4+16<<20 {
		t.Errorf("heap grew from %d to %d MiB", before>>20, after>>20)
	}
}

// manySites has n sites with a few hundred policies, some of which changed.
func manySites(t *testing.T, n int) (*world, []look) {
	begin := today.AddDate(0, 0, -40)
	var sites []watcher.SiteConfig
	tags := [][]string{{"news"}, {"shop"}, {"news", "eu"}, nil, {"rare"}}
	for i := range n {
		k := i % 4
		if i%5000 == 0 {
			k = 4
		}
		sites = append(sites, watcher.SiteConfig{Origin: fmt.Sprintf("https://site-%07d.example", i), Tags: tags[k]})
	}
	start := time.Now()
	path := os.Getenv("ROBOTSWATCH_SCALE_STORE")
	if path == "" {
		path = filepath.Join(t.TempDir(), "scale.db")
	}
	w := worldAt(t, path, web.Settings{Version: "test"}, sites, begin)
	var err error
	var variants []look
	tokens := []string{"GPTBot", "CCBot", "ClaudeBot", "Bytespider", "Amazonbot", "PerplexityBot", "Google-Extended", "Applebot-Extended", "Diffbot", "cohere-ai"}
	for v := range 600 {
		var b strings.Builder
		for i, token := range tokens {
			if v>>i&1 == 1 {
				fmt.Fprintf(&b, "User-agent: %s\nDisallow: %s\n\n", token, []string{"/", "/a"}[v/7%2])
			}
		}
		b.WriteString(policies()[v%len(policies())])
		variants = append(variants, policySeen("", begin, b.String()))
	}
	t.Logf("%d sites configured in %v", n, time.Since(start).Round(time.Second))
	start = time.Now()
	lookAtAll(t, w, path, begin, variants)
	t.Logf("looks recorded in %v", time.Since(start).Round(time.Second))
	start = time.Now()
	w.server, err = web.New(web.Settings{Version: "test"}, web.Deps{Store: w.store, Judge: w.judge, Now: func() time.Time { return today.Add(time.Since(start)) }})
	if err != nil {
		t.Fatal(err)
	}
	return w, variants
}

// lookAtAll looks at every site once, and then at some again. How far it came
// is kept beside the store, so that a long filling may be broken off.
func lookAtAll(t *testing.T, w *world, path string, begin time.Time, variants []look) {
	done := 0
	if text, err := os.ReadFile(path + ".looks"); err == nil {
		if done, err = strconv.Atoi(string(text)); err != nil {
			t.Fatal(err)
		}
	}
	n := len(w.sites)
	for done < n+n/5 {
		round, in := 0, done
		if done >= n {
			round, in = 1, done-n
		}
		at := begin.AddDate(0, 0, 30*round).Add(time.Duration(in) * time.Millisecond * 20)
		k := lookAt(t, w, at, variants, round, min(500, n+n/5-done))
		if done += k; k == 0 { // it was broken off between a look and its note
			if done >= n {
				break
			}
			done = n
		}
		if err := os.WriteFile(path+".looks", []byte(strconv.Itoa(done)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// lookAt claims due sites and records what they answer: mostly what they did.
func lookAt(t *testing.T, w *world, at time.Time, variants []look, salt, n int) int {
	leases, err := w.store.Claim(t.Context(), at, n, time.Minute)
	if err != nil {
		t.Error(err)
		return n
	}
	var results []watcher.Result
	for _, l := range leases {
		k := int(l.Site.ID) * 7 % 600
		if int(l.Site.ID)%10 == 0 {
			k = (k + salt) % 600
		}
		out := variants[k].out
		out.At, out.FinalURL = at, l.Site.Origin+"/robots.txt"
		if l.Site.ID%50 == 0 {
			out = outage(l.Site.Origin, at, "unreachable", 503)[0].out
		}
		v, err := w.judge.Judge(t.Context(), l.Site, out, w.store)
		if err != nil {
			t.Error(err)
			return n
		}
		v.Site.NextCheckAt = at.AddDate(0, 0, 1)
		r := watcher.Result{Lease: l, Site: v.Site, Observation: v.Observation, Body: v.Body}
		for _, c := range v.Changes {
			r.Changes = append(r.Changes, watcher.Routed{Change: c})
		}
		results = append(results, r)
	}
	if _, err := w.store.Record(t.Context(), results); err != nil {
		t.Error(err)
	}
	return len(leases)
}

// keepLooking records looks until it is stopped, as a daemon would.
func keepLooking(ctx context.Context, t *testing.T, w *world, variants []look) {
	at := today.AddDate(0, 0, 2)
	for i := 0; ctx.Err() == nil; i++ {
		lookAt(t, w, at.Add(time.Duration(i)*time.Second), variants, 2+i%3, 50)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func scaleTargets(t *testing.T, w *world) map[string]func(*rand.Rand) string {
	changes, err := w.store.Changes(t.Context(), watcher.ChangeFilter{Limit: 500})
	if err != nil || len(changes) == 0 {
		t.Fatalf("no changes: %v", err)
	}
	host := func(r *rand.Rand) string { return strings.TrimPrefix(w.sites[r.IntN(len(w.sites))], "https://") }
	agent := func(r *rand.Rand) string {
		return []string{"GPTBot", "CCBot", "ClaudeBot", "Bytespider", "Devin", "PerplexityBot"}[r.IntN(6)]
	}
	level := func(r *rand.Rand) string {
		return []string{"blocked", "restricted", "partial", "allowed", "unknown"}[r.IntN(5)]
	}
	fixed := func(path string) func(*rand.Rand) string { return func(*rand.Rand) string { return path } }
	return map[string]func(*rand.Rand) string{
		"overview":     fixed("/"),
		"sites":        func(r *rand.Rand) string { return "/sites?cursor=" + url.QueryEscape(w.sites[r.IntN(len(w.sites))]) },
		"sites search": func(r *rand.Rand) string { return "/sites?search=" + host(r)[5:12] },
		"sites tag":    func(r *rand.Rand) string { return "/sites?tag=" + []string{"news", "eu", "rare", "none"}[r.IntN(4)] },
		"sites state": func(r *rand.Rand) string {
			return "/sites?state=" + []string{"unreachable", "denied", "policy", "pending"}[r.IntN(4)]
		},
		"sites overdue": fixed("/sites?overdue=1"),
		"sites agent":   func(r *rand.Rand) string { return "/sites?agent=" + agent(r) + "&access=" + level(r) },
		"sites everything": func(r *rand.Rand) string {
			return "/sites?tag=rare&source=named&agent=" + agent(r) + "&access=" + level(r) + "&state=policy"
		},
		"site":          func(r *rand.Rand) string { return "/sites/" + host(r) },
		"agents":        fixed("/agents"),
		"agents tag":    fixed("/agents?tag=news"),
		"agent":         func(r *rand.Rand) string { return "/agents/" + agent(r) },
		"changes":       fixed("/changes"),
		"changes agent": func(r *rand.Rand) string { return "/changes?agent=" + agent(r) },
		"changes tag":   func(r *rand.Rand) string { return "/changes?tag=" + []string{"news", "rare", "none"}[r.IntN(3)] },
		"changes kind": func(r *rand.Rand) string {
			return "/changes?kind=" + []string{"access", "state", "sitemap", "cosmetic"}[r.IntN(4)]
		},
		"changes all":    func(r *rand.Rand) string { return "/changes?tag=rare&kind=access&severity=critical&agent=" + agent(r) },
		"change":         func(r *rand.Rand) string { return "/changes/" + changes[r.IntN(len(changes))].ID },
		"ask":            func(r *rand.Rand) string { return "/ask?agent=GPTBot&site=" + host(r) },
		"feed":           func(r *rand.Rand) string { return "/feed.atom?agent=" + agent(r) },
		"badge":          func(r *rand.Rand) string { return "/badge/" + host(r) + "/GPTBot.svg" },
		"api gate":       func(r *rand.Rand) string { return "/api/v1/access?agent=GPTBot&site=" + host(r) },
		"api gate then":  func(r *rand.Rand) string { return "/api/v1/access?agent=GPTBot&at=2026-11-10&site=" + host(r) },
		"api sites":      fixed("/api/v1/sites"),
		"api access":     func(r *rand.Rand) string { return "/api/v1/access?access=blocked&agent=" + agent(r) },
		"api changes":    fixed("/api/v1/changes"),
		"api agents":     fixed("/api/v1/agents"),
		"api adoption":   fixed("/api/v1/adoption?category=ai,training"),
		"api adopt. tag": fixed("/api/v1/adoption?tag=news&agent=GPTBot"),
	}
}
