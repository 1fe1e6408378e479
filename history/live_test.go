package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/dataset"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// script is what the sites answer, by the hours since t0 from which they do.
var script = map[string][]struct {
	from   float64
	status int
	body   string
}{
	"https://steady.example":   {{0, 200, open}},
	"https://edits.example":    {{0, 200, open}, {30, 200, closed}, {31, 200, open}, {90, 200, closed}},
	"https://outage.example":   {{0, 200, open}, {20, 503, ""}, {40, 200, closed}},
	"https://blip.example":     {{0, 200, open}, {24, 503, ""}, {24.05, 200, open}},
	"https://gone.example":     {{0, 200, closed}, {12, 404, ""}, {60, 200, closed}},
	"https://closed.example":   {{0, 403, ""}, {50, 200, open}},
	"https://late.example":     {{0, 503, ""}, {18, 200, open}, {70, 404, ""}},
	"https://mixed.example":    {{0, 200, open}, {20, 503, ""}, {20.1, 403, ""}, {20.3, 200, closed}},
	"https://flapping.example": {{0, 200, open}, {6, 200, closed}, {12, 200, open}, {18, 200, closed}, {24, 200, open}, {30, 200, closed}, {36, 200, open}},
}

// TestLiveAndBackfilledAreOne: the same answers, seen live or captured, give
// the same changes and the same policies.
func TestLiveAndBackfilledAreOne(t *testing.T) {
	past, j, watched := newStore(t), newJudge(t), newStore(t)
	lines := live(t, watched, j)
	backfill(t, past, lines...)
	changes := 0
	for site := range script {
		want, got := knownOf(t, watched, site), knownOf(t, past, site)
		for i := range got.Changes {
			if !got.Changes[i].Backfilled {
				t.Errorf("%s: %s is not marked", site, got.Changes[i].Summary)
			}
			got.Changes[i].Backfilled = false
		}
		changes += len(want.Changes)
		if a, b := asJSON(t, got.Changes), asJSON(t, want.Changes); a != b {
			t.Errorf("%s: changes by backfill\n%s\nlive\n%s", site, a, b)
		}
		if a, b := policies(t, j, past, site), policies(t, j, watched, site); a != b {
			t.Errorf("%s: policies by backfill\n%s\nlive\n%s", site, a, b)
		}
	}
	t.Logf("%d looks, %d changes", len(lines), changes)
}

func sitesOf(t *testing.T, s *store.Store) (list []watcher.SiteConfig) {
	t.Helper()
	sites, err := s.Sites(t.Context(), watcher.SiteFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range sites {
		list = append(list, site.Config)
	}
	return list
}

// policies of one agent, without the end of the last interval: a live site
// goes on, an archive ends.
func policies(t *testing.T, j *watcher.Judge, s *store.Store, site string) (text string) {
	t.Helper()
	p := dataset.Policies{Judge: j, Bodies: s, Gap: history.DefaultGap}
	for h, err := range s.WalkHistories(t.Context(), site) {
		if err != nil {
			t.Fatal(err)
		}
		rows, err := p.Rows(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			to := "on"
			if r.ValidTo != nil && i+1 < len(rows) && rows[i+1].Agent == r.Agent {
				to = r.ValidTo.Format(time.RFC3339)
			}
			text += fmt.Sprintln(r.Agent, r.ValidFrom.Format(time.RFC3339), to, r.Access, r.Source, r.State, r.SHA256)
		}
	}
	return text
}

// live looks at the sites of the script for five days, as a daemon does, and
// gives what it saw.
func live(t *testing.T, s *store.Store, j *watcher.Judge) (lines []line) {
	t.Helper()
	const hours = 120
	captures := fetch.NewCaptures(1 << 20)
	for site, answers := range script {
		c := watcher.SiteConfig{Origin: site, Schedule: "@every 6h"}
		all := append([]watcher.SiteConfig{c}, sitesOf(t, s)...)
		if _, err := s.SyncSites(t.Context(), t0, list(all), func(string, string) time.Time { return t0 }); err != nil {
			t.Fatal(err)
		}
		for at := t0; at.Before(t0.Add(hours * time.Hour)); {
			leases, err := s.ClaimSites(t.Context(), at, []string{site}, time.Second)
			if err != nil || len(leases) != 1 {
				t.Fatalf("%d leases, %v", len(leases), err)
			}
			l := failed(site, at, 0, "timeout")
			for _, a := range answers {
				if at.Sub(t0).Hours() >= a.from {
					if l = failed(site, at, a.status, ""); a.status == 200 {
						l = policy(site, at, a.body)
					}
				}
			}
			lines = append(lines, l)
			capture := fetch.Capture{Origin: site, At: l.Time, Status: l.Status, Error: l.Error}
			if l.Body != nil {
				capture.Body = *l.Body
			}
			out, err := captures.Outcome(capture)
			if err != nil {
				t.Fatal(err)
			}
			v, err := j.Judge(t.Context(), leases[0].Site, out, s)
			if err != nil {
				t.Fatal(err)
			}
			r := watcher.Result{Lease: leases[0], Site: v.Site, Observation: v.Observation, Body: v.Body}
			for _, c := range v.Changes {
				r.Changes = append(r.Changes, watcher.Routed{Change: c})
			}
			if lost, err := s.Record(t.Context(), []watcher.Result{r}); err != nil || lost != 0 {
				t.Fatalf("%d lost, %v", lost, err)
			}
			at = v.Site.NextCheckAt.Truncate(time.Millisecond)
		}
	}
	return lines
}

// watchAll looks at sites once a day for ten days; their files open and close.
func watchAll(t *testing.T, s *store.Store, j *watcher.Judge, sites []watcher.SiteConfig) {
	t.Helper()
	if _, err := s.SyncSites(t.Context(), t0, list(sites), func(string, string) time.Time { return t0 }); err != nil {
		t.Fatal(err)
	}
	captures := fetch.NewCaptures(1 << 20)
	for day := range 10 {
		at := t0.Add(time.Duration(day) * 24 * time.Hour)
		var results []watcher.Result
		for i, c := range sites {
			leases, err := s.ClaimSites(t.Context(), at, []string{c.Origin}, time.Second)
			if err != nil || len(leases) != 1 {
				t.Fatalf("%d leases, %v", len(leases), err)
			}
			body := open
			if (i+day)%4 == 0 {
				body = "User-agent: *\nDisallow: /\n"
			}
			out, err := captures.Outcome(fetch.Capture{Origin: c.Origin, At: at, Status: 200, Body: []byte(body)})
			if err != nil {
				t.Fatal(err)
			}
			v, err := j.Judge(t.Context(), leases[0].Site, out, s)
			if err != nil {
				t.Fatal(err)
			}
			r := watcher.Result{Lease: leases[0], Site: v.Site, Observation: v.Observation, Body: v.Body}
			for _, c := range v.Changes {
				r.Changes = append(r.Changes, watcher.Routed{Change: c})
			}
			results = append(results, r)
		}
		if lost, err := s.Record(t.Context(), results); err != nil || lost != 0 {
			t.Fatalf("%d lost, %v", lost, err)
		}
	}
}
