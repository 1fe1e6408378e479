package notify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/notify"
)

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
