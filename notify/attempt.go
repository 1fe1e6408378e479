package notify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// deliver makes one attempt and records what became of it; then changes the
// receiver's state when it succeeded. ok is false when the receiver shall be
// left alone for a while.
func (w *worker) deliver(ctx context.Context, sel Selection, t Totals, m Message, then func(*ReceiverState)) (ok bool, err error) {
	if time.Until(w.leased) < w.cfg.Timeout {
		if ok, err := w.lease(ctx); err != nil || !ok {
			return false, err
		}
	}
	sendCtx, cancel := w.sending(ctx)
	receipt, sendErr := w.sender.Send(sendCtx, m)
	cutOff := ctx.Err() != nil && sendCtx.Err() != nil
	cancel()
	if cutOff && sendErr != nil {
		return false, nil // by ourselves; the next run repeats it
	}
	now := time.Now()
	if sendErr != nil {
		return w.failed(sel, t, m.ID, sendErr, now)
	}
	if receipt == "" && m.outage() {
		receipt = toldReceipt
	}
	w.failures, w.pause = 0, time.Time{}
	w.state.FailingSince = time.Time{}
	w.spend(now)
	if then != nil {
		then(&w.state)
	}
	w.metrics.delivered(w.cfg.Name, resultSent)
	return true, w.settle(sel, Settlement{Status: StatusSent, At: now, Receipt: receipt, Alerts: m.Alerts})
}

// parting is what a send that is under way when the dispatcher is stopped has
// left.
const parting = 5 * time.Second

// sending is the time for one attempt: the receiver's timeout; once ctx has
// ended no more than parting, so that most messages that are on their way are
// not sent again.
func (w *worker) sending(ctx context.Context) (context.Context, context.CancelFunc) {
	send, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.Timeout)
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(parting)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-send.Done():
		}
	})
	return send, func() { stop(); cancel() }
}

// failed records a failed attempt: to be repeated, or dead when the receiver
// refused it for good or has been tried for max_age.
func (w *worker) failed(sel Selection, t Totals, id string, sendErr error, now time.Time) (ok bool, err error) {
	var se *SendError
	if !errors.As(sendErr, &se) {
		se = &SendError{Err: sendErr}
	}
	if se.Permanent {
		w.log.Error("delivery refused for good", "error", se.Error(), "id", id, "changes", t.Deliveries, "again", w.again())
		w.metrics.delivered(w.cfg.Name, resultDead)
		return true, w.settle(sel, Settlement{Status: StatusDead, At: now, Error: se.Error()})
	}
	if w.state.FailingSince.IsZero() {
		w.state.FailingSince = now
	}
	w.failures++
	pause := min(backoff(w.failures), maxPause)
	// A message that fails while others get through is not left to wait long:
	// what comes after it of the same site waits with it.
	next := min(backoff(t.Attempts+1), max(pause, maxBackoffAlive))
	if ra := min(se.RetryAfter, maxRetryAfter); ra > 0 {
		pause, next = max(pause, ra), max(next, ra)
	}
	w.pause = now.Add(pause)
	if err := w.giveUp(sel, se, now); err != nil {
		return false, err
	}
	w.log.Warn("delivery failed, will retry", "error", se.Error(), "id", id, "changes", t.Deliveries,
		"attempt", t.Attempts+1, "in", next.Round(time.Millisecond))
	w.metrics.delivered(w.cfg.Name, resultRetried)
	return false, w.settle(sel, Settlement{Status: StatusPending, At: now, NextAt: now.Add(next), Error: se.Error()})
}

// again is the command that sends what is dead once more.
func (w *worker) again() string {
	return "robotswatch deliveries --dead --retry --receiver " + w.cfg.Name
}

// giveUp declares dead what was tried for max_age; and when the receiver has
// failed without a break all that time, also what waited behind it in vain.
func (w *worker) giveUp(sel Selection, se *SendError, now time.Time) error {
	cutoff := now.Add(-w.cfg.MaxAge)
	old := sel
	old.TriedBefore = cutoff
	if !w.state.FailingSince.After(cutoff) && w.digest == nil {
		old = Selection{Receiver: w.cfg.Name, Due: now, CreatedBefore: cutoff}
	}
	t, err := w.outbox.Count(context.Background(), old)
	if err != nil {
		return fmt.Errorf("count expired: %w", err)
	}
	if t.Deliveries == 0 {
		return nil
	}
	w.log.Error("deliveries given up", "error", se.Error(), "changes", t.Deliveries, "max_age", w.cfg.MaxAge, "again", w.again())
	w.metrics.delivered(w.cfg.Name, resultDead)
	old.UpTo = t.UpTo
	return w.settle(old, Settlement{Status: StatusDead, At: now,
		Error: fmt.Sprintf("given up after %s: %s", w.cfg.MaxAge, se.Error())})
}

// settle is not interrupted by a shutdown: the message is out.
func (w *worker) settle(sel Selection, s Settlement) error {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	s.State = w.state
	if err := w.outbox.Settle(ctx, sel, s); err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	return nil
}

// backoff before the next attempt: exponential, half of it jitter.
func backoff(attempts int) time.Duration {
	d := maxBackoff
	if attempts < 20 {
		d = min(minBackoff<<max(attempts-1, 0), maxBackoff)
	}
	return d/2 + rand.N(d/2+1)
}
