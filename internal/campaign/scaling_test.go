//go:build !race

package campaign

import (
	"slices"
	"testing"
	"time"
)

// Several daemons share a PostgreSQL: what they do together grows with their
// number where the web, not this machine, is what they wait for. Each site is
// claimed by one of them, leases are handed back at the end, and work of the
// cluster is done once.
func TestDaemonsTogether(t *testing.T) {
	sites, window, rounds := pick(8000, 60_000, 60_000), pick(time.Second, 3*time.Second, 6*time.Second), pick(1, 5, 5)
	o := startOrigin(t, "-delay", "200ms")
	url := server(t).Database(t)
	conf := setup{store: url, concurrency: 40, schedule: "@every 10s", sites: origins("http", o.http, sites)}.write(t)
	first := start(t, conf)
	var ratios [2][]float64
	var daemons []*daemon
	for range rounds {
		one := rateOf(window, first)
		second := start(t, conf)
		pass(time.Second) // its pool is full
		two := rateOf(window, first, second)
		third, fourth := start(t, conf), start(t, conf)
		pass(time.Second)
		four := rateOf(window, first, second, third, fourth)
		t.Logf("one daemon %.0f checks/s, two %.0f, four %.0f", one, two, four)
		ratios[0], ratios[1] = append(ratios[0], two/one), append(ratios[1], four/one)
		daemons = append(daemons, second, third, fourth)
		for _, d := range []*daemon{second, third, fourth} {
			d.stop()
		}
	}
	first.stop()
	for i, want := range []float64{1.8, 3.4} {
		slices.Sort(ratios[i])
		median := ratios[i][len(ratios[i])/2]
		t.Logf("%d daemons: %.2f times one (%.2f to %.2f)", 2<<i, median, ratios[i][0], ratios[i][rounds-1])
		if bench() && median < want {
			t.Errorf("%d daemons do %.2f times the work of one, want %.1f", 2<<i, median, want)
		}
	}
	if n := count(t, look(t, url), "SELECT count(*) FROM sites WHERE lease_until > 0"); n > 0 {
		t.Errorf("%d leases were not handed back", n)
	}
	cleaned := 0
	for _, d := range append(daemons, first) {
		cleaned += d.said["store cleaned"]
		if n := d.said["results came too late and were dropped"]; n > 0 {
			t.Errorf("%d times results were dropped", n)
		}
	}
	if cleaned != 1 {
		t.Errorf("the store was cleaned %d times, want once", cleaned)
	}
}
