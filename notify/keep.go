package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// alerts are those that a change begins, after those that it ends.
func (w *worker) alerts(ctx context.Context, c watcher.Change, m Message) ([]Alert, error) {
	asked, _ := w.router.About(w.cfg.Name, c)
	begin, end := alertsOf(c, asked, m)
	list, err := w.outbox.Alerts(ctx, w.cfg.Name, end, "", len(end), c.At)
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	var ended []Alert
	for _, old := range list {
		goes := slices.IndexFunc(begin, func(a Alert) bool { return a.Key == old.Key && maps.Equal(a.Labels, old.Labels) })
		if goes >= 0 { // it goes on
			begin[goes].Since = old.Since
			continue
		}
		old.Until = c.At
		ended = append(ended, old)
	}
	return append(ended, begin...), nil
}

// mustRefresh reports whether the alerts that go on are to be sent again.
func (w *worker) mustRefresh(now time.Time) bool {
	return w.cfg.stateful() && now.Sub(w.fresh) >= alertRefresh && !now.Before(w.pause)
}

// refresh sends all alerts that go on, page by page, and ends those whose
// site is no longer watched.
func (w *worker) refresh(ctx context.Context, now time.Time) error {
	w.fresh = now
	after := ""
	for ctx.Err() == nil {
		list, err := w.outbox.Alerts(ctx, w.cfg.Name, nil, after, alertsPerPost, now)
		if err != nil {
			return fmt.Errorf("read alerts: %w", err)
		}
		if len(list) == 0 {
			return nil
		}
		after = list[len(list)-1].Key
		sendCtx, cancel := context.WithTimeout(ctx, w.cfg.Timeout)
		_, err = w.sender.Send(sendCtx, Message{Kind: MessageAlerts, At: now, Alerts: list})
		cancel()
		if err != nil {
			w.log.Warn("alerts not refreshed", "error", err)
			return nil
		}
		var ended []Alert
		for _, a := range list {
			if !a.Until.IsZero() {
				ended = append(ended, a)
			}
		}
		if ended != nil {
			if err := w.settle(w.nothing(), Settlement{Status: StatusSent, At: now, Alerts: ended}); err != nil {
				return err
			}
		}
	}
	return nil
}
