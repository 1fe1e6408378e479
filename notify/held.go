package notify

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// limitNotice says once an hour how many messages wait because of the limit.
func (w *worker) limitNotice(ctx context.Context, now time.Time) (wait time.Duration, more bool, err error) {
	next := w.state.HourStart.Add(time.Hour)
	if w.state.HourNotice {
		return until(next, now), false, nil
	}
	t, err := w.outbox.Count(ctx, Selection{Receiver: w.cfg.Name, Due: now})
	if err != nil {
		return 0, false, fmt.Errorf("count waiting: %w", err)
	}
	m := limitMessage(t, w.cfg.MaxPerHour, next, w.links)
	_, err = w.deliver(ctx, w.nothing(), Totals{}, m, func(s *ReceiverState) { s.HourNotice = true })
	return idlePoll, false, err
}

// nothing selects no delivery: for what only changes the receiver's state.
func (w *worker) nothing() Selection { return Selection{Receiver: w.cfg.Name, ID: -1} }

// heldRound sends what was recorded before quiet hours ended as one message.
// done is false when there is no more than one group of it, which is sent as
// it always is.
func (w *worker) heldRound(ctx context.Context, now, end time.Time) (done bool, err error) {
	sel := Selection{Receiver: w.cfg.Name, CreatedBefore: end}
	t, err := w.outbox.Count(ctx, sel)
	if err != nil {
		return false, fmt.Errorf("count held: %w", err)
	}
	if t.Deliveries < 2 {
		return false, nil
	}
	sel.UpTo = t.UpTo
	s, err := w.summarise(ctx, sel)
	if err != nil {
		return false, err
	}
	if s.groups() < 2 {
		return false, nil
	}
	_, err = w.deliver(ctx, sel, t, heldMessage(s, t, end, w.links), nil)
	return true, err
}

// digestRound sends a digest when its time has come.
func (w *worker) digestRound(ctx context.Context, now time.Time) (wait time.Duration, more bool, err error) {
	since := w.state.DigestAt
	if since.IsZero() { // the first digest is at the first tick from now
		w.state.DigestAt = now.UTC()
		return 0, true, w.settle(w.nothing(), Settlement{Status: StatusSent, At: now})
	}
	tick := w.digest.Next(since.UTC())
	if tick.IsZero() || tick.After(now) {
		return until(tick, now), false, nil
	}
	for next := w.digest.Next(tick); !next.IsZero() && !next.After(now); next = w.digest.Next(tick) {
		tick = next // ticks that passed unnoticed are one digest
	}
	sel := Selection{Receiver: w.cfg.Name}
	t, err := w.outbox.Count(ctx, sel)
	if err != nil {
		return 0, false, fmt.Errorf("count digest: %w", err)
	}
	if sel.UpTo = t.UpTo; t.Deliveries == 0 {
		sel = w.nothing()
	}
	if t.Deliveries == 0 && !w.cfg.DigestEmpty {
		w.state.DigestAt = tick
		return 0, true, w.settle(sel, Settlement{Status: StatusSent, At: now})
	}
	s, err := w.summarise(ctx, sel)
	if err != nil {
		return 0, false, err
	}
	// Totals are of all sites: beside the changes of a few they would mislead.
	if w.totals != nil && len(w.cfg.Tags) == 0 {
		totals, err := w.totals.AgentTotals(ctx)
		if err != nil {
			return 0, false, fmt.Errorf("read totals: %w", err)
		}
		s.totals = slices.DeleteFunc(slices.Clone(totals), func(t AgentTotal) bool { return !w.router.Asked(w.cfg.Name, t.Agent) })
	}
	m := digestMessage(s, t, since, tick, w.links)
	ok, err := w.deliver(ctx, sel, t, m, func(s *ReceiverState) { s.DigestAt = tick })
	return until(w.digest.Next(tick), time.Now()), ok && err == nil, err
}

// summarise reads a selection page by page and keeps only sums and samples.
func (w *worker) summarise(ctx context.Context, sel Selection) (*summary, error) {
	const page = 500
	s := newSummary()
	for sel.ID == 0 {
		list, err := w.outbox.Deliveries(ctx, sel, page)
		if err != nil {
			return nil, fmt.Errorf("read deliveries: %w", err)
		}
		for _, d := range list {
			d.Change.Agents, _ = w.router.About(w.cfg.Name, d.Change)
			s.add(d.GroupKey, d.Change)
			sel.After = d.ID
		}
		if len(list) < page {
			break
		}
	}
	return s, nil
}
