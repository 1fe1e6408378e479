package notify

import (
	"testing"
	"time"
)

func TestAGroupFromBeforeTheClockWasSetBackIsReady(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w := worker{cfg: ReceiverConfig{GroupWait: 30 * time.Second}}
	for _, tc := range []struct {
		first, last, want time.Duration // from now
	}{
		{-10 * time.Second, -10 * time.Second, 20 * time.Second},
		{-140 * time.Second, -5 * time.Second, 10 * time.Second},
		{24 * time.Hour, 25 * time.Hour, 0},
		{-time.Minute, 24 * time.Hour, 90 * time.Second},
	} {
		g := Group{First: now.Add(tc.first), Last: now.Add(tc.last)}
		if got := w.ready(g, now).Sub(now); got != tc.want {
			t.Errorf("from %v to %v: ready in %v, want %v", tc.first, tc.last, got, tc.want)
		}
	}
}
