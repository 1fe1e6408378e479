package web_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

func decode[T any](t *testing.T, w *world, target string) (v T) {
	t.Helper()
	got := call(t, w.server, "GET", target, "")
	if got.Code != 200 {
		t.Fatalf("%s: status %d: %s", target, got.Code, got.Body)
	}
	if err := json.Unmarshal(got.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// On every day as many sites state something as have it in their files.
func TestSignalsEqualARecountOfEveryDay(t *testing.T) {
	w := madeUp(t, 40)
	const statement = "content-signal ai-train=no for *"
	says := func(s watcher.Site) bool {
		if s.Body.IsZero() || s.Readable != fetch.Policy {
			return false
		}
		text, err := w.store.Body(t.Context(), s.Body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "ai-train=no")
	}
	type day struct {
		Day, Signal string
		Sites       int
	}
	var rows []day
	target := "/api/v1/signals?since=2026-06-01&name=content-signal&limit=70&signal=" + url.QueryEscape(statement)
	for cursor := ""; ; {
		page := decode[struct {
			Data       []day
			NextCursor string `json:"next_cursor"`
		}](t, w, target+"&cursor="+url.QueryEscape(cursor))
		rows = append(rows, page.Data...)
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(rows) != 183 {
		t.Fatalf("%d days, want those from June to November", len(rows))
	}
	for _, r := range rows {
		begin, err := time.Parse(time.DateOnly, r.Day)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, stood := range w.stood {
			var last watcher.Site
			for _, s := range stood {
				if s.LastCheckAt.Before(begin.AddDate(0, 0, 1)) {
					last = s
				}
			}
			if says(last) {
				want++
			}
		}
		if r.Sites != want {
			t.Errorf("%s: %d sites, want %d", r.Day, r.Sites, want)
		}
	}
	list := decode[struct {
		Data []struct {
			Site    string
			Signals []string
		}
	}](t, w, "/api/v1/sites?limit=1000&signal="+url.QueryEscape(statement))
	if n := rows[len(rows)-1].Sites; n == 0 || len(list.Data) != n {
		t.Errorf("%d sites are listed, %d counted", len(list.Data), n)
	}
	for _, s := range list.Data {
		if !slices.Contains(s.Signals, statement) {
			t.Errorf("%s is listed and states %q", s.Site, s.Signals)
		}
	}
	page := call(t, w.server, "GET", "/signals", "").Body.String()
	if !strings.Contains(page, "ai-train=no") || !strings.Contains(page, "Refuse training") {
		t.Error("the page does not show the statement")
	}
}

// A site that swings is among those that need attention, until it settles.
func TestAnUnstableSiteNeedsAttention(t *testing.T) {
	const origin, calm = "https://swings.example", "https://calm.example"
	begin := today.AddDate(0, 0, -2)
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: origin}, {Origin: calm}}, begin)
	looks := []look{policySeen(calm, begin, policies()[0]), policySeen(calm, today.Add(-time.Hour), policies()[0])}
	for i := range 4 {
		at := begin.Add(time.Duration(i) * 12 * time.Hour)
		looks = append(looks, policySeen(origin, at, policies()[0]))
		looks = append(looks, outage(origin, at.Add(time.Hour), fetch.Unreachable, 503)...)
	}
	w.live(t, append(looks, policySeen(origin, today.Add(-2*time.Hour), policies()[0])))
	list := decode[struct{ Data []struct{ Site string } }](t, w, "/api/v1/sites?unstable=true")
	if len(list.Data) != 1 || list.Data[0].Site != origin {
		t.Errorf("unstable are %+v", list.Data)
	}
	if page := call(t, w.server, "GET", "/", "").Body.String(); !strings.Contains(page, `/sites?unstable=1">Unstable`) {
		t.Error("the overview does not name it")
	}
}

// A site that left the configuration is answered for as it stood, and the
// answer says so.
func TestASiteThatLeftSaysSo(t *testing.T) {
	const stays, leaves = "https://stays.example", "https://leaves.example"
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: stays}, {Origin: leaves}}, today.Add(-time.Hour))
	w.live(t, []look{policySeen(stays, today.Add(-time.Hour), policies()[4]), policySeen(leaves, today.Add(-time.Hour), policies()[4])})
	if _, err := w.store.SyncSites(t.Context(), today, each([]watcher.SiteConfig{{Origin: stays}}), func(string, string) time.Time { return today }); err != nil {
		t.Fatal(err)
	}
	for site, watched := range map[string]bool{stays: true, leaves: false} {
		v := decode[struct{ Allowed, Watched bool }](t, w, "/api/v1/access?agent=GPTBot&site="+site)
		if v.Watched != watched || v.Allowed {
			t.Errorf("%s: %+v", site, v)
		}
		page := call(t, w.server, "GET", "/sites/"+strings.TrimPrefix(site, "https://"), "").Body.String()
		if strings.Contains(page, "left the configuration") == watched {
			t.Errorf("the page of %s does not say whether it is watched", site)
		}
	}
}

// A cursor that was never given out is an error on every list: an empty page
// would read as the end.
func TestForeignCursorsAreRefused(t *testing.T) {
	w := madeUp(t, 12)
	for _, list := range []string{"/api/v1/sites", "/api/v1/access", "/api/v1/changes", "/api/v1/agents", "/api/v1/adoption", "/api/v1/signals", "/sites", "/changes"} {
		for _, cursor := range []string{"x", "https://", "2026-13-01 GPTBot", "01J", "https://a.example/path b", "-1"} {
			got := call(t, w.server, "GET", list+"?cursor="+url.QueryEscape(cursor), "")
			if got.Code != 400 || !strings.Contains(got.Body.String(), "cursor") {
				t.Errorf("%s with cursor %q: status %d", list, cursor, got.Code)
			}
		}
	}
	for _, list := range []string{"/api/v1/sites?", "/api/v1/access?", "/api/v1/access?agent=GPTBot&", "/api/v1/changes?", "/api/v1/agents?", "/api/v1/adoption?", "/api/v1/signals?"} {
		seen := map[string]bool{}
		for cursor, n := "", 0; n == 0 || cursor != ""; n++ {
			page := decode[struct {
				Data       []json.RawMessage
				NextCursor string `json:"next_cursor"`
			}](t, w, list+"limit=7&cursor="+url.QueryEscape(cursor))
			for _, row := range page.Data {
				if seen[string(row)] {
					t.Fatalf("%s: page %d repeats %s", list, n, row)
				}
				seen[string(row)] = true
			}
			if cursor = page.NextCursor; n > 1000 {
				t.Fatalf("%s has no end", list)
			}
		}
		if len(seen) < 8 {
			t.Errorf("%s: %d rows", list, len(seen))
		}
	}
}
