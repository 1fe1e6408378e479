//go:build !race

package campaign

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Plain-HTTP unchanged checks, sustained, with more due than can be done. At
// full length that is a minute, told in five parts too: a rate that falls would
// show.
func TestUnchangedChecks(t *testing.T) {
	const parts = 5
	sites, part := pick(500, 100_000, 100_000), pick(400*time.Millisecond, 3*time.Second, 12*time.Second)
	onBoth(t, func(t *testing.T, url string) {
		o := startOrigin(t)
		conf := setup{store: url, concurrency: 256, schedule: "@every 1s", sites: origins("http", o.http, sites)}
		d := start(t, conf.write(t))
		d.awaitSweep(5 * time.Minute)
		swept := time.Since(d.begun)
		before, spent := d.checks(), d.cpu()
		begun := time.Now()
		var rates [parts]float64
		for i := range rates {
			rates[i] = d.rate(part)
		}
		window, checks := time.Since(begun), d.checks()-before
		rate := checks / window.Seconds()
		each := time.Duration(float64(d.cpu()-spent) / checks)
		t.Logf("%d sites: first sweep %v, then %.0f unchanged checks/s for %v (in parts %.0f) with %v of CPU each, peak memory %d MiB",
			sites, swept.Round(100*time.Millisecond), rate, window.Round(time.Second), rates, each.Round(time.Microsecond), d.peak()>>20)
		if n := d.metric("robotswatch_changes_total"); n > 0 {
			t.Errorf("%v changes were recorded, want none", n)
		}
		if n := d.metric("robotswatch_results_lost_total"); n > 0 {
			t.Errorf("%v results were lost", n)
		}
		if n := d.metric(`robotswatch_checks_total{outcome="policy"}`); n != d.checks() && n == 0 {
			t.Errorf("%v of %v checks found the policy", n, d.checks())
		}
		if want := map[bool]float64{true: 6000, false: 4000}[strings.HasPrefix(url, "sqlite:")]; bench() && rate < want {
			t.Errorf("%.0f checks/s, want %.0f", rate, want)
		}
		d.stop()
	})
}

// A storm: every file changes, and one sweep records it all.
func TestDiffStorm(t *testing.T) {
	sites := pick(300, 30_000, 100_000)
	onBoth(t, func(t *testing.T, url string) {
		o := startOrigin(t)
		conf := setup{store: url, concurrency: 256, schedule: "@every 6h", sites: origins("http", o.http, sites)}.write(t)
		sweep := func() time.Duration {
			begun := time.Now()
			cmd := exec.Command(binary(t, "robotswatch"), "--config", conf, "--log-format", "json", "run", "--once")
			cmd.Env = os.Environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %.2000s", err, out)
			}
			return time.Since(begun)
		}
		sweep()
		o.change(t)
		took := sweep()
		rate := float64(sites) / took.Seconds()
		t.Logf("%d changes in %v, %.0f/s", sites, took.Round(time.Millisecond), rate)
		s := look(t, url)
		if n := count(t, s, "SELECT count(DISTINCT site_id) FROM changes WHERE kind = 'access'"); n != sites {
			t.Errorf("%d sites have a change, want %d", n, sites)
		}
		if n := count(t, s, "SELECT count(*) FROM changes"); n != sites {
			t.Errorf("%d changes were recorded, want %d", n, sites)
		}
		if bench() && rate < 2000 {
			t.Errorf("%.0f changes/s, want 2000", rate)
		}
	})
}
