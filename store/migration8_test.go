package store

import (
	"reflect"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

// answers say the usual, less, more, and what could be taken for either.
func answers() (list []watcher.Observation) {
	add := func(state fetch.State, status int, reason fetch.Reason, detail string) {
		list = append(list, watcher.Observation{State: state, Status: status, Reason: reason, Detail: detail})
	}
	for status := range statusWords {
		reason, detail := usual(status)
		add(fetch.Absent, status, fetch.Reason(reason), detail)
	}
	add(fetch.Policy, 200, "", "")
	add(fetch.Denied, 403, "", "")
	add(fetch.Denied, 403, "challenge", "status 403 Forbidden, a page that wants to see a browser")
	add(fetch.Denied, 403, "http_403", "status 403")
	add(fetch.Absent, 404, "=", "=")
	add(fetch.Absent, 404, "=http_404", "==")
	add(fetch.Absent, 404, "http_403", "status 403 Forbidden")
	add(fetch.NotRobots, 200, "html", "")
	add(fetch.Unreachable, 0, "timeout", "= no answer")
	add(fetch.Unreachable, 520, "http_520", "status 520")
	return list
}

// Answers are kept in fewer words, and come back as they were: those that are
// written now, and those that schema 7 had.
func TestAnswersAreKeptShort(t *testing.T) {
	for _, ob := range answers() {
		got := watcher.Observation{Status: ob.Status}
		state, reason, detail := shortAnswer(&ob)
		longAnswer(&got, state, reason, detail)
		if !reflect.DeepEqual(got, ob) {
			t.Errorf("%q, %q, %q: %+v became %+v", state, reason, detail, ob, got)
		}
	}
	if state, reason, detail := shortAnswer(&watcher.Observation{State: fetch.Absent, Status: 404, Reason: "http_404", Detail: "status 404 Not Found"}); state+reason+detail != "a" {
		t.Errorf("an answer without a file takes %q, %q, %q", state, reason, detail)
	}
}

func TestVersion7KeepsAnswersAndChains(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		exec := atVersion(t, url, 7)
		origin, list := siteConfig(0).Origin, answers()
		end := t0.Add(time.Duration(2*len(list)-1) * time.Hour)
		exec(`INSERT INTO sites (origin, state, readable, observed_at, last_check_at, next_check_at) VALUES ($1, 'absent', 'absent', $2, $2, $2)`, origin, end.UnixMilli())
		exec("INSERT INTO standings VALUES ('absent', 0, 0, 0, 0, 1)")
		exec("INSERT INTO standings_daily VALUES (20000, 'absent', 0, 0, 0, 0, 1)")
		heads := map[bool]evidence.Mark{}
		n := 0
		for _, archive := range []bool{true, false} {
			var mark evidence.Mark
			var until time.Time
			for i := range list {
				ob := list[i]
				ob.At = t0.Add(time.Duration(n) * time.Hour)
				ob.LastAt = ob.At.Add(time.Minute)
				if ob.State == fetch.Policy {
					ob.State = fetch.NotRobots // its body is of no interest here
				}
				ob.Backfill = archive
				mark = mark.Next(until, evidence.Digest(evidence.RecordOf(origin, &ob).Text()))
				until = ob.LastAt
				n++
				lastAt := ob.LastAt.UnixMilli()
				if ob.At.Equal(end) {
					lastAt = 0
				}
				exec(`INSERT INTO observations (site_id, at, last_at, state, reason, detail, status, backfill, seq, link) VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9)`,
					ob.At.UnixMilli(), lastAt, string(ob.State), string(ob.Reason), ob.Detail, ob.Status, toInt(archive), mark.Position, mark.Link[:])
			}
			heads[archive] = mark
		}
		exec("INSERT INTO chains (site_id, archive, length) VALUES (1, 1, $1)", len(list))
		exec("INSERT INTO sites (origin, active) VALUES ('https://dropped.example', 0)")
		link := heads[true].Link
		exec("INSERT INTO chains (site_id, archive, dropped, dropped_link, dropped_last_at, length) VALUES (2, 1, 3, $1, 5, 3)", link[:])

		s := open(t, url)
		fine(t, s)
		for archive, head := range heads {
			c := chainOf(t, s, origin, archive)
			if breaks := c.Breaks(); len(breaks) > 0 || c.Head() != head || len(c.Links) != len(list) {
				t.Errorf("archive %v: %v, head %+v", archive, breaks, c.Head())
			}
		}
		if n := count(t, s, "SELECT count(*) FROM observations WHERE link IS NOT NULL"); n != len(list) {
			t.Errorf("%d links, want those of the %d live records", n, len(list))
		}
		if n := count(t, s, "SELECT count(*) FROM observations WHERE reason = '' AND detail = ''"); n != 2*len(statusWords)+2 {
			t.Errorf("%d answers say no more than their status", n)
		}
	})
}

// What was changed in an archive shows also after retention dropped it.
func TestRetentionHidesNoDamageOfAnArchive(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		past := t0.AddDate(-1, 0, 0)
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured("https://old.example", past, 0)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.exec(t.Context(), "UPDATE observations SET bytes = 7 WHERE seq = 1"); err != nil {
			t.Fatal(err)
		}
		if did, err := s.Tidy(t.Context(), past.Add(150*time.Minute), time.Hour); err != nil || did.Observations != 1 {
			t.Fatalf("%+v, %v", did, err)
		}
		if found := problems(t, s); found == "" {
			t.Error("nobody noticed")
		}
	})
}
