package notify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/notify"
)

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

// How things stand on all sites does not stand beside the changes of a few.
func TestADigestCountsWhatItsReceiverAskedFor(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w := newWorld(t, 10)
		w.totals = &sites{}
		all, tagged, other := people("all"), people("tagged"), people("other")
		tagged.Tags, other.Agents = []string{"news"}, []string{"CCBot"}
		boxes := map[string]*inbox{}
		var targets []notify.Target
		for _, c := range []notify.ReceiverConfig{all, tagged, other} {
			c.Mode, c.Digest, c.DigestEmpty = notify.Digest, "@every 1h", true
			boxes[c.Name] = &inbox{}
			targets = append(targets, notify.Target{Config: c, Sender: boxes[c.Name]})
		}
		defer w.run(w.deliver(targets))()
		time.Sleep(time.Hour + time.Minute)
		for name, want := range map[string]bool{"all": true, "tagged": false, "other": false} {
			if got := strings.Contains(boxes[name].got()[0].Text.Plain(), "GPTBot: no movement; now blocked on 7"); got != want {
				t.Errorf("%s is told of all sites: %v, want %v\n%s", name, got, want, boxes[name].got()[0].Text.Plain())
			}
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
