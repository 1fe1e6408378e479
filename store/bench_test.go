//go:build !race

// Figures mean nothing under the race detector.

package store

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// benchSites is how many sites the large benchmarks hold:
// $ROBOTSWATCH_BENCH_SITES, 1,000,000 for the published figures.
func benchSites(tb testing.TB) int {
	return sizes.Of(tb, "ROBOTSWATCH_BENCH_SITES", 20_000, 20_000)
}

// batch of results in one transaction, as the daemon writes them.
const benchBatch = 256

// fileAges is how many hours ago files were last modified at most: five years.
const fileAges = 5 * 365 * 24

// lived gives what a site looks like that has been watched for a while.
func lived(l watcher.Lease, at time.Time, i int) watcher.Result {
	level := []diff.Level{diff.Allowed, diff.Partial, diff.Blocked}[i%3]
	source := []robots.Source{robots.SourceNamed, robots.SourceWildcard}[i%2]
	var profile []watcher.AgentAccess
	for a := range 24 {
		profile = append(profile, watcher.AgentAccess{Agent: fmt.Sprintf("Agent%dBot", a), Access: diff.Access{Level: level, Source: source}})
		if i>>a&1 == 1 && i%10 == 0 { // one in ten sites has a policy of its own
			profile[a].Level = diff.Restricted
		}
	}
	r := policy(l, at, robotsTxt(i), profile)
	r.Observation.Evidence = watcher.Evidence{Vendor: "cloudflare", Address: fmt.Sprintf("104.21.%d.%d:443", i/250%250, i%250),
		TLSSubject: "CN=" + strings.TrimPrefix(l.Site.Origin, "https://"),
		Headers: []fetch.Header{{Name: "Content-Type", Value: "text/plain; charset=utf-8"},
			{Name: "Last-Modified", Value: at.Add(-time.Duration(i%fileAges) * time.Hour).UTC().Format(http.TimeFormat)},
			{Name: "Etag", Value: fmt.Sprintf(`"%x-%x"`, i*7919, i*104729)}, {Name: "Server", Value: "cloudflare"}}}
	m := &r.Site.Memory
	m.ETag, m.Modified = r.Observation.Evidence.Headers[2].Value, r.Observation.Evidence.Headers[1].Value
	m.FullGetAt, m.Watch, m.Address = at, "9f8e7d6c5b4a3f2e", fmt.Sprintf("104.21.%d.%d", i/250%250, i%250)
	m.Good = watcher.Answer{State: fetch.Policy, Status: 200, FinalURL: l.Site.Origin + "/robots.txt", Body: r.Site.Body}
	m.Last = m.Good
	m.Flap.Since, m.Flap.Looks = at, 1
	return r
}

// robotsTxt is a file of the usual size; half the sites share one of few.
func robotsTxt(i int) string {
	if i%2 == 0 {
		i %= 200
	}
	var b strings.Builder
	for j := range 12 {
		fmt.Fprintf(&b, "User-agent: Agent%dBot\nDisallow: /private%d/%d/\nAllow: /public/\n\n", j, i*31, j*i)
	}
	return b.String()
}

// sweep claims and records every site that is due, in batches, and gives the
// time that the store took for each of the two.
func sweep(tb testing.TB, s *Store, now time.Time, result func(i int, l watcher.Lease) watcher.Result) (n int, claims, records time.Duration) {
	tb.Helper()
	for {
		begin := time.Now()
		leases, err := s.Claim(tb.Context(), now, benchBatch, time.Minute)
		claims += time.Since(begin)
		if err != nil {
			tb.Fatal(err)
		}
		if len(leases) == 0 {
			return n, claims, records
		}
		results := make([]watcher.Result, len(leases))
		for i, l := range leases {
			results[i] = result(n+i, l)
		}
		n += len(leases)
		begin = time.Now()
		if lost, err := s.Record(tb.Context(), results); err != nil || lost > 0 {
			tb.Fatal(lost, err)
		}
		records += time.Since(begin)
	}
}

// spread is a first due time as schedules give it: each site at its own
// moment, in no order.
func spread(origin, _ string) time.Time {
	h := new(hasher).of(watcher.SiteConfig{Origin: origin}).origin
	return t0.Add(-time.Duration(h[0])*time.Minute - time.Duration(h[1])*time.Second - time.Duration(h[2])*10*time.Millisecond)
}

func manySites(n int) func(yield func(watcher.SiteConfig, error) bool) {
	tags := [][]string{{"tranco"}, {"tranco", "news"}}
	return func(yield func(watcher.SiteConfig, error) bool) {
		for i := range n {
			if !yield(watcher.SiteConfig{Origin: fmt.Sprintf("https://www.shop-number-%d.example", i*7919%n), Tags: tags[i%10/9]}, nil) {
				return
			}
		}
	}
}

func populate(tb testing.TB, s *Store, n int) (load, first time.Duration) {
	tb.Helper()
	begin := time.Now()
	if _, err := s.SyncSites(tb.Context(), t0, manySites(n), spread); err != nil {
		tb.Fatal(err)
	}
	load = time.Since(begin)
	_, claims, records := sweep(tb, s, t0, func(i int, l watcher.Lease) watcher.Result {
		return lived(l, t0.Add(time.Duration(i)*time.Millisecond), i)
	})
	return load, claims + records
}

func onBothBench(b *testing.B, bench func(b *testing.B, url string)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db")) })
	b.Run("postgres", func(b *testing.B) {
		if cluster == nil {
			b.Skip("PostgreSQL is not installed")
		}
		bench(b, cluster.Database(b))
	})
}

