package store

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

func TestSetBackMovesPlansAndLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		if _, err := s.SyncSites(t.Context(), t0, configured(siteConfigs(1)), func(string, string) time.Time { return t0 }); err != nil {
			t.Fatal(err)
		}
		if n := len(claim(t, s, t0, 1)); n != 1 { // leased for a minute
			t.Fatalf("leased %d sites, want 1", n)
		}
		if err := s.SetBack(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		now := t0.Add(-time.Hour)
		if n := len(claim(t, s, now.Add(59*time.Second), 1)); n != 0 {
			t.Errorf("the lease ended with the clock")
		}
		if n := len(claim(t, s, now.Add(time.Minute), 1)); n != 1 {
			t.Errorf("the site is not due after its lease")
		}
	})
}

// With more sites than a page holds all are moved, and the last look too, so
// that the next start does not move them again.
func TestSetBackMovesAllPagesOnce(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db"))
	resync(t, s, siteConfigs(tidyPage+1))
	record(t, s, unchanged(claim(t, s, t0, 1)[0], t0))
	if err := s.SetBack(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	earlier := t0.Add(-time.Hour)
	if n := count(t, s, "SELECT count(*) FROM sites WHERE next_check_at IN ($1, $2)", toMillis(earlier), toMillis(earlier.Add(6*time.Hour))); n != tidyPage+1 {
		t.Errorf("%d sites were moved, want %d", n, tidyPage+1)
	}
	if last, err := s.LastLook(t.Context()); err != nil || !last.Equal(earlier) {
		t.Errorf("the last look was at %v (%v), want %v", last, err, earlier)
	}
}

func TestLastLook(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		want := func(at time.Time) {
			t.Helper()
			if got, err := s.LastLook(t.Context()); err != nil || !got.Equal(at) {
				t.Errorf("the last look was at %v (%v), want %v", got, err, at)
			}
		}
		want(time.Time{})
		resync(t, s, siteConfigs(4))
		l := claim(t, s, t0, 4)
		record(t, s, unchanged(l[0], t0), unchanged(l[1], t0.Add(-time.Minute)))
		want(t0)
		record(t, s, unchanged(l[2], t0.Add(lookStep-time.Millisecond))) // not worth a write
		want(t0)
		if err := s.Release(t.Context(), l[3:]); err != nil {
			t.Fatal(err)
		}
		if lost, err := s.Record(t.Context(), []watcher.Result{unchanged(l[3], t0.Add(time.Hour))}); lost != 1 || err != nil {
			t.Fatal(lost, err)
		}
		want(t0) // a look that came too late is none
		again := open(t, url)
		record(t, again, unchanged(claim(t, again, t0, 1)[0], t0.Add(lookStep)))
		want(t0.Add(lookStep))
	})
}

func TestSetBackMovesDeliveries(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 1, "r")
		tell(t, s, t0, told{0, "g", []string{"r"}})
		if err := s.SetBack(t.Context(), 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		due, err := s.NextDue(t.Context(), "r", time.Time{})
		if want := t0.Add(-24 * time.Hour); err != nil || !due.Equal(want) {
			t.Errorf("due at %v, want %v (%v)", due, want, err)
		}
	})
}
