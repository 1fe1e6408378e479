package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/robotswatch/robotswatch/watcher"
)

// Limits of the dispatcher.
const (
	minBackoff      = time.Second
	maxBackoff      = 10 * time.Minute // between attempts at one message
	maxBackoffAlive = 30 * time.Second // the same while the receiver takes other messages
	maxPause        = 5 * time.Minute  // between attempts at one failing receiver
	maxRetryAfter   = time.Hour        // a receiver that asks for more is asked again after this
	idlePoll        = 30 * time.Second // looks at the outbox without being poked
	leaseTime       = 15 * time.Second // beyond the timeout of an attempt; another machine takes over after it
	settleTime      = time.Minute      // for recording what became of a message
	groupsPerLook   = 100
	eachPerLook     = 50
	// A group that keeps growing is held until it rests for group_wait, at
	// most this many times group_wait.
	maxGroupWaits = 5
	// sampleChanges of a group are read and rendered; the rest is counted.
	sampleChanges = 10
)

// worker delivers to one receiver.
type worker struct {
	cfg     ReceiverConfig
	sender  Sender
	outbox  Outbox
	owner   string
	links   Links
	router  *Router
	totals  TotalsSource
	digest  cron.Schedule
	metrics *Metrics
	log     *slog.Logger
	poke    chan struct{}

	state    ReceiverState
	leased   time.Time // until then the receiver is ours
	failures int       // in a row, of the receiver
	pause    time.Time // no attempt before this
	fresh    time.Time // when all alerts were last refreshed
	hasty    bool      // do not wait for groups to grow
}

// run looks at the outbox when poked, when something becomes due, and every
// idlePoll.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			w.log.Error("outbox", "error", err)
			wait = idlePoll
		}
		w.rest(ctx, time.Now().Add(wait))
	}
}

// rest sleeps until a time, or until something new may be ready, but never
// ends the pause of a failing receiver.
func (w *worker) rest(ctx context.Context, end time.Time) {
	for ctx.Err() == nil {
		t := time.NewTimer(time.Until(end))
		select {
		case <-ctx.Done():
		case <-t.C:
			if d := time.Until(w.pause); d > 0 {
				sleep(ctx, d)
			}
			return
		case <-w.poke:
			// What has just come in is not complete before group_wait.
			if ready := time.Now().Add(w.settling()); ready.Before(end) {
				end = ready
			}
		}
		t.Stop()
	}
}