// BenchmarkLife prints what each part of the store's work costs with
// benchSites sites: loading the configuration, loading it again unchanged,
// first looks, unchanged looks, a storm of changes.
func BenchmarkLife(b *testing.B) {
	onBothBench(b, func(b *testing.B, url string) {
		s := open(b, url)
		sites := benchSites(b)
		for b.Loop() {
			load, first := populate(b, s, sites)
			b.ReportMetric(load.Seconds(), "load-s")
			b.ReportMetric(float64(first.Microseconds())/float64(sites), "first-µs/site")
			begin := time.Now()
			if done, err := s.SyncSites(b.Context(), t0, manySites(sites), spread); err != nil || done.Changed() {
				b.Fatal(done, err)
			}
			b.ReportMetric(time.Since(begin).Seconds(), "reload-s")

			now := t0.Add(7 * time.Hour)
			quiet := func(i int, l watcher.Lease) watcher.Result {
				r := unchanged(l, now.Add(time.Duration(i)*time.Millisecond))
				r.Site.Memory.Flap.Looks++
				return r
			}
			n, claims, records := sweep(b, s, now, quiet)
			b.ReportMetric(float64(claims.Microseconds())/float64(n), "claim-µs/site")
			b.ReportMetric(float64(records.Microseconds())/float64(n), "unchanged-µs/site")

			begin = time.Now()
			n = storm(b, s, now.Add(24*time.Hour))
			b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "storm-changes/s")
		}
	})
}

// storm changes up to 100,000 sites in one sweep.
func storm(tb testing.TB, s *Store, now time.Time) int {
	n := 0
	for n < 100_000 {
		leases := claim(tb, s, now, benchBatch)
		if len(leases) == 0 {
			break
		}
		results := make([]watcher.Result, len(leases))
		for i, l := range leases {
			n++
			results[i] = policy(l, now.Add(time.Duration(n)*time.Millisecond), robotsTxt(2_000_001+2*n), profileOf(diff.Blocked, robots.SourceNamed))
			change(&results[i], fmt.Sprintf("01KB%022d", n), "policy", "log")
		}
		record(tb, s, results...)
	}
	return n
}

// BenchmarkClaimAtScale compares the cost of claiming among many sites with
// that among 10,000, in turn in one run, medians of all rounds.
func BenchmarkClaimAtScale(b *testing.B) {
	onBothBench(b, func(b *testing.B, url string) {
		small, large := open(b, url), (*Store)(nil)
		populate(b, small, 10_000)
		if strings.HasPrefix(url, "sqlite:") {
			large = open(b, url+".large")
		} else {
			large = open(b, cluster.Database(b))
		}
		populate(b, large, benchSites(b))
		var walls, cpus [2][]float64 // µs a site, by round
		round := 0
		for b.Loop() {
			round++
			for i, s := range []*Store{small, large} {
				now := t0.Add(7 * time.Hour * time.Duration(round))
				var wall, cpu time.Duration
				n := 0
				for range 20 {
					begin, used := time.Now(), processorTime(b)
					leases := claim(b, s, now, benchBatch)
					wall += time.Since(begin)
					cpu += processorTime(b) - used
					n += len(leases)
					results := make([]watcher.Result, len(leases))
					for j, l := range leases {
						results[j] = unchanged(l, now)
					}
					record(b, s, results...)
				}
				walls[i] = append(walls[i], float64(wall.Microseconds())/float64(n))
				cpus[i] = append(cpus[i], float64(cpu.Microseconds())/float64(n))
			}
		}
		b.ReportMetric(median(walls[0]), "10k-µs/site")
		b.ReportMetric(median(walls[1]), "many-µs/site")
		b.ReportMetric(median(walls[1])/median(walls[0]), "ratio")
		b.ReportMetric(median(cpus[0]), "10k-cpu-µs/site")
		b.ReportMetric(median(cpus[1]), "many-cpu-µs/site")
		b.ReportMetric(median(cpus[1])/median(cpus[0]), "cpu-ratio")
	})
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// processorTime of this process: what a claim costs where the machine is busy
// with other things. The work of a PostgreSQL server is not in it.
func processorTime(tb testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestBytesPerSite: what a site costs beyond the compressed bodies.
func TestBytesPerSite(t *testing.T) {
	const limit = 500
	path := filepath.Join(t.TempDir(), "size.db")
	s := open(t, "sqlite:"+path)
	n := benchSites(t)
	populate(t, s, n)
	sweep(t, s, t0.Add(7*time.Hour), func(i int, l watcher.Lease) watcher.Result {
		return unchanged(l, t0.Add(7*time.Hour+time.Duration(i)*time.Millisecond))
	})
	bodies := count(t, s, "SELECT sum(length(data)) FROM bodies")
	pages := count(t, s, "PRAGMA page_count") - count(t, s, "PRAGMA freelist_count")
	perSite := float64(pages*count(t, s, "PRAGMA page_size")-bodies) / float64(n)
	rows, err := s.Query(t.Context(), "SELECT name, sum(pgsize), sum(payload) FROM dbstat GROUP BY name HAVING sum(pgsize) > $1", 2*n)
	if err == nil {
		_ = each(rows, func(scan Scan) error {
			var name string
			var size, payload int
			err := scan(&name, &size, &payload)
			t.Logf("%-40s %6.1f bytes a site, %6.1f of them payload", name, float64(size)/float64(n), float64(payload)/float64(n))
			return err
		})
	}
	t.Logf("%.0f bytes a site beyond %.0f of compressed bodies", perSite, float64(bodies)/float64(n))
	if perSite > limit {
		t.Errorf("%.0f bytes a site, want at most %d", perSite, limit)
	}
}
