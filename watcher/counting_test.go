package watcher_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/watcher"
)

// counting is a server for many sites.
type counting struct {
	mu        sync.Mutex
	requests  map[string]int // by host
	full, not int            // answers with and without a body
	octets    int
	paths     map[string]int
}

const countedBody = "User-agent: *\nDisallow: /private/\n"

// ServeHTTP answers by the kind of site in its name: most have validators,
// some none, some redirect, some have no file.
func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	kind, _, _ := strings.Cut(host, "-")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[r.Host]++
	c.paths[r.URL.Path]++
	switch {
	case kind == "gone":
		http.NotFound(w, r)
		return
	case kind == "moved" && r.URL.Path == "/robots.txt":
		http.Redirect(w, r, "/moved.txt", http.StatusMovedPermanently)
		return
	case kind == "plain": // no validators
	case r.Header.Get("If-None-Match") == `"v1"`:
		c.not++
		w.Header().Set("ETag", `"v1"`)
		w.WriteHeader(http.StatusNotModified)
		return
	default:
		w.Header().Set("ETag", `"v1"`)
	}
	c.full++
	c.octets += len(countedBody)
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte(countedBody))
}

// loopback is where all names lead.
type loopback struct{}

func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
}

// shifted looks at the real web at a time of our choosing.
type shifted struct {
	*fetch.Client
	now func() time.Time
}

func (s shifted) Look(ctx context.Context, req fetch.Request) fetch.Outcome {
	out := s.Client.Look(ctx, req)
	out.At = s.now()
	return out
}

// TestRequestsAreAsFewAsPossible looks at many sites on ten days through the
// real fetcher, daemon and store, and counts at the server: one request a
// check (two where a redirect is), a body only at first, after a week, and
// where the server has no validators. ROBOTSWATCH_CHECK_SITES sets how many
// sites; ten times as many checks are made.
func TestRequestsAreAsFewAsPossible(t *testing.T) {
	t.Parallel()
	const days = 10
	n := sizes.Of(t, "ROBOTSWATCH_CHECK_SITES", 200, 50)
	server := &counting{requests: map[string]int{}, paths: map[string]int{}}
	ts := httptest.NewServer(server)
	defer ts.Close()
	port := ts.Listener.Addr().(*net.TCPAddr).Port
	kinds := []string{"gone", "moved", "plain"}

	var configs []watcher.SiteConfig
	var origins []string
	for i := range n {
		kind := "usual"
		if i%20 < len(kinds) {
			kind = kinds[i%20]
		}
		origins = append(origins, fmt.Sprintf("http://%s-%d.example:%d", kind, i, port))
		configs = append(configs, watcher.SiteConfig{Origin: origins[i]})
	}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	p := newPipeline(t, configs, now)
	client := fetch.New(fetch.Settings{
		Timeout: 10 * time.Second, PerAddress: 32, Policy: netpolicy.Policy{AllowPrivate: true}, Resolver: loopback{},
	})
	clock := func() time.Time { return now }
	d, err := watcher.New(watcher.Options{
		Store: p.store, Fetcher: shifted{client, clock}, Router: everybody{}, Judge: p.judge,
		Concurrency: 32, PerDomain: 4, PerAddress: 32, Timeout: 10 * time.Second, Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range days {
		if err := d.Once(t.Context(), origins); err != nil {
			t.Fatal(err)
		}
		now = now.Add(24 * time.Hour)
	}

	want := struct{ full, not, requests int }{}
	for _, origin := range origins {
		requests := days
		kind, _, _ := strings.Cut(strings.TrimPrefix(origin, "http://"), "-")
		switch kind {
		case "gone":
		case "moved":
			requests = 2 * days
			want.full, want.not = want.full+2, want.not+days-2
		case "plain":
			want.full += days
		default:
			want.full, want.not = want.full+2, want.not+days-2
		}
		want.requests += requests
		if got := server.requests[strings.TrimPrefix(origin, "http://")]; got != requests {
			t.Errorf("%s: %d requests, want %d", origin, got, requests)
		}
	}
	if server.full != want.full || server.not != want.not || server.octets != want.full*len(countedBody) {
		t.Errorf("%d answers with a body, %d without, %d octets; want %d, %d, %d", server.full, server.not, server.octets, want.full, want.not, want.full*len(countedBody))
	}
	t.Logf("%d checks, %d requests, %d bodies, %d times 304, paths %v", n*days, want.requests, server.full, server.not, server.paths)
}

type everybody struct{}

func (everybody) Route(c watcher.Change) ([]string, string) { return []string{"all"}, c.ID }
