package notify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

func people(name string) notify.ReceiverConfig {
	return notify.ReceiverConfig{Name: name, To: notify.LogConfig{}, GroupWait: 30 * time.Second}
}

func machine(name string) notify.ReceiverConfig {
	return notify.ReceiverConfig{Name: name, To: notify.WebhookConfig{}}
}

func TestChangesThatSayTheSameAreOneMessage(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 400), &inbox{}
		d := w.deliver([]notify.Target{{Config: people("r"), Sender: box}})
		defer w.run(d)()
		for i := range 312 {
			c := blocks(i, "GPTBot", "CCBot", "ClaudeBot", "Bytespider", "Amazonbot")
			c.Managed = "cloudflare"
			w.record(c)
		}
		w.record(blocks(320, "GPTBot"))
		d.Poke()
		time.Sleep(29 * time.Second)
		if n := len(box.titles()); n != 0 {
			t.Fatalf("%d messages before group_wait is over", n)
		}
		time.Sleep(2 * time.Second)
		want := []string{
			"312 sites now block GPTBot and 4 more: Cloudflare-managed rules",
			"GPTBot now blocked on site320.example",
		}
		if got := box.titles(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		text := box.got()[0].Text.Plain()
		for _, want := range []string{"site9.example", "and 302 more", "https://robots.example/changes?", "line 12: Disallow: /"} {
			if !strings.Contains(text, want) {
				t.Errorf("the message lacks %q:\n%s", want, text)
			}
		}
		if p := w.pending(); len(p) != 0 {
			t.Errorf("pending %v", p)
		}
	})
}

func TestAGroupThatGrowsIsHeldForAWhileOnly(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 100), &inbox{}
		d := w.deliver([]notify.Target{{Config: people("r"), Sender: box}})
		defer w.run(d)()
		start := time.Now()
		for i := range 30 {
			w.record(blocks(i, "GPTBot"))
			d.Poke()
			time.Sleep(20 * time.Second)
		}
		time.Sleep(time.Minute)
		if len(box.got()) < 2 || len(box.got()) > 5 {
			t.Fatalf("messages %q, want a few", box.titles())
		}
		if first := box.when(0).Sub(start); first > 151*time.Second {
			t.Errorf("the first message came after %v, want at most five times group_wait", first)
		}
		sum := 0
		for _, m := range box.got() {
			sum += m.Totals.Deliveries
		}
		if sum != 30 {
			t.Errorf("%d changes told, want 30", sum)
		}
	})
}

func TestOneDeadReceiverDelaysNoOther(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, good := newWorld(t, 10), &inbox{}
		hang := &inbox{answer: func(notify.Message) error { time.Sleep(10 * time.Second); return errors.New("no answer") }}
		d := w.deliver([]notify.Target{{Config: machine("hang"), Sender: hang}, {Config: machine("good"), Sender: good}})
		defer w.run(d)()
		for i := range 10 {
			w.record(blocks(i, "GPTBot"))
		}
		d.Poke()
		time.Sleep(time.Second)
		if len(good.got()) != 10 {
			t.Errorf("%d of 10 arrived beside a receiver that hangs", len(good.got()))
		}
	})
}

// senderFunc is a sender of one function.
type senderFunc func(ctx context.Context) error

func (f senderFunc) Send(ctx context.Context, _ notify.Message) (string, error) { return "", f(ctx) }

func TestStoppingLetsASendUnderWayFinish(t *testing.T) {
	for _, c := range []struct {
		takes, ends time.Duration
		pending     int
	}{
		{takes: 4 * time.Second, ends: 3 * time.Second, pending: 0},
		{takes: time.Minute, ends: 5 * time.Second, pending: 1}, // cut off, to be repeated
	} {
		simulate(t, func(t *testing.T) {
			w := newWorld(t, 1)
			slow := senderFunc(func(ctx context.Context) error {
				select {
				case <-time.After(c.takes):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			d := w.deliver([]notify.Target{{Config: machine("slow"), Sender: slow}})
			stop := w.run(d)
			w.record(blocks(0, "GPTBot"))
			d.Poke()
			time.Sleep(time.Second)
			asked := time.Now()
			stop()
			if took := time.Since(asked); took.Round(time.Second) != c.ends {
				t.Errorf("a send of %v: stopped after %v, want %v", c.takes, took, c.ends)
			}
			if n := w.pending()["slow"]; n != c.pending {
				t.Errorf("a send of %v: %d pending, want %d", c.takes, n, c.pending)
			}
		})
	}
}

func TestNothingIsSentTwiceOverARestart(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 10), &inbox{}
		for i := range 10 {
			d := w.deliver([]notify.Target{{Config: machine("r"), Sender: box}})
			stop := w.run(d)
			w.record(blocks(i, "GPTBot"))
			d.Poke()
			time.Sleep(time.Second)
			stop()
		}
		if len(box.got()) != 10 {
			t.Errorf("%d messages, want 10", len(box.got()))
		}
	})
}

// deaf is an outbox that does not answer when it is told the receivers.
type deaf struct {
	notify.Outbox
	times int
}

func (o *deaf) Sync(ctx context.Context, receivers []string, now time.Time) error {
	if o.times--; o.times >= 0 {
		return errors.New("connection refused")
	}
	return o.Outbox.Sync(ctx, receivers, now)
}

func TestDeliveryBeginsWhenTheStoreIsBack(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 1), &inbox{}
		targets := []notify.Target{{Config: machine("r"), Sender: box}}
		w.deliver(targets) // so that changes are routed
		d, err := notify.NewDispatcher(&deaf{w.store, 5}, targets, notify.Options{Owner: "test", Router: w.router})
		if err != nil {
			t.Fatal(err)
		}
		w.record(blocks(0, "GPTBot"))
		defer w.run(d)()
		time.Sleep(time.Minute)
		if len(box.got()) != 1 {
			t.Errorf("%d messages, want 1", len(box.got()))
		}
	})
}

func TestDrainSendsAllThatWaitsWithoutWaiting(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 10), &inbox{}
		d := w.deliver([]notify.Target{{Config: people("r"), Sender: box}})
		w.record(blocks(0, "GPTBot"), blocks(1, "GPTBot"))
		w.record(frees(0, "GPTBot"))
		start := time.Now()
		if err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(box.got()) != 2 || time.Since(start) != 0 {
			t.Errorf("%q after %v", box.titles(), time.Since(start))
		}
	})
}

var _ watcher.Router = (*notify.Router)(nil)
