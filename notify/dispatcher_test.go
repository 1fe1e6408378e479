package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/sizes"
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

func TestOrderWithinASiteSurvivesFailures(t *testing.T) {
	for _, config := range []notify.ReceiverConfig{machine("r"), people("r")} {
		t.Run(fmt.Sprintf("%T", config.To), func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				w := newWorld(t, 3)
				box := &inbox{}
				fail := 0
				box.answer = func(m notify.Message) error {
					if fail++; fail%3 != 0 {
						return errors.New("not now")
					}
					return nil
				}
				d := w.deliver([]notify.Target{{Config: config, Sender: box}})
				defer w.run(d)()
				var want []string
				for i := range 12 {
					c := blocks(0, "GPTBot")
					if i%2 == 1 {
						c = frees(0, "GPTBot")
					}
					want = append(want, w.record(c)[0].ID)
					w.record(blocks(1+i%2, fmt.Sprintf("Bot%d", i)))
					d.Poke()
					time.Sleep(10 * time.Second)
				}
				time.Sleep(2 * time.Hour)
				var got []string
				for _, m := range box.got() {
					if m.Changes[0].Site == origin(0) {
						got = append(got, m.ID)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("got %v\nwant %v", got, want)
				}
				if len(w.pending()) != 0 {
					t.Errorf("pending %v", w.pending())
				}
			})
		})
	}
}

// A receiver that is away for 70 of 72 hours gets everything; after 73 it is
// too late, and that is visible.
func TestMaxAge(t *testing.T) {
	changes, limit := sizes.Pick(40, 5), sizes.Pick(notify.DefaultMaxAge, 12*time.Hour)
	for _, tc := range []struct {
		away time.Duration
		sent int
	}{{limit - 2*time.Hour, changes}, {limit + time.Hour, 0}} {
		for _, config := range []notify.ReceiverConfig{machine("r"), people("r")} {
			config.MaxAge = limit
			t.Run(fmt.Sprintf("%s %T", tc.away, config.To), func(t *testing.T) {
				simulate(t, func(t *testing.T) {
					w := newWorld(t, changes)
					back := time.Now().Add(tc.away)
					box := &inbox{answer: func(notify.Message) error {
						if time.Now().Before(back) {
							return errors.New("connection refused")
						}
						return nil
					}}
					d := w.deliver([]notify.Target{{Config: config, Sender: box}})
					defer w.run(d)()
					for i := range changes {
						w.record(blocks(i, fmt.Sprintf("Bot%d", i)))
					}
					d.Poke()
					time.Sleep(limit + 8*time.Hour)
					if len(box.got()) != tc.sent {
						t.Errorf("%d arrived, want %d", len(box.got()), tc.sent)
					}
					if len(w.pending()) != 0 {
						t.Errorf("pending %v", w.pending())
					}
					dead, err := w.store.ListDeliveries(t.Context(), deadOnes)
					if err != nil || len(dead) != changes-tc.sent {
						t.Errorf("%d dead, want %d (%v)", len(dead), changes-tc.sent, err)
					}
					for _, x := range dead {
						if !strings.Contains(x.LastError, "given up after "+limit.String()+": connection refused") {
							t.Errorf("reason %q", x.LastError)
						}
					}
					if box.tried() > 5000 {
						t.Errorf("%d attempts in %v", box.tried(), tc.away)
					}
				})
			})
		}
	}
}

