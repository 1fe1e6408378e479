package campaign

import (
	"testing"
	"time"
)

// A million sites: memory while the pool is full, and how long starts take.
func TestManySites(t *testing.T) {
	sites, window := pick(5000, 1_000_000, 1_000_000), pick(time.Second, 20*time.Second, 60*time.Second)
	o := startOrigin(t, "-delay", "200ms")
	conf := setup{store: "sqlite:" + t.TempDir() + "/many.db", concurrency: 512, schedule: "@every 6h",
		sites: origins("http", o.http, sites)}.write(t)
	d := start(t, conf)
	loaded := time.Since(d.begun)
	rate := d.rate(window)
	for _, page := range []string{"/", "/sites", "/agents", "/changes", "/api/v1/sites?limit=100"} {
		begun := time.Now()
		if _, err := d.get(page); err != nil {
			t.Error(err)
		}
		t.Logf("%s beside it took %v", page, time.Since(begun).Round(time.Millisecond))
	}
	peak := d.peak()
	d.stop()
	again := start(t, conf)
	ready := time.Since(again.begun)
	again.stop()
	t.Logf("%d sites: loaded in %v, %.0f checks/s of 200 ms at concurrency 512, peak memory %d MiB; the next start is ready after %v",
		sites, loaded.Round(time.Millisecond), rate, peak>>20, ready.Round(time.Millisecond))
	if rate < pick(300.0, 1500, 1500) {
		t.Errorf("%.0f checks/s: the pool was not full", rate)
	}
	if peak > 256e6 {
		t.Errorf("peak memory %d MB, want 256 at most", peak/1e6)
	}
	if ready > 5*time.Second {
		t.Errorf("ready after %v, want 5 s at most", ready)
	}
}
