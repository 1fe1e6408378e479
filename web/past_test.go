package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

// A file that only archives have is not one that was never seen.
func TestASiteKnownFromArchivesAloneSaysSo(t *testing.T) {
	const origin = "https://a.example"
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: origin}, {Origin: "https://new.example"}}, today.Add(-time.Hour))
	file := filepath.Join(t.TempDir(), "captures.jsonl")
	capture := `{"site":"https://a.example","time":"2026-05-01T12:00:00Z","status":200,"body_base64":"VXNlci1hZ2VudDogKgpBbGxvdzogLwo="}`
	if err := os.WriteFile(file, []byte(capture), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := history.JSONL([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := history.Run(t.Context(), source, history.Options{Judge: w.judge, Store: w.store, Origin: config.NormalizeOrigin, MaxBytes: 1 << 20, Bad: func(history.Bad) {}, Progress: func(history.Progress) {}}); err != nil {
		t.Fatal(err)
	}
	w.live(t, outage(origin, today.Add(-time.Hour), fetch.Unreachable, 503))
	for host, want := range map[string]string{"a.example": "the versions above are from archives", "new.example": "None has been seen yet."} {
		if got := call(t, w.server, "GET", "/sites/"+host, "").Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q", host, want)
		}
	}
}

// How sites stood to an agent before it was watched is shown for the days of
// which it is known, and the standings from then on.
func TestAdoptionShowsThePastOfNewAgents(t *testing.T) {
	added := today.AddDate(0, 0, -10)
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: "https://a.example"}, {Origin: "https://b.example"}}, added)
	blocked := func(days int) string {
		t.Helper()
		text := ""
		got := call(t, w.server, "GET", "/api/v1/adoption?agent=NewBot&limit=200&since=2026-11-20&until="+today.AddDate(0, 0, days).Format(time.DateOnly), "")
		var page struct{ Data []adoptionRow }
		if err := json.Unmarshal(got.Body.Bytes(), &page); err != nil {
			t.Fatalf("%v: %s", err, got.Body)
		}
		for _, r := range page.Data {
			text += fmt.Sprint(r.Blocked, r.Allowed, " ")
		}
		return text
	}
	if got := call(t, w.server, "GET", "/api/v1/adoption?agent=NewBot", ""); got.Code != 404 {
		t.Errorf("before anybody watched it: status %d, %s", got.Code, got.Body)
	}
	if _, err := w.store.Newcomers(t.Context(), []string{"GPTBot"}, w.now); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Newcomers(t.Context(), []string{"GPTBot", "NewBot"}, w.now); err != nil {
		t.Fatal(err)
	}
	move := func(day int, level diff.Level, n int) watcher.AgentMove {
		return watcher.AgentMove{Day: today.AddDate(0, 0, day), Agent: "NewBot", Access: diff.Access{Level: level, Source: "wildcard"}, Sites: n}
	}
	if err := w.store.RecordPast(t.Context(), []string{"newbot"}, history.PastPage{Last: true, Moves: []watcher.AgentMove{
		move(-9, diff.Allowed, 2), move(-4, diff.Allowed, -1), move(-4, diff.Blocked, 1),
	}}); err != nil {
		t.Fatal(err)
	}
	want := "0 0 0 2 0 2 0 2 0 2 0 2 1 1 1 1 1 1 1 1 "
	if got := blocked(-1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// As days go by: the day it came and the next are known, too, and then the
	// standings have the word.
	for day, more := range []string{"1 1 ", "1 1 ", "0 0 ", "0 0 "} {
		w.now = today.AddDate(0, 0, day+1)
		want += more
		if got := blocked(day); got != want {
			t.Errorf("%d days later: %s, want %s", day+1, got, want)
		}
	}
}
