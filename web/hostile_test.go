package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// pageBudget is what one page may weigh with all it loads.
const pageBudget = 200_000

// addHostile adds a site whose every text is written to hurt whoever shows it.
func addHostile(t testing.TB, w *world) string {
	t.Helper()
	const origin = "https://hostile.example"
	sites := []watcher.SiteConfig{{Origin: origin, Tags: []string{"<b>tag</b>"}}}
	sites = append(sites, w.configs...)
	begin := w.now.Add(-48 * time.Hour)
	if _, err := w.store.SyncSites(t.Context(), begin, each(sites), func(string, string) time.Time { return begin }); err != nil {
		t.Fatal(err)
	}
	script := `<script>document.title="owned"</script>`
	first := policySeen(origin, begin, "User-agent: *\nDisallow: /a\n")
	second := policySeen(origin, begin.Add(time.Hour), "User-agent: GPTBot\nDisallow: /"+script+"\nDisallow: /\u202egnp.exe\u200b\nDisallow: /\"onmouseover=alert(1)//\n"+
		"User-agent: "+script+"\nDisallow: =HYPERLINK(\"http://evil.example\")\nSitemap: javascript:alert(1)\nSitemap: =1+1\nContent-Signal: "+script+"\n"+
		"Disallow: /"+strings.Repeat("A", 1<<19)+"\n\xff\xfe\x00binary\x1b[31m\n")
	second.out.Headers = []fetch.Header{{Name: "X-" + script, Value: script}, {Name: "Server", Value: "=cmd|' /C calc'!A0"}}
	second.out.FinalURL = "https://hostile.example/" + script
	second.out.Detail = script + "\u202e"
	w.live(t, []look{first, second})
	return origin
}

func TestHostileContentsComeOutHarmless(t *testing.T) {
	w := madeUp(t, 3)
	origin := addHostile(t, w)
	changes, err := w.store.Changes(t.Context(), watcher.ChangeFilter{Site: origin})
	if err != nil || len(changes) == 0 {
		t.Fatalf("no change: %v", err)
	}
	paths := []string{"/", "/sites", "/sites?tag=%3Cb%3Etag%3C%2Fb%3E", "/sites/hostile.example", "/changes", "/changes?site=hostile.example", "/feed.atom?site=hostile.example",
		"/badge/hostile.example/%3Cscript%3E.svg", "/ask?site=hostile.example&agent=GPTBot&path=/%3Cscript%3E", "/agents/%3Cscript%3E",
		"/sites?search=%3Cscript%3E%22'", "/changes?agent=%3Cscript%3E", "/changes?tag=%3Cscript%3E"}
	for _, c := range changes {
		paths = append(paths, "/changes/"+c.ID)
		if c.BeforeSHA256 != "" && c.AfterSHA256 != "" {
			paths = append(paths, "/sites/hostile.example/compare?before="+c.BeforeSHA256+"&after="+c.AfterSHA256)
		}
	}
	for _, p := range paths {
		got := get(t, w.server, "GET", "http://localhost"+p)
		body := got.Body.String()
		if got.Code >= 500 {
			t.Errorf("%s: status %d", p, got.Code)
		}
		for _, bad := range []string{"<script>d", "<script>\"", "<b>tag", "\u202e", "\u200b", "\x1b", "\"onmouseover=alert", "href=\"javascript:"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s contains %q", p, bad)
			}
		}
		if len(body) > pageBudget {
			t.Errorf("%s: %d octets", p, len(body))
		}
	}
	for _, p := range []string{"/api/v1/changes?format=csv", "/api/v1/sites?format=csv", "/api/v1/sites/hostile.example/answers?format=csv", "/api/v1/access?format=csv"} {
		got := get(t, w.server, "GET", "http://localhost"+p)
		if got.Code != 200 || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/csv") {
			t.Errorf("%s: status %d, type %q", p, got.Code, got.Header().Get("Content-Type"))
		}
		for line := range strings.Lines(got.Body.String()) {
			for cell := range strings.SplitSeq(line, ",") {
				if cell = strings.TrimPrefix(cell, `"`); cell != "" && strings.ContainsRune("=+@|%", rune(cell[0])) {
					t.Errorf("%s: a cell begins with %q", p, cell[:min(20, len(cell))])
				}
			}
		}
	}
	raw := get(t, w.server, "GET", "http://localhost/api/v1/sites/hostile.example/robots.txt")
	if ct := raw.Header().Get("Content-Type"); !strings.HasPrefix(ct, "text/plain") || raw.Header().Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(raw.Header().Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("raw file: type %q, headers %v", ct, raw.Header())
	}
}
