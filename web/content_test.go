package web_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

type levelCounts struct{ Allowed, Partial, Restricted, Blocked, Unknown int }

type adoptionRow struct {
	Day, Agent string
	levelCounts
	Explicit, Inherited, Status levelCounts
	Sites, Answered             int
	WithRobots                  int `json:"with_robots"`
}

func (c *levelCounts) add(l diff.Level) {
	switch l {
	case diff.Allowed:
		c.Allowed++
	case diff.Partial:
		c.Partial++
	case diff.Restricted:
		c.Restricted++
	case diff.Blocked:
		c.Blocked++
	default:
		c.Unknown++
	}
}

// TestAdoptionEqualsARecountOfEveryDay compares what is rolled up with how
// every site stood at the end of each day.
func TestAdoptionEqualsARecountOfEveryDay(t *testing.T) {
	w := madeUp(t, sizes.Pick(120, 40))
	watch, err := w.judge.Watch(watcher.SiteConfig{})
	if err != nil {
		t.Fatal(err)
	}
	tagged := map[string]bool{}
	for i, s := range w.sites {
		tagged[s] = i%5 < 2 // as madeUp gives the tag "news"
	}
	for _, tag := range []string{"", "news"} {
		for _, agent := range []string{"GPTBot", "Amazonbot"} {
			var rows []adoptionRow
			for cursor := ""; ; {
				got := call(t, w.server, "GET", "/api/v1/adoption?limit=200&since=2025-11-01&"+url.Values{"tag": {tag}, "agent": {agent}, "cursor": {cursor}}.Encode(), "")
				var page struct {
					Data       []adoptionRow
					NextCursor string `json:"next_cursor"`
				}
				if err := json.Unmarshal(got.Body.Bytes(), &page); err != nil || got.Code != 200 {
					t.Fatalf("status %d: %s", got.Code, got.Body)
				}
				rows = append(rows, page.Data...)
				if cursor = page.NextCursor; cursor == "" {
					break
				}
			}
			if len(rows) < 360 {
				t.Fatalf("%d days", len(rows))
			}
			for i := 0; i < len(rows); i += 9 {
				row := rows[len(rows)-1-i]
				day, err := time.Parse(time.DateOnly, row.Day)
				if err != nil {
					t.Fatal(err)
				}
				if want := recount(w, watch.Agents, tag, tagged, agent, day); row != want {
					t.Errorf("tag %q, %s:\ngot  %+v\nwant %+v", tag, row.Day, row, want)
				}
			}
		}
	}
}

func recount(w *world, watched []diff.Agent, tag string, tagged map[string]bool, agent string, day time.Time) adoptionRow {
	row := adoptionRow{Day: day.Format(time.DateOnly), Agent: agent}
	end := day.AddDate(0, 0, 1)
	for _, origin := range w.sites {
		if tag != "" && !tagged[origin] {
			continue
		}
		site := watcher.Site{State: fetch.Pending}
		for _, s := range w.stood[origin] {
			if s.LastCheckAt.Before(end) {
				site = s
			}
		}
		row.Sites++
		if site.State != fetch.Pending && site.State != fetch.Unreachable {
			row.Answered++
		}
		if site.State == fetch.Policy {
			row.WithRobots++
		}
		// Whether an outage is old enough is decided at a look.
		for _, a := range watcher.Effective(site, watched, site.LastCheckAt, w.judge.Settings().Semantics) {
			if a.Agent != agent {
				continue
			}
			row.add(a.Level)
			switch a.Source {
			case robots.SourceNamed:
				row.Explicit.add(a.Level)
			case robots.SourceWildcard, robots.SourceDefault:
				row.Inherited.add(a.Level)
			default:
				row.Status.add(a.Level)
			}
		}
	}
	return row
}

