package store

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

// captured is what a backfill says of a site: two runs and a change.
func captured(origin string, at time.Time, was int) *history.Rewrite {
	body := []byte("User-agent: *\nDisallow: /\n")
	hash := watcher.Hash(sha256.Sum256(body))
	r := watcher.Result{Site: watcher.Site{Origin: origin, LastCheckAt: at}}
	change(&r, "01"+at.UTC().Format("20060102150405")+origin[len(origin)-9:])
	c := r.Changes[0].Change
	c.Backfilled = true
	return &history.Rewrite{
		Config: watcher.SiteConfig{Origin: origin}, Was: was, Changes: []watcher.Change{c},
		Bodies: map[watcher.Hash][]byte{hash: body},
		Runs: []watcher.Observation{
			{At: at, LastAt: at.Add(time.Hour), State: fetch.Policy, Status: 200, FinalURL: origin + "/robots.txt", Body: hash, Backfill: true, Looks: 3},
			{At: at.Add(2 * time.Hour), LastAt: at.Add(2 * time.Hour), State: fetch.Unreachable, Reason: "timeout", Backfill: true, Looks: 1},
		},
	}
}

func TestRewriteReplacesBackfilledHistoryOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		live := policy(claim(t, s, t0, 1)[0], t0, "User-agent: *\nAllow: /\n", nil)
		change(&live, "01LIVE")
		record(t, s, live)
		watched, old := siteConfig(0).Origin, "https://old.example"

		past := t0.Add(-48 * time.Hour)
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(watched, past, 0), captured(old, past, 0)}); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, "SELECT count(*) FROM sites WHERE active = 0 AND origin = $1", old); n != 1 {
			t.Errorf("%d inactive sites, want the one that is not configured", n)
		}
		earlier := t0.Add(-96 * time.Hour)
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(watched, earlier, 2)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(old, earlier, 0)}); !errors.Is(err, ErrBackfilledMeanwhile) {
			t.Errorf("a rewrite of what another one wrote: %v", err)
		}
		pasts, err := s.Past(t.Context(), []string{"https://never.example", watched, old})
		if err != nil {
			t.Fatal(err)
		}
		if len(pasts[0].Runs) != 0 || len(pasts[1].Runs) != 3 || len(pasts[2].Runs) != 2 {
			t.Fatalf("%d, %d and %d runs, want 0, 3 and 2", len(pasts[0].Runs), len(pasts[1].Runs), len(pasts[2].Runs))
		}
		if r := pasts[1].Runs; !r[0].At.Equal(earlier) || r[0].Looks != 3 || !r[0].LastAt.Equal(earlier.Add(time.Hour)) || r[2].Backfill || !r[2].At.Equal(t0) {
			t.Errorf("runs: %+v", r)
		}
		changes, err := s.Changes(t.Context(), watcher.ChangeFilter{Site: watched})
		if err != nil || len(changes) != 2 || changes[0].ID != idOf(t0, "01LIVE") || !changes[1].At.Equal(earlier) {
			t.Errorf("changes: %+v, %v", changes, err)
		}
		if n := count(t, s, "SELECT count(*) FROM deliveries"); n != 0 {
			t.Errorf("%d deliveries, want none", n)
		}
		// The site comes to the configuration with its history, and not looked at.
		if done := resync(t, s, []watcher.SiteConfig{siteConfig(0), {Origin: old}}); done.Back != 1 {
			t.Errorf("%+v", done)
		}
		if site, err := s.SiteByOrigin(t.Context(), old); err != nil || site.State != fetch.Pending {
			t.Errorf("%+v, %v", site, err)
		}
	})
}
