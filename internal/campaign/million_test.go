//go:build !race

package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/store"
)

// A million sites: memory while the pool is really full, and how long starts
// take. Answers take a second, so that even a slow machine fills the pool.
func TestManySites(t *testing.T) {
	const pool, most, soon = 512, 256e6, 5 * time.Second
	sites, window := pick(5000, 1_000_000, 1_000_000), pick(time.Second, 20*time.Second, 60*time.Second)
	o := startOrigin(t, "-delay", "1s")
	path := filepath.Join(t.TempDir(), "many.db")
	conf := setup{store: "sqlite:" + path, concurrency: pool, schedule: "@every 6h",
		sites: origins("http", o.http, sites)}.write(t)
	d := start(t, conf)
	first := time.Since(d.begun)
	d.awaitSaid(5*time.Minute, "sites are in step with the configuration")
	loaded := time.Since(d.begun)
	o.busiest(t)
	rate := d.rate(window)
	busiest := o.busiest(t)
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
	again.awaitSaid(time.Minute, "sites are in step with the configuration")
	inStep := time.Since(again.begun)
	o.busiest(t)
	await(t, time.Minute, "looks do not begin", func() bool { return o.busiest(t) > 0 })
	looking := time.Since(again.begun)
	peak = max(peak, again.peak())
	again.stop()
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
	t.Logf("%d sites: the first start is ready after %v, all are loaded after %v; up to %d looks at once, %.0f/s; peak memory %d MiB",
		sites, round(first), round(loaded), busiest, rate, peak>>20)
	t.Logf("the next start is ready after %v, knows that nothing changed after %v, and looks after %v", round(ready), round(inStep), round(looking))
	if busiest < pool*9/10 {
		t.Errorf("up to %d looks at once: the pool was not full", busiest)
	}
	if peak > most {
		t.Errorf("peak memory %d MB, want %.0f at most", peak/1e6, most/1e6)
	}
	if bench() && max(first, ready) > soon {
		t.Errorf("ready after %v and %v, want %v at most", first, ready, soon)
	}
}

// loadLock is what daemons hold while they bring sites into a PostgreSQL.
const loadLock = 7_626_843_001

// holdLoading keeps daemons from bringing sites into a store.
func holdLoading(t *testing.T, url string) (release func()) {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	let := make(chan struct{})
	held, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(t.Context(), fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", loadLock))
			close(held)
			<-let
			return err
		}); err != nil {
			t.Error(err)
		}
	}()
	<-held
	return func() { close(let); <-done }
}

// A daemon works while its sites are still on their way into the store, and
// looks at each as soon as it is there.
func TestReadyBeforeTheLastSite(t *testing.T) {
	o := startOrigin(t)
	url := server(t).Database(t)
	release := holdLoading(t, url)
	conf := setup{store: url, concurrency: 20, schedule: "@every 6h", sites: origins("http", o.http, 300)}.write(t)
	d := start(t, conf)
	if n := d.metric("robotswatch_sites"); n != 0 || d.saidTimes("sites are in step with the configuration") > 0 {
		t.Errorf("there are %v sites that nobody can have brought", n)
	}
	if _, err := d.get("/sites"); err != nil {
		t.Error(err)
	}
	release()
	d.awaitSaid(time.Minute, "sites are in step with the configuration")
	await(t, time.Minute, "not all sites were looked at", func() bool { return d.metric(`robotswatch_sites{state="policy"}`) == 300 })
	d.stop()
}

// What cannot be brought into the store ends the daemon, late as it may be:
// nobody shall believe that it watches what it does not know.
func TestSitesThatCannotBeLoadedEndTheDaemon(t *testing.T) {
	o := startOrigin(t)
	url := server(t).Database(t)
	release := holdLoading(t, url)
	conf := setup{store: url, concurrency: 20, schedule: "@every 6h", sites: origins("http", o.http, 3)}.write(t)
	d := start(t, conf)
	if err := os.Remove(filepath.Join(filepath.Dir(conf), "sites.txt")); err != nil {
		t.Fatal(err)
	}
	release()
	select {
	case <-d.ended:
	case <-time.After(time.Minute):
		t.Fatal("the daemon goes on")
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
}