func TestFeed(t *testing.T) {
	w := madeUp(t, 40)
	read := func(target string) (ids []string, kinds map[string]bool) {
		got := get(t, w.server, "GET", "http://localhost"+target)
		if ct := got.Header().Get("Content-Type"); got.Code != 200 || !strings.HasPrefix(ct, "application/atom+xml") {
			t.Fatalf("%s: status %d, type %q", target, got.Code, ct)
		}
		var feed struct {
			Updated string `xml:"updated"`
			Entries []struct {
				ID         string `xml:"id"`
				Updated    string `xml:"updated"`
				Categories []struct {
					Term string `xml:"term,attr"`
				} `xml:"category"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal(got.Body.Bytes(), &feed); err != nil {
			t.Fatal(err)
		}
		if _, err := time.Parse(time.RFC3339, feed.Updated); err != nil {
			t.Error(err)
		}
		kinds = map[string]bool{}
		for _, e := range feed.Entries {
			ids = append(ids, e.ID)
			kinds[e.Categories[0].Term] = true
		}
		return ids, kinds
	}
	all, _ := read("/feed.atom")
	if len(all) == 0 || len(all) > 100 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("%d entries, or some twice", len(all))
	}
	if state, kinds := read("/feed.atom?kind=state"); len(state) == 0 || len(kinds) != 1 || !kinds["state"] {
		t.Errorf("kind=state gives %v", kinds)
	}
	if none, _ := read("/feed.atom?kind=sitemap&agent=GPTBot"); len(none) != 0 {
		t.Errorf("what never happened gives %d entries", len(none))
	}
	for query, status := range map[string]int{"kind=wrong": 400, "tag=nwes": 404, "site=nowhere.example": 404, "agent=GTPBot": 404} {
		if got := get(t, w.server, "GET", "http://localhost/feed.atom?"+query); got.Code != status {
			t.Errorf("%s gives status %d, want %d", query, got.Code, status)
		}
	}
}

func TestBadge(t *testing.T) {
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: "https://a.example"}}, today.Add(-time.Hour))
	w.live(t, []look{policySeen("https://a.example", today.Add(-time.Minute), "User-agent: GPTBot\nDisallow: /\n")})
	for path, want := range map[string]string{"GPTBot": "blocked", "ccbot": "allowed", "NotInTheCatalogue": "allowed", "a<b>&": "allowed"} {
		got := get(t, w.server, "GET", "http://localhost/badge/a.example/"+url.PathEscape(path)+".svg")
		if got.Code != 200 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: status %d: %s", path, got.Code, got.Body)
		}
		wellFormed(t, path, got)
	}
	if got := get(t, w.server, "GET", "http://localhost/badge/b.example/GPTBot.svg"); got.Code != 404 || !strings.Contains(got.Body.String(), "unknown") {
		t.Errorf("a site that is not watched: status %d: %s", got.Code, got.Body)
	}
	if got := get(t, w.server, "GET", "http://localhost/badge/a.example/GPTBot"); got.Code != 404 {
		t.Errorf("without .svg: status %d", got.Code)
	}
}

func wellFormed(t *testing.T, what string, got *httptest.ResponseRecorder) {
	t.Helper()
	d := xml.NewDecoder(got.Body)
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
	}
}

// The first site of a new user: one of each thing, in sentences that are right.
func TestPagesAreRightAboutOne(t *testing.T) {
	const origin = "https://one.example"
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: origin, Agents: []string{"GPTBot"}}}, today.Add(-3*time.Hour))
	looks := []look{policySeen(origin, today.Add(-2*time.Hour), "User-agent: *\nDisallow: /private/\n")}
	for i := range 3 {
		looks = append(looks, look{origin, fetch.Outcome{At: today.Add(-time.Hour + time.Duration(i*5)*time.Minute), State: fetch.Absent,
			Status: 404, Reason: "http_404", Detail: "status 404 Not Found"}})
	}
	looks = append(looks, policySeen(origin, today.Add(-20*time.Minute), "User-agent: *\nDisallow: /\n"),
		policySeen(origin, today.Add(-19*time.Minute), "User-agent: *\nDisallow: /\n"))
	w.live(t, looks)
	words := func(path string) string {
		page := call(t, w.server, "GET", path, "").Body.String()
		return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, "")), " ")
	}
	changes := decode[struct{ Data []watcher.Change }](t, w, "/api/v1/changes?kind=access").Data
	for path, want := range map[string]string{
		"/":                         "watched crawlers on 1 site.",
		"/sites":                    "1 site is watched.",
		"/agents/GPTBot":            "1 of 1 site blocks it",
		"/sites/one.example":        "331ea909for 1 minute2026",
		"/changes/" + changes[1].ID: "Now allowed: /private/, until now disallowed by Disallow: /private/, line 2",
	} {
		if got := words(path); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, got)
		}
	}
	if got := words("/changes/" + changes[1].ID); !strings.Contains(got, "no robots.txt HTTP 404") {
		t.Errorf("the change does not say why:\n%s", got)
	}
}

func TestAskExplains(t *testing.T) {
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: "https://a.example"}, {Origin: "https://new.example"}}, today.Add(-time.Hour))
	w.live(t, []look{policySeen("https://a.example", today.Add(-time.Minute), "User-agent: *\nDisallow: /private/\nAllow: /private/open\n")})
	for _, c := range []struct {
		form url.Values
		want []string
	}{
		{url.Values{"site": {"a.example"}, "agent": {"GPTBot"}, "path": {"/private/x"}}, []string{"may not", "Disallow: /private/", "line 2", "No group names it, so the * group applies (line 1)"}},
		{url.Values{"site": {"https://A.example/"}, "agent": {"gptbot"}, "path": {"/private/open"}}, []string{"GPTBot may", "Allow: /private/open", "line 3"}},
		{url.Values{"site": {"new.example"}, "agent": {"GPTBot"}}, []string{"may not", "Nothing is known of this site yet"}},
		{url.Values{"site": {"other.example"}, "agent": {"GPTBot"}}, []string{"is not among the sites that are watched"}},
		{url.Values{"text": {"User-agent: GPTBot\r\nDisallow: /a$\r\n"}, "agent": {"GPTBot"}, "path": {"/a"}}, []string{"may not", "Disallow: /a$", "The group for gptbot applies (line 1)"}},
		{url.Values{"text": {"User-agent: *\nDisallow: /\n"}, "agent": {"GPTBot"}, "path": {"/robots.txt"}}, []string{"GPTBot may", "may always be fetched"}},
		{url.Values{"text": {"Disallow: /\n"}, "agent": {"GPTBot"}}, []string{"No group applies"}},
		{url.Values{"agent": {"GPTBot"}}, []string{"Name a crawler, and a site"}},
		{url.Values{"text": {"x"}, "agent": {"no bot"}}, []string{"is not a product token"}},
		{url.Values{"text": {"x"}, "agent": {"GPTBot"}, "path": {"x"}}, []string{"A path begins with /"}},
	} {
		r := httptest.NewRequest("POST", "http://localhost/ask", strings.NewReader(c.form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got := httptest.NewRecorder()
		w.server.ServeHTTP(got, r)
		for _, want := range c.want {
			if got.Code != 200 || !strings.Contains(got.Body.String(), want) {
				t.Errorf("%v: status %d, lacks %q", c.form, got.Code, want)
			}
		}
	}
	big := httptest.NewRequest("POST", "http://localhost/ask", strings.NewReader("agent=GPTBot&text="+strings.Repeat("a", 4<<20)))
	big.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got := httptest.NewRecorder()
	w.server.ServeHTTP(got, big)
	if got.Code != 413 {
		t.Errorf("4 MiB: status %d, want 413", got.Code)
	}
}

func TestManyQuestions(t *testing.T) {
	w := madeUp(t, 30)
	ask := func(n int) *httptest.ResponseRecorder {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"site":%q,"agent":"GPTBot","path":"/%d"}`, w.sites[i%len(w.sites)], i)
		}
		return call(t, w.server, "POST", "/api/v1/access", `{"questions":[`+b.String()+`]}`)
	}
	got := ask(10_000)
	var answer struct{ Data []struct{ Site, Path string } }
	if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil || got.Code != 200 || len(answer.Data) != 10_000 {
		t.Fatalf("status %d, %d answers (%v)", got.Code, len(answer.Data), err)
	}
	if last := answer.Data[9_999]; last.Path != "/9999" || last.Site != w.sites[9_999%30] {
		t.Errorf("answers are out of order: %+v", last)
	}
	if got := ask(10_001); got.Code != 400 {
		t.Errorf("10,001 questions: status %d, want 400", got.Code)
	}
}

func TestSchemesAreToldApart(t *testing.T) {
	both := []watcher.SiteConfig{{Origin: "https://a.example"}, {Origin: "http://a.example"}, {Origin: "http://b.example:8080"}}
	w := newWorld(t, web.Settings{}, both, today)
	for target, want := range map[string]string{
		"/sites/a.example": "https://a.example", "/sites/a.example?scheme=http": "http://a.example", "/sites/A.EXAMPLE.": "https://a.example",
		"/sites/b.example:8080": "http://b.example:8080", "/sites/a.example:443": "https://a.example",
	} {
		got := call(t, w.server, "GET", "/api/v1"+target, "")
		var site struct{ Site string }
		if err := json.Unmarshal(got.Body.Bytes(), &site); err != nil || site.Site != want {
			t.Errorf("%s: %q, want %q (status %d)", target, site.Site, want, got.Code)
		}
	}
	page := get(t, w.server, "GET", "http://localhost/sites").Body.String()
	if !strings.Contains(page, `href="/sites/a.example?scheme=http"`) || !strings.Contains(page, `href="/sites/b.example:8080?scheme=http"`) {
		t.Error("links to http sites do not say so")
	}
}
