package store

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/sizes"
)

func TestCheckFindsDamage(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		furnish(t, s, 30)
		fine(t, s)
		var data []byte
		if err := s.QueryRow(t.Context(), "SELECT data FROM bodies WHERE id = 1").Scan(&data); err != nil {
			t.Fatal(err)
		}
		flipped := append([]byte(nil), data...)
		flipped[len(flipped)-1] ^= 1
		for _, damage := range []struct {
			query, undo string
			arg, was    any
			want        string
		}{
			{"UPDATE bodies SET data = $1 WHERE id = 1", "UPDATE bodies SET data = $1 WHERE id = 1", flipped, data, "body 1"},
			{"UPDATE bodies SET size = size + $1 WHERE id = 2", "UPDATE bodies SET size = size - $1 WHERE id = 2", 1, 1, "octets"},
			{"UPDATE sites SET body_id = body_id + $1 WHERE id = 3", "UPDATE sites SET body_id = body_id - $1 WHERE id = 3", 100000, 100000, "policy"},
			{"UPDATE sites SET profile_id = profile_id + $1 WHERE id = 4", "UPDATE sites SET profile_id = profile_id - $1 WHERE id = 4", 100000, 100000, "profile"},
			{"UPDATE observations SET body_id = body_id + $1 WHERE site_id = 5", "UPDATE observations SET body_id = body_id - $1 WHERE site_id = 5", 100000, 100000, "is missing"},
			{"UPDATE observations SET last_at = at - $1 WHERE site_id = 8 AND last_at <> 0", "UPDATE observations SET last_at = at + $1 - 1 WHERE site_id = 8 AND last_at <> 0", 1, 1, "overlaps"},
			{"UPDATE sites SET observed_at = observed_at + $1 WHERE id = 6", "UPDATE sites SET observed_at = observed_at - $1 WHERE id = 6", 1, 1, "open observation"},
			{"UPDATE changes SET severity = severity - $1", "UPDATE changes SET severity = severity + $1", 1, 1, "fit together"},
			{"UPDATE deliveries SET status = $1 WHERE id = (SELECT max(id) FROM deliveries)", "UPDATE deliveries SET status = $1 WHERE id = (SELECT max(id) FROM deliveries)", "peneing", "pending", "no status"},
			{"UPDATE sites SET readable = $1 WHERE id = 3", "UPDATE sites SET readable = $1 WHERE id = 3", "poliky", "policy", "no readable"},
			{"UPDATE standings SET sites = sites + $1 WHERE state = 'unreachable'", "UPDATE standings SET sites = sites - $1 WHERE state = 'unreachable'", 3, 3, "+3 sites"},
		} {
			if _, err := s.exec(t.Context(), damage.query, damage.arg); err != nil {
				t.Fatalf("%s: %v", damage.query, err)
			}
			var found []string
			if err := s.Check(t.Context(), func(p Problem) { found = append(found, p.String()) }); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(found, "\n"), damage.want) {
				t.Errorf("%s\nfound %q, want something about %q", damage.query, found, damage.want)
			}
			if _, err := s.exec(t.Context(), damage.undo, damage.was); err != nil {
				t.Fatalf("%s: %v", damage.undo, err)
			}
		}
		fine(t, s)
	})
}

// Work that goes on while a store is checked is no damage.
func TestCheckBesideDaemonsFindsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(200))
		ctx, stop := context.WithCancel(t.Context())
		var at sync.WaitGroup
		at.Go(func() {
			if err := work(ctx, s, t0, io.Discard); ctx.Err() == nil {
				t.Error(err)
			}
		})
		at.Go(func() { // backfills and retention, in turn
			origin := siteConfig(0).Origin
			for ctx.Err() == nil {
				var last int64
				err := s.Rewrite(ctx, []*history.Rewrite{captured(origin, t0.AddDate(-1, 0, 0), 0)})
				if err == nil {
					err = s.QueryRow(ctx, "SELECT max(observed_at) FROM sites").Scan(&last)
				}
				if err == nil {
					_, err = s.dropObservations(ctx, fromMillis(max(last, t0.UnixMilli())).Add(-14*time.Hour))
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
		found := map[string]bool{}
		for range sizes.Pick(20, 4) {
			if err := s.Check(t.Context(), func(p Problem) { found[fmt.Sprint(p)] = true }); err != nil {
				t.Error(err)
			}
		}
		stop()
		at.Wait()
		for p := range found {
			t.Error(p)
		}
		fine(t, s)
	})
}
