package notify_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// One template flips many sites within a minute: one message per receiver,
// memory flat, recording unimpeded. ROBOTSWATCH_TEMPLATE_SITES sets how many;
// 100,000 is what is promised.
func TestOneTemplateFlipsManySites(t *testing.T) {
	n, groupWait := sizes.Of(t, "ROBOTSWATCH_TEMPLATE_SITES", 3000, 600), 3*time.Second
	if n > 3000 {
		groupWait = notify.DefaultGroupWait
	}
	const batch = 500
	w := newWorld(t, n+1)
	failOnce := true
	boxes := []*inbox{{}, {}, {}}
	boxes[1].answer = func(notify.Message) error {
		if failOnce {
			failOnce = false
			return errors.New("not now")
		}
		return nil
	}
	var targets []notify.Target
	for i, box := range boxes {
		c := people(fmt.Sprintf("r%d", i))
		c.GroupWait = groupWait
		targets = append(targets, notify.Target{Config: c, Sender: box})
	}
	d := w.deliver(targets)
	defer w.run(d)()

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := watchHeap(t)
	var slowest time.Duration
	for i := 0; i < n; i += batch {
		var list []watcher.Change
		for k := i; k < min(i+batch, n); k++ {
			c := blocks(k, "GPTBot", "CCBot", "ClaudeBot", "Bytespider")
			c.Managed = "cloudflare"
			list = append(list, c)
		}
		start := time.Now()
		w.record(list...)
		slowest = max(slowest, time.Since(start))
		d.Poke()
	}
	recorded := time.Now()
	// Other changes go on being recorded while the large group is told.
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	for len(w.pending()) > 0 {
		start := time.Now()
		c := blocks(n, "GPTBot")
		c.Severity = watcher.Info // for nobody
		w.record(c)
		slowest = max(slowest, time.Since(start))
		if time.Since(recorded) > 3*time.Minute {
			t.Fatalf("still pending: %v", w.pending())
		}
		<-pace.C
	}
	took := time.Since(recorded)
	high := peak()
	runtime.ReadMemStats(&after)
	for i, box := range boxes {
		titles := box.titles()
		if len(titles) != 1 || box.got()[0].Totals.Sites != n {
			t.Errorf("receiver %d got %q", i, titles)
		}
	}
	grown := int64(high) - int64(before.HeapAlloc)
	t.Logf("%d sites, %d receivers: told %v after the last change (group_wait %v); slowest record %v; heap grew by %d MiB at most",
		n, len(boxes), took.Round(time.Millisecond), groupWait, slowest.Round(time.Millisecond), grown>>20)
	if grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

// watchHeap samples the heap until the function it returns is called, which
// gives the highest.
func watchHeap(t *testing.T) (highest func() uint64) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan uint64)
	go func() {
		var high uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- high
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				high = max(high, m.HeapAlloc)
			}
		}
	}()
	return func() uint64 { cancel(); return <-done }
}