func TestPermanentRefusalIsDeadAtOnce(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w := newWorld(t, 2)
		box := &inbox{answer: func(m notify.Message) error {
			if m.Changes[0].Site == origin(0) {
				return &notify.SendError{Err: errors.New("channel_not_found"), Permanent: true}
			}
			return nil
		}}
		d := w.deliver([]notify.Target{{Config: machine("r"), Sender: box}})
		defer w.run(d)()
		w.record(blocks(0, "GPTBot"), blocks(1, "GPTBot"))
		d.Poke()
		time.Sleep(time.Second)
		dead, err := w.store.ListDeliveries(t.Context(), deadOnes)
		if err != nil || len(dead) != 1 || dead[0].LastError != "channel_not_found" {
			t.Errorf("dead %+v, %v", dead, err)
		}
		if len(box.got()) != 1 || box.tried() != 2 {
			t.Errorf("%d messages in %d attempts, want 1 in 2", len(box.got()), box.tried())
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w := newWorld(t, 2)
		start := time.Now()
		box := &inbox{answer: func(m notify.Message) error {
			if time.Since(start) < time.Second {
				return &notify.SendError{Err: errors.New("429"), RetryAfter: 7 * time.Minute}
			}
			return nil
		}}
		d := w.deliver([]notify.Target{{Config: machine("r"), Sender: box}})
		defer w.run(d)()
		w.record(blocks(0, "GPTBot"))
		d.Poke()
		time.Sleep(time.Minute)
		w.record(blocks(1, "GPTBot"))
		d.Poke()
		time.Sleep(6*time.Minute - time.Second)
		if box.tried() != 1 {
			t.Errorf("%d attempts before Retry-After is over", box.tried())
		}
		time.Sleep(2 * time.Second)
		if len(box.got()) != 2 {
			t.Errorf("%d messages after Retry-After, want 2", len(box.got()))
		}
	})
}

func TestHourlyLimit(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 100), &inbox{}
		c := people("r")
		c.GroupWait, c.MaxPerHour = 0, 5
		d := w.deliver([]notify.Target{{Config: c, Sender: box}})
		for i := range 12 {
			w.record(blocks(i, fmt.Sprintf("Bot%d", i)))
		}
		defer w.run(d)()
		time.Sleep(30 * time.Minute)
		if len(box.got()) != 6 || box.got()[5].Kind != notify.MessageLimit {
			t.Fatalf("messages %q, want five and a notice", box.titles())
		}
		if want := "7 changes on 7 sites held back: 5 messages an hour is the limit"; box.got()[5].Text.Title != want {
			t.Errorf("notice %q, want %q", box.got()[5].Text.Title, want)
		}
		time.Sleep(31 * time.Minute)
		if len(box.got()) != 12 {
			t.Errorf("messages %q, want five more and a notice", box.titles())
		}
		time.Sleep(2 * time.Hour)
		told := map[string]bool{}
		for _, m := range box.got() {
			if m.Kind == notify.MessageChange {
				told[m.ID] = true
			}
		}
		if len(told) != 12 {
			t.Errorf("%d changes told, want 12: %q", len(told), box.titles())
		}
	})
}

func TestQuietHoursHoldAndThenTellOnce(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 100), &inbox{}
		c := people("r")
		c.Quiet = notify.QuietHours{From: 22 * time.Hour, To: 7 * time.Hour}
		d := w.deliver([]notify.Target{{Config: c, Sender: box}})
		defer w.run(d)()
		for i := range 20 {
			w.record(blocks(i, "GPTBot"))
		}
		w.record(frees(30, "CCBot"))
		d.Poke()
		time.Sleep(7*time.Hour - time.Minute)
		if n := len(box.got()); n != 0 {
			t.Fatalf("%d messages in quiet hours", n)
		}
		time.Sleep(2 * time.Minute)
		if got := box.titles(); !slices.Equal(got, []string{"21 changes on 21 sites during quiet hours"}) {
			t.Fatalf("got %q", got)
		}
		text := box.got()[0].Text.Plain()
		for _, want := range []string{"20 sites now block GPTBot", "CCBot now allowed on site30.example"} {
			if !strings.Contains(text, want) {
				t.Errorf("the message lacks %q:\n%s", want, text)
			}
		}
		w.record(blocks(40, "GPTBot"))
		d.Poke()
		time.Sleep(time.Minute)
		if got := box.titles(); len(got) != 2 || got[1] != "GPTBot now blocked on site40.example" {
			t.Errorf("by day: %q", got)
		}
		if len(w.pending()) != 0 {
			t.Errorf("pending %v", w.pending())
		}
	})
}

