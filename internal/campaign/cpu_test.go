//go:build campaign && !race

package campaign

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// CPU of the whole daemon for an unchanged HTTPS check in steady state,
// against a bare net/http loop that does the same fetches and nothing else.
// Round by round in one run; while one side is measured the others stand
// still.
func TestCPUPerCheck(t *testing.T) {
	const sites, workers, rounds = 2000, 16, 5
	window := pick(3*time.Second, 3*time.Second, 6*time.Second)
	o := startOrigin(t)
	names := origins("https", o.https, sites)
	run := func(cache string) *daemon {
		conf := setup{store: "sqlite:" + t.TempDir() + "/cpu.db", concurrency: workers, schedule: "@every 1s", sites: names,
			fetch: "timeout = \"5m\"\nverified_chain_cache = \"" + cache + "\""} // they stand still in between
		d := start(t, conf.write(t), "SSL_CERT_FILE="+o.roots)
		d.awaitSweep(5 * time.Minute)
		pass(window) // steady state
		d.signal(syscall.SIGSTOP)
		return d
	}
	cached, uncached := run("7d"), run("0")
	loop := newBare(t, o, names)
	loop.run(workers, sites)
	measure := func(d *daemon) time.Duration {
		d.signal(syscall.SIGCONT)
		pass(time.Second) // looks that stood still are over
		checks, spent := d.checks(), d.cpu()
		pass(window)
		cost := time.Duration(float64(d.cpu()-spent) / (d.checks() - checks))
		d.signal(syscall.SIGSTOP)
		return cost
	}
	var ratios [2][]float64
	for range rounds {
		bare := loop.run(workers, 2*sites)
		with, without := measure(cached), measure(uncached)
		t.Logf("daemon %v, chain cache off %v, net/http %v a check", with, without, bare)
		ratios[0] = append(ratios[0], float64(with)/float64(bare))
		ratios[1] = append(ratios[1], float64(without)/float64(bare))
	}
	for i, want := range []float64{0.60, 1.15} {
		slices.Sort(ratios[i])
		median := ratios[i][rounds/2]
		t.Logf("%s: %.2f of net/http's CPU (%.2f to %.2f)", []string{"chain cache on", "chain cache off"}[i], median, ratios[i][0], ratios[i][rounds-1])
		if median > want {
			t.Errorf("ratio %.2f, want %.2f at most", median, want)
		}
	}
	for _, d := range []*daemon{cached, uncached} {
		d.signal(syscall.SIGCONT)
		if n := d.metric(`robotswatch_checks_total{outcome="unreachable"}`); n > 0 {
			t.Errorf("%v checks failed", n)
		}
		d.stop()
	}
}

// bare is a net/http loop with default settings and fresh connections.
type bare struct {
	t      *testing.T
	client *http.Client
	sites  []string
}

func newBare(t *testing.T, o origin, sites []string) *bare {
	t.Helper()
	pem, err := os.ReadFile(o.roots)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &bare{t: t, sites: sites, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}}
}

// run fetches n times and gives the CPU time of one.
func (b *bare) run(workers, n int) time.Duration {
	var next atomic.Int64
	var wg sync.WaitGroup
	before := ownCPU()
	for range workers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				b.fetch(b.sites[int(i)%len(b.sites)])
			}
		})
	}
	wg.Wait()
	return (ownCPU() - before) / time.Duration(n)
}

func (b *bare) fetch(site string) {
	req, err := http.NewRequest("GET", site+"/robots.txt", nil)
	if err != nil {
		b.t.Error(err)
		return
	}
	req.Header.Set("If-None-Match", `"5f1e-1"`)
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusNotModified {
		b.t.Errorf("%s: %s", site, res.Status)
	}
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
