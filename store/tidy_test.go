package store

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTidyRemovesWhatIsOld(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(2))
		origin := siteConfig(0).Origin
		day := func(n int) time.Time { return t0.AddDate(0, 0, n) }
		look := func(n int, body string) {
			l, err := s.ClaimSites(t.Context(), day(n), []string{origin}, time.Minute)
			if err != nil || len(l) != 1 {
				t.Fatal(len(l), err)
			}
			record(t, s, policy(l[0], day(n), body, blockedProfile))
		}
		look(0, "first")
		look(10, "second")
		look(20, "third")
		look(30, "second") // old bytes, still referred to
		did, err := s.Tidy(t.Context(), day(40), 15*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		// Each run was seen once, so the first three ended by day 20.
		if did.Observations != 3 || did.Bodies != 2 {
			t.Errorf("removed %+v", did)
		}
		runs, err := s.Observations(t.Context(), origin, time.Time{}, time.Time{}, 0)
		if err != nil || len(runs) != 1 || !runs[0].At.Equal(day(30)) {
			t.Errorf("left: %+v, %v", runs, err)
		}
		if body, err := s.Body(t.Context(), runs[0].Body); err != nil || string(body) != "second" {
			t.Errorf("body %q, %v", body, err)
		}
		again, err := s.Tidy(t.Context(), day(40), 15*24*time.Hour)
		if err != nil || again != (Tidied{}) {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

func TestTidyKeepsTheOpenRunAndFreshBodies(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		record(t, s, policy(claim(t, s, t0, 1)[0], t0, "a", blockedProfile))
		if did, err := s.Tidy(t.Context(), t0.AddDate(1, 0, 0), time.Hour); err != nil || did.Observations != 0 {
			t.Errorf("%+v, %v", did, err)
		}
		now := t0.AddDate(1, 0, 0)
		record(t, s, policy(claim(t, s, now, 1)[0], now, "b", blockedProfile))
		if did, err := s.Tidy(t.Context(), now.Add(2*time.Hour), time.Hour); err != nil || did.Observations != 1 || did.Bodies != 1 {
			t.Errorf("%+v, %v: the body of the old run should go", did, err)
		}
		if _, err := s.exec(t.Context(), "UPDATE sites SET body_id = 0, observed_at = 0"); err != nil {
			t.Fatal(err)
		}
		if n, err := s.dropBodies(t.Context(), now.Add(-time.Hour)); err != nil || n != 0 {
			t.Errorf("%d bodies of this hour dropped, %v", n, err)
		}
	})
}

func TestTidyGivesPagesBack(t *testing.T) {
	path := t.TempDir() + "/test.db"
	s := open(t, "sqlite:"+path)
	if n := count(t, s, "PRAGMA auto_vacuum"); n != 2 {
		t.Fatalf("auto_vacuum is %d, want 2, incremental", n)
	}
	err := s.Write(t.Context(), func(tx *Tx) error {
		for i := range 3000 {
			if _, err := tx.Exec(t.Context(), "INSERT INTO facts (name, value) VALUES ($1, $2)", fmt.Sprint(i), strings.Repeat("x", 8000)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.exec(t.Context(), "DELETE FROM facts"); err != nil {
		t.Fatal(err)
	}
	did, err := s.Tidy(t.Context(), t0, 0)
	if err != nil || did.Pages < 3000 {
		t.Errorf("%d pages given back, %v", did.Pages, err)
	}
	if n := count(t, s, "PRAGMA freelist_count"); n > vacuumFrom {
		t.Errorf("%d free pages are left", n)
	}
}