func TestDigest(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box, quietBox := newWorld(t, 100), &inbox{}, &inbox{}
		c := people("r")
		c.Mode, c.Digest, c.DigestEmpty = notify.Digest, "CRON_TZ=UTC 0 9 * * *", true
		q := c
		q.Name, q.DigestEmpty = "q", false
		d := w.deliver([]notify.Target{{Config: c, Sender: box}, {Config: q, Sender: quietBox}})
		stop := w.run(d)
		for i := range 7 {
			w.record(blocks(i, "GPTBot"))
		}
		for i := range 3 {
			w.record(frees(20+i, "CCBot"))
		}
		d.Poke()
		time.Sleep(9*time.Hour - time.Minute)
		if n := len(box.got()); n != 0 {
			t.Fatalf("%d messages before nine", n)
		}
		stop() // a restart changes nothing
		d = w.deliver([]notify.Target{{Config: c, Sender: box}, {Config: q, Sender: quietBox}})
		defer w.run(d)()
		time.Sleep(2 * time.Minute)
		if got := box.titles(); !slices.Equal(got, []string{"Digest: 10 changes on 10 sites"}) {
			t.Fatalf("got %q", got)
		}
		text := box.got()[0].Text.Plain()
		for _, want := range []string{"7 sites now block GPTBot", "GPTBot: 7 sites allowed → blocked", "CCBot: 3 sites blocked → allowed", "news: 10 changes"} {
			if !strings.Contains(text, want) {
				t.Errorf("the digest lacks %q:\n%s", want, text)
			}
		}
		time.Sleep(24 * time.Hour)
		if got := box.titles(); len(got) != 2 || got[1] != "Digest: nothing changed" {
			t.Errorf("second day: %q", got)
		}
		if len(quietBox.got()) != 1 {
			t.Errorf("who did not ask for it is told that nothing changed: %q", quietBox.titles())
		}
	})
}

func TestAFailedDigestIsTriedAgainWhole(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w := newWorld(t, 10)
		box := &inbox{answer: func(notify.Message) error { return errors.New("not now") }}
		c := people("r")
		c.Mode, c.Digest = notify.Digest, "@every 1h"
		d := w.deliver([]notify.Target{{Config: c, Sender: box}})
		defer w.run(d)()
		w.record(blocks(0, "GPTBot"))
		time.Sleep(time.Hour + 10*time.Minute)
		w.record(blocks(1, "CCBot"))
		if box.tried() < 2 {
			t.Fatalf("%d attempts", box.tried())
		}
		box.set(nil)
		time.Sleep(10 * time.Minute)
		if got := box.titles(); !slices.Equal(got, []string{"Digest: 2 changes on 2 sites"}) {
			t.Errorf("got %q", got)
		}
	})
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

func TestADigestDoesNotWaitForAClockThatWasSetBack(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w, box := newWorld(t, 1), &inbox{}
		c := people("r")
		c.Mode, c.Digest = notify.Digest, "CRON_TZ=UTC 0 9 * * *"
		d := w.deliver([]notify.Target{{Config: c, Sender: box}})
		now := time.Now()
		if _, ok, err := w.store.Lease(t.Context(), "r", "test", now, now); err != nil || !ok {
			t.Fatal(ok, err)
		}
		err := w.store.Settle(t.Context(), notify.Selection{Receiver: "r", ID: -1}, notify.Settlement{
			Status: notify.StatusSent, At: now, State: notify.ReceiverState{DigestAt: now.Add(300 * 24 * time.Hour)},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.run(d)()
		w.record(blocks(0, "GPTBot"))
		time.Sleep(25 * time.Hour)
		if got := box.titles(); !slices.Equal(got, []string{"Digest: 1 change on 1 site"}) {
			t.Errorf("got %q", got)
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
