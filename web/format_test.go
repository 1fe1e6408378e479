package web_test

import (
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

// What a client prefers decides, and a header that is no list of media types is
// like none.
func TestFormats(t *testing.T) {
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: "https://a.example"}}, today)
	const json, csv = "application/json", "text/csv"
	for _, tc := range []struct{ query, accept, want string }{
		{"", "", json},
		{"", "*/*", json},
		{"", "text/csv", csv},
		{"", "text/csv; header=present, */*;q=0.1", csv},
		{"", "TEXT/CSV;q=0.1", csv},
		{"", "text/csv;q=0", json},
		{"", "application/json, text/csv", json},
		{"", "application/json;q=0.2, text/csv;q=0.3", csv},
		{"", "image/png", json},
		{"", "text/csv;q=a lot", json},
		{"", "text/csv;q=NaN", json},
		{"", "a;q, b", json},
		{"", "t;q, :tt=p@;q1", json},
		{"", ",;,", json},
		{"?format=csv", "application/json", csv},
		{"?format=json", "text/csv", json},
	} {
		got := call(t, w.server, "GET", "/api/v1/sites"+tc.query, "", "Accept", tc.accept)
		if media, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";"); got.Code != 200 || media != tc.want {
			t.Errorf("%s, %q: status %d, %s, want %s", tc.query, tc.accept, got.Code, media, tc.want)
		}
	}
}