// settling is how long a new change is held at least.
func (w *worker) settling() time.Duration {
	if w.cfg.scope() == eachChange {
		return 0
	}
	return w.cfg.GroupWait
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (w *worker) drain(ctx context.Context) {
	w.hasty = true
	if _, err := w.look(ctx); err != nil && ctx.Err() == nil {
		w.log.Error("outbox", "error", err)
	}
}

// look delivers what is ready and says how long nothing more will be.
func (w *worker) look(ctx context.Context) (time.Duration, error) {
	for {
		if wait, err := w.idle(ctx, time.Now()); err != nil || wait > 0 {
			return wait, err
		}
		ok, err := w.lease(ctx)
		if err != nil || !ok {
			return idlePoll, err
		}
		wait, more, err := w.round(ctx, time.Now())
		if err != nil || !more {
			return wait, err
		}
	}
}

// idle is for how long there is certainly nothing to do; to know that costs
// one read at most.
func (w *worker) idle(ctx context.Context, now time.Time) (time.Duration, error) {
	w.state.forgetFuture(now)
	if w.mustRefresh(now) {
		return 0, nil
	}
	if inside, end := w.cfg.Quiet.at(now); inside {
		return until(end, now), nil
	}
	if w.digest != nil {
		if w.state.DigestAt.IsZero() { // not known before the first lease
			return 0, nil
		}
		return until(w.digest.Next(w.state.DigestAt.UTC()), now), nil
	}
	due, err := w.outbox.NextDue(ctx, w.cfg.Name, time.Time{})
	if err != nil {
		return 0, fmt.Errorf("read next delivery: %w", err)
	}
	return until(due, now), nil
}

// lease takes or renews the right to deliver to the receiver. ok is false
// while another process has it.
func (w *worker) lease(ctx context.Context) (ok bool, err error) {
	now := time.Now()
	until := now.Add(leaseTime + w.cfg.Timeout)
	state, ok, err := w.outbox.Lease(ctx, w.cfg.Name, w.owner, now, until)
	if err != nil {
		return false, fmt.Errorf("lease receiver: %w", err)
	}
	state.forgetFuture(now)
	w.state, w.leased = state, until
	return ok, nil
}

// round makes one pass over what is ready now. more asks for another pass.
func (w *worker) round(ctx context.Context, now time.Time) (wait time.Duration, more bool, err error) {
	if w.digest != nil {
		return w.digestRound(ctx, now)
	}
	if w.mustRefresh(now) {
		if err := w.refresh(ctx, now); err != nil {
			return 0, false, err
		}
	}
	if w.cfg.scope() == eachChange {
		if more, err = w.eachRound(ctx, now); err != nil || more {
			return 0, more, err
		}
		wait, err = w.untilDue(ctx, now)
		return wait, false, err
	}
	if _, end := w.cfg.Quiet.at(now); !end.IsZero() {
		if done, err := w.heldRound(ctx, now, end); err != nil || done {
			return 0, err == nil && time.Now().After(w.pause), err
		}
	}
	return w.groupRound(ctx, now)
}

// until is how long to sleep before a time (zero: never), at most idlePoll.
func until(due, now time.Time) time.Duration {
	if due.IsZero() {
		return idlePoll
	}
	return min(max(due.Sub(now), 0), idlePoll)
}

// untilDue is how long to sleep before another delivery becomes due.
func (w *worker) untilDue(ctx context.Context, now time.Time) (time.Duration, error) {
	due, err := w.outbox.NextDue(ctx, w.cfg.Name, now)
	if err != nil {
		return 0, fmt.Errorf("read next delivery: %w", err)
	}
	return until(due, now), nil
}

// eachRound sends one message a change, oldest first.
func (w *worker) eachRound(ctx context.Context, now time.Time) (more bool, err error) {
	sel := Selection{Receiver: w.cfg.Name, Due: now}
	list, err := w.outbox.Deliveries(ctx, sel, eachPerLook)
	if err != nil {
		return false, fmt.Errorf("read deliveries: %w", err)
	}
	for _, d := range list {
		if ctx.Err() != nil {
			return false, nil
		}
		if w.overLimit(time.Now()) {
			return false, nil
		}
		one := Selection{Receiver: w.cfg.Name, ID: d.ID, Due: now}
		t := Totals{Deliveries: 1, Sites: 1, UpTo: d.ID, First: d.CreatedAt, Last: d.CreatedAt, Attempts: d.Attempts}
		m := changeMessage([]watcher.Change{d.Change}, t, w.links, nil)
		if w.cfg.stateful() {
			if m.Alerts, err = w.alerts(ctx, d.Change, m); err != nil {
				return false, err
			}
		}
		ok, err := w.deliver(ctx, one, t, m, nil)
		if err != nil || !ok {
			return false, err
		}
	}
	return len(list) == eachPerLook, nil
}

// groupRound sends one message a group that is complete, oldest first.
func (w *worker) groupRound(ctx context.Context, now time.Time) (wait time.Duration, more bool, err error) {
	groups, err := w.outbox.Groups(ctx, w.cfg.Name, now, groupsPerLook)
	if err != nil {
		return 0, false, fmt.Errorf("read groups: %w", err)
	}
	if wait, err = w.untilDue(ctx, now); err != nil {
		return 0, false, err
	}
	sent := 0
	for _, g := range groups {
		if ctx.Err() != nil {
			return 0, false, nil
		}
		if d := w.ready(g, now).Sub(now); d > 0 && !w.hasty {
			wait = min(wait, d)
			continue
		}
		if w.overLimit(time.Now()) {
			return w.limitNotice(ctx, now)
		}
		sel := Selection{Receiver: w.cfg.Name, GroupKey: g.Key, UpTo: g.UpTo, Due: now}
		m, t, err := w.compose(ctx, sel)
		if err != nil {
			return 0, false, err
		}
		if t.Deliveries == 0 { // dropped by hand meanwhile
			continue
		}
		ok, err := w.deliver(ctx, sel, t, m, nil)
		if err != nil || !ok {
			return 0, false, err
		}
		sent++
	}
	// Sending may have made later changes of the same sites sendable.
	return wait, sent > 0, nil
}

// ready is when a group is complete: it rests for group_wait, or has waited
// long enough. One that was recorded before the clock was set back is.
func (w *worker) ready(g Group, now time.Time) time.Time {
	if g.First.After(now) {
		return now
	}
	at := g.Last.Add(w.cfg.GroupWait)
	if limit := g.First.Add(maxGroupWaits * w.cfg.GroupWait); at.After(limit) {
		return limit
	}
	return at
}

func (w *worker) compose(ctx context.Context, sel Selection) (Message, Totals, error) {
	t, err := w.outbox.Count(ctx, sel)
	if err != nil {
		return Message{}, t, fmt.Errorf("count group: %w", err)
	}
	list, err := w.outbox.Deliveries(ctx, sel, sampleChanges)
	if err != nil {
		return Message{}, t, fmt.Errorf("read group: %w", err)
	}
	if len(list) == 0 {
		return Message{}, Totals{}, nil
	}
	asked, others := w.router.About(w.cfg.Name, list[0].Change)
	list[0].Change.Agents = asked
	m := changeMessage(changesOf(list), t, w.links, others)
	if first := list[0].Change; first.Kind == watcher.KindState && t.Sites == 1 && first.State.After.Readable() {
		receipt, before, err := w.outbox.Receipt(ctx, w.cfg.Name, first.Site, list[0].ID)
		switch {
		case err == nil && !before.State.After.Readable():
			m.end(before, receipt)
		case err != nil && !errors.Is(err, watcher.ErrNotFound):
			return m, t, fmt.Errorf("read receipt: %w", err)
		}
	}
	return m, t, nil
}

func changesOf(list []Delivery) []watcher.Change {
	changes := make([]watcher.Change, len(list))
	for i, d := range list {
		changes[i] = d.Change
	}
	return changes
}

// overLimit opens a new window when the last one is over.
func (w *worker) overLimit(now time.Time) bool {
	if w.cfg.MaxPerHour <= 0 {
		return false
	}
	if now.Sub(w.state.HourStart) >= time.Hour {
		w.state.HourStart, w.state.HourSent, w.state.HourNotice = now, 0, false
	}
	return w.state.HourSent >= w.cfg.MaxPerHour
}

// spend counts a message against the hourly limit.
func (w *worker) spend(now time.Time) {
	if w.cfg.MaxPerHour > 0 {
		w.overLimit(now)
		w.state.HourSent++
	}
}
