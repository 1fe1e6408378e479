package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/sizes"
)

// Others wait for a transaction of the retention, so each is short.
func TestRetentionGoesInPortions(t *testing.T) {
	for want, sites := range map[string][]siteEnded{
		"[]":                            nil,
		"[{6 7}]":                       {{7, 5000}},
		"[{0 2} {2 3}]":                 {{1, 999}, {2, 1001}, {3, 1}},
		"[{0 1} {1 2} {2 4}]":           {{1, 1}, {2, 9999}, {3, 1000}, {4, 1000}},
		"[{0 200} {200 201} {899 900}]": {{1, 1}, {200, 1}, {201, 1}, {900, 1}},
	} {
		if got := fmt.Sprint(inPortions(sites)); got != want {
			t.Errorf("%v: %s, want %s", sites, got, want)
		}
	}
}

// A long history takes as long as it is, not as its square.
func TestRetentionOfALongHistory(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		runs := int64(sizes.Pick(20_000, 2_000))
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		if _, err := s.exec(t.Context(), fmt.Sprintf(`INSERT INTO observations (site_id, at, last_at, state, seq)
			SELECT (SELECT id FROM sites), n, CASE WHEN n = %[1]d THEN 0 ELSE n END, 'p', n FROM (
				WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %[1]d) SELECT n FROM g) g`, runs)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for _, before := range []int64{101, runs + 1} { // little of it, and all but the open run
			if n, err := s.dropObservations(ctx, fromMillis(before)); err != nil || n == 0 {
				t.Fatal(n, err)
			}
			if dropped := count(t, s, "SELECT dropped FROM chains"); int64(dropped) != min(before, runs)-1 {
				t.Errorf("%d are noted as dropped before %d", dropped, before)
			}
		}
		if n := count(t, s, "SELECT count(*) FROM observations"); n != 1 {
			t.Errorf("%d runs are left, want the open one", n)
		}
	})
}
