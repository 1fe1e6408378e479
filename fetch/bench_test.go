//go:build campaign

package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The benchmarks compare in one run, round by round, against a bare net/http
// loop that fetches the same and does nothing else. CPU is that of this
// process; the origin runs in another.

// origin is the other process.
type origin struct {
	http, https int
	roots       *x509.CertPool
}

func startOrigin(t *testing.T, flags ...string) origin {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "origin")
	if out, err := exec.Command("go", "build", "-o", bin, "../internal/benchorigin").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pem := filepath.Join(dir, "roots.pem")
	cmd := exec.Command(bin, append(flags, "-roots", pem)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	var o origin
	if _, err := fmt.Fscan(bufio.NewReader(out), &o.http, &o.https); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pem)
	if err != nil {
		t.Fatal(err)
	}
	o.roots = x509.NewCertPool()
	o.roots.AppendCertsFromPEM(text)
	return o
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spend runs n checks with some workers and gives the CPU time of one.
func spend(n, workers int, check func(i int)) (perCheck, wall time.Duration) {
	var next atomic.Int64
	var wg sync.WaitGroup
	start, began := cpu(), time.Now()
	for range workers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				check(int(i))
			}
		})
	}
	wg.Wait()
	return (cpu() - start) / time.Duration(n), time.Since(began)
}

// sites are spread over many loopback addresses.
func siteURL(scheme string, port, i int) string {
	return fmt.Sprintf("%s://127.1.%d.%d:%d", scheme, i/200%250, i%200+1, port)
}

const benchTag = `"5f1e-1"`

func looker(t *testing.T, c *Client, scheme string, port, sites int, http2 bool) func(int) {
	return func(i int) {
		l := c.look(Request{Origin: siteURL(scheme, port, i%sites), ETag: benchTag})
		l.http2 = http2
		if got := l.outcome(context.Background()); !got.NotModified {
			t.Errorf("look: %+v", got)
		}
	}
}

// bare is a net/http loop with default settings and fresh connections.
func bare(t *testing.T, roots *x509.CertPool, scheme string, port, sites int) func(int) {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true,
		DisableKeepAlives: true,
	}}
	return func(i int) {
		req, err := http.NewRequest("GET", siteURL(scheme, port, i%sites)+"/robots.txt", nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("If-None-Match", benchTag)
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusNotModified {
			t.Errorf("bare: %s", res.Status)
		}
	}
}

func TestBenchCPUPerCheck(t *testing.T) {
	o := startOrigin(t)
	const sites, workers, rounds = 500, 4, 5
	for _, b := range []struct {
		name, scheme string
		port, n      int
		trust        time.Duration
		http2        bool
		tickets      bool
	}{
		{"https", "https", o.https, 1000, 0, false, false},
		{"https, chain cache off", "https", o.https, 1000, -1, false, false},
		{"https, HTTP/2", "https", o.https, 1000, 0, true, false},
		{"https, tickets", "https", o.https, 1000, 0, false, true},
		{"http", "http", o.http, 4000, 0, false, false},
	} {
		client := New(Settings{Policy: loopback, Roots: o.roots, ChainTrust: b.trust})
		if b.tickets {
			client.tls.SessionTicketsDisabled, client.tls.ClientSessionCache = false, tls.NewLRUClientSessionCache(2*sites)
		}
		ours, theirs := looker(t, client, b.scheme, b.port, sites, b.http2), bare(t, o.roots, b.scheme, b.port, sites)
		spend(sites, workers, ours) // steady state
		spend(sites, workers, theirs)
		var ratios []float64
		var mine, other, rate []time.Duration
		for range rounds {
			a, wall := spend(b.n, workers, ours)
			c, _ := spend(b.n, workers, theirs)
			ratios = append(ratios, float64(a)/float64(c))
			mine, other, rate = append(mine, a), append(other, c), append(rate, wall/time.Duration(b.n))
		}
		slices.Sort(ratios)
		slices.Sort(mine)
		slices.Sort(other)
		t.Logf("%-24s look %v, net/http %v, ratio %.2f (%.2f to %.2f), %.0f/s", b.name, mine[rounds/2], other[rounds/2],
			ratios[rounds/2], ratios[0], ratios[rounds-1], float64(time.Second)/float64(rate[rounds/2]))
	}
}

// Memory of 512 looks that wait for their answers at once.
func TestBenchMemoryInFlight(t *testing.T) {
	o := startOrigin(t, "-delay", "5s")
	const looks = 512
	for _, scheme := range []string{"http", "https"} {
		port := map[string]int{"http": o.http, "https": o.https}[scheme]
		c := New(Settings{Policy: loopback, Roots: o.roots})
		before := inUse()
		var wg sync.WaitGroup
		for i := range looks {
			wg.Go(func() { looker(t, c, scheme, port, looks, false)(i) })
		}
		<-time.After(4 * time.Second) // all have asked, none is answered
		t.Logf("%-5s %d KiB a look", scheme, (inUse()-before)/looks>>10)
		wg.Wait()
	}
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
