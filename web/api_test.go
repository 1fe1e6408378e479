package web_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

func call(t testing.TB, h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestEveryAnswerIsAsTheDocumentSays(t *testing.T) {
	w := madeUp(t, 60)
	d := readDocument(t, w.server)
	c, err := w.store.Changes(t.Context(), watcher.ChangeFilter{Limit: 1})
	if err != nil || len(c) == 0 {
		t.Fatal("no change", err)
	}
	site := strings.TrimPrefix(c[0].Site, "https://")
	for _, q := range []struct {
		method, path, target, body string
		status                     int
	}{
		{"GET", "/sites", "/sites", "", 200},
		{"GET", "/sites", "/sites?agent=GPTBot&access=blocked&limit=2", "", 200},
		{"GET", "/sites", "/sites?access=blocked", "", 400},
		{"GET", "/sites", "/sites?limit=0", "", 400},
		{"GET", "/sites", "/sites?limit=1001", "", 400},
		{"GET", "/sites", "/sites?limit=1000", "", 200},
		{"GET", "/sites", "/sites?nonsense=1", "", 400},
		{"GET", "/sites", "/sites?format=csv", "", 200},
		{"GET", "/sites/{host}", "/sites/" + site, "", 200},
		{"GET", "/sites/{host}", "/sites/nowhere.example", "", 404},
		{"GET", "/sites/{host}", "/sites/" + site + "?scheme=http", "", 404},
		{"GET", "/sites/{host}", "/sites/a%20b", "", 400},
		{"GET", "/sites/{host}/answers", "/sites/" + site + "/answers", "", 200},
		{"GET", "/sites/{host}/answers", "/sites/" + site + "/answers?cursor=x", "", 400},
		{"POST", "/sites/{host}/check", "/sites/" + site + "/check", "", 200},
		{"POST", "/sites/{host}/check", "/sites/" + site + "/check", "", 429},
		{"GET", "/access", "/access?site=" + site + "&agent=GPTBot&path=/a", "", 200},
		{"GET", "/access", "/access?site=" + site + "&agent=GPTBot&path=/a&at=2026-05-01", "", 200},
		{"GET", "/access", "/access?site=" + site + "&agent=GPTBot&at=1999-01-01", "", 200},
		{"GET", "/access", "/access?site=" + site + "&agent=GPTBot&at=2999-01-01", "", 400},
		{"GET", "/access", "/access?site=" + site + "&agent=GPTBot&at=yesterday", "", 400},
		{"GET", "/access", "/access?site=" + site + "&agent=GPTBot&path=a", "", 400},
		{"GET", "/access", "/access?site=" + site, "", 200},
		{"GET", "/access", "/access?agent=gptbot&access=blocked", "", 200},
		{"GET", "/access", "/access?path=/a", "", 400},
		{"GET", "/access", "/access", "", 200},
		{"GET", "/access", "/access?format=csv", "", 200},
		{"POST", "/access", "/access", `{"questions":[{"site":"` + site + `","agent":"GPTBot","path":"/x","at":"2026-05-01"},{"site":"nowhere.example","agent":"CCBot"}]}`, 200},
		{"POST", "/access", "/access", `{"questions":[]}`, 400},
		{"POST", "/access", "/access", `{`, 400},
		{"GET", "/access", "/access?site=" + site + "&agent=%20GPTBot/1.1", "", 200},
		{"GET", "/access", "/access?site=" + site + "&agent=GPTBot,CCBot", "", 400},
		{"GET", "/access", "/access?agent=@ai", "", 400},
		{"POST", "/expectations", "/expectations", `{"site":"` + site + `","agent":"gptbot","until":"2999-01-01","note":"new policy"}`, 201},
		{"POST", "/expectations", "/expectations", `{"site":"` + site + `","until":"1999-01-01"}`, 400},
		{"POST", "/expectations", "/expectations", `{"site":"nowhere.example","until":"2999-01-01"}`, 404},
		{"POST", "/expectations", "/expectations", `{"site":"` + site + `"}`, 400},
		{"GET", "/expectations", "/expectations?site=" + site, "", 200},
		{"DELETE", "/expectations/{id}", "/expectations/1", "", 204},
		{"DELETE", "/expectations/{id}", "/expectations/1", "", 404},
		{"GET", "/changes", "/changes?kind=access,state&severity=warning&since=2026-01-01&until=2026-12-31", "", 200},
		{"GET", "/changes", "/changes?kind=wrong", "", 400},
		{"GET", "/changes", "/changes?format=csv", "", 200},
		{"GET", "/changes/{id}", "/changes/" + c[0].ID, "", 200},
		{"GET", "/changes/{id}", "/changes/01J", "", 404},
		{"GET", "/agents", "/agents?group=@training", "", 200},
		{"GET", "/agents", "/agents?format=csv", "", 200},
		{"GET", "/adoption", "/adoption?agent=GPTBot,CCBot&category=ai,training&since=2026-10-01", "", 200},
		{"GET", "/adoption", "/adoption?tag=news", "", 200},
		{"GET", "/signals", "/signals?scope=*&limit=3", "", 200},
		{"GET", "/signals", "/signals?signal=nonsense", "", 400},
		{"GET", "/signals", "/signals?format=csv", "", 200},
		{"GET", "/sites", "/sites?unstable=true&signal=license+for+*", "", 200},
		{"GET", "/sites", "/sites?signal=nonsense", "", 400},
		{"GET", "/adoption", "/adoption?agent=a%20b", "", 400},
		// A name that is misspelled is not "nothing found".
		{"GET", "/sites", "/sites?tag=nwes", "", 404},
		{"GET", "/sites", "/sites?agent=GTPBot", "", 404},
		{"GET", "/access", "/access?tag=nwes", "", 404},
		{"GET", "/access", "/access?agent=GTPBot", "", 404},
		{"GET", "/access", "/access?agent=GTPBot&site=" + site, "", 200},
		{"GET", "/changes", "/changes?tag=nwes", "", 404},
		{"GET", "/changes", "/changes?agent=GTPBot", "", 404},
		{"GET", "/changes", "/changes?agent=*", "", 200},
		{"GET", "/changes", "/changes?site=nowhere.example", "", 404},
		{"GET", "/agents", "/agents?tag=nwes", "", 404},
		{"GET", "/adoption", "/adoption?tag=nwes", "", 404},
		{"GET", "/adoption", "/adoption?agent=GPTBot,GTPBot", "", 404},
		{"GET", "/signals", "/signals?tag=nwes", "", 404},
		{"POST", "/expectations", "/expectations", `{"site":"` + site + `","agent":"GTPBot","until":"2999-01-01"}`, 404},
		{"GET", "/adoption", "/adoption?format=csv", "", 200},
	} {
		got := call(t, w.server, q.method, "/api/v1"+q.target, q.body)
		if got.Code != q.status {
			t.Errorf("%s %s: status %d, want %d: %s", q.method, q.target, got.Code, q.status, got.Body)
			continue
		}
		if err := d.check(q.method, q.path, got); err != nil {
			t.Errorf("%s %s: %v\n%.600s", q.method, q.target, err, got.Body)
		}
	}
	for _, wrong := range []struct {
		method, target string
		status         int
		code           string
	}{{"GET", "/nope", 404, "not_found"}, {"DELETE", "/sites", 405, "method_not_allowed"}} {
		got := call(t, w.server, wrong.method, "/api/v1"+wrong.target, "")
		var e struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil || got.Code != wrong.status || e.Error.Code != wrong.code || e.Error.Message == "" {
			t.Errorf("%s %s: status %d, %s (%v)", wrong.method, wrong.target, got.Code, got.Body, err)
		}
	}
}

// TestARandomClientMeetsNoFault asks what the document allows, and now and
// then what it does not. ROBOTSWATCH_CALLS sets how often.
func TestARandomClientMeetsNoFault(t *testing.T) {
	w := madeUp(t, 40)
	addHostile(t, w)
	d := readDocument(t, w.server)
	calls := sizes.Of(t, "ROBOTSWATCH_CALLS", 400, 40)
	rnd := rand.New(rand.NewPCG(1, 2))
	var paths []string
	for p := range d.Paths {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	statuses := map[int]int{}
	for i := range calls {
		w.now = today.Add(time.Duration(i) * time.Second) // rate limits are met, but not always
		path := paths[rnd.IntN(len(paths))]
		for method, op := range d.Paths[path] {
			target, q := path, url.Values{}
			for _, p := range op.Parameters {
				v := randomValue(rnd, w, p)
				switch {
				case p.In == "path":
					target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(v))
				case p.In == "query" && rnd.IntN(3) == 0:
					q.Set(p.Name, v)
				}
			}
			body := ""
			if op.RequestBody != nil {
				body = randomBody(rnd, w)
			}
			if len(q) > 0 {
				target += "?" + q.Encode()
			}
			got := call(t, w.server, strings.ToUpper(method), "/api/v1"+target, body, "Accept", []string{"", "application/json", "text/csv", "image/png", "*/*;q=0"}[rnd.IntN(5)])
			statuses[got.Code]++
			if got.Code >= 500 {
				t.Fatalf("%s %s %.200s: status %d: %s", method, target, body, got.Code, got.Body)
			}
			if got.Code/100 != 3 && !strings.Contains(target, "//") {
				if err := d.check(method, path, got); err != nil {
					t.Fatalf("%s %s: %v\n%.600s", method, target, err, got.Body)
				}
			}
		}
	}
	if statuses[200] < calls/5 || statuses[400] == 0 {
		t.Errorf("statuses %v: too few good or no bad requests to learn from", statuses)
	}
}

func randomText(rnd *rand.Rand) string {
	words := []string{"", "a", "GPTBot", "gptbot", "news", "x y", "<script>", "\u202e", "\x00", "%", "%zz", "'; DROP TABLE sites; --", "_", "../..", "💥", strings.Repeat("z", 5000), "-1", "9223372036854775808", "https://", "[::1]", "@ai", ","}
	return words[rnd.IntN(len(words))]
}

func randomValue(rnd *rand.Rand, w *world, p parameter) string {
	enum := p.Schema.Enum
	if p.Schema.Items != nil {
		enum = p.Schema.Items.Enum
	}
	switch {
	case rnd.IntN(12) == 0:
		return randomText(rnd)
	case len(enum) > 0:
		return fmt.Sprint(enum[rnd.IntN(len(enum))])
	case p.Name == "host" || p.Name == "site":
		return strings.TrimPrefix(w.sites[rnd.IntN(len(w.sites))], "https://")
	case fmt.Sprint(p.Schema.Type) == "integer":
		return strconv.Itoa(1 + rnd.IntN(60))
	case p.Name == "since" || p.Name == "until" || p.Name == "at":
		return today.Add(-time.Duration(rnd.IntN(400*24)) * time.Hour).Format([]string{time.RFC3339, time.DateOnly}[rnd.IntN(2)])
	case p.Name == "agent":
		return []string{"GPTBot", "CCBot", "Foo"}[rnd.IntN(3)]
	case p.Name == "path":
		return "/" + randomText(rnd)
	case p.Name == "tag":
		return "news"
	}
	return randomText(rnd)
}

func randomBody(rnd *rand.Rand, w *world) string {
	if rnd.IntN(8) == 0 {
		return randomText(rnd)
	}
	var qs []map[string]string
	for range 1 + rnd.IntN(4) {
		q := map[string]string{"site": w.sites[rnd.IntN(len(w.sites))], "agent": "GPTBot", "path": "/" + randomText(rnd)}
		if rnd.IntN(3) == 0 {
			q["at"] = today.AddDate(0, 0, -rnd.IntN(400)).Format(time.DateOnly)
		}
		if rnd.IntN(6) == 0 {
			q["site"] = randomText(rnd)
		}
		qs = append(qs, q)
	}
	b, _ := json.Marshal(map[string]any{"questions": qs})
	return string(b)
}

// TestAsOfAgreesWithAReplay asks how things stood at random moments, and
// compares with how they stood when time went by. ROBOTSWATCH_CALLS sets how
// often.
func TestAsOfAgreesWithAReplay(t *testing.T) {
	w := madeUp(t, sizes.Pick(150, 40))
	calls := sizes.Of(t, "ROBOTSWATCH_CALLS", 1500, 150)
	rnd := rand.New(rand.NewPCG(3, 4))
	tokens := []string{"GPTBot", "CCBot", "Googlebot", "Googlebot-Image", "Amazonbot", "Nobody"}
	paths := []string{"/", "/admin/x", "/wp-admin/admin-ajax.php", "/public/a", "/robots.txt", "/search?q=1", "/private/"}
	states := map[string]int{}
	for range calls {
		w.now = w.now.Add(10 * time.Millisecond) // not all at once
		origin := w.sites[rnd.IntN(len(w.sites))]
		token, path := tokens[rnd.IntN(len(tokens))], paths[rnd.IntN(len(paths))]
		at := today.Add(-time.Duration(rnd.Int64N(int64(370 * 24 * time.Hour)))).Truncate(time.Millisecond)
		if stood := w.stood[origin]; rnd.IntN(3) == 0 { // near a look, where things change
			at = stood[rnd.IntN(len(stood))].LastCheckAt.Add(time.Duration(rnd.IntN(1200)-300) * time.Second)
			if at.After(today) {
				at = today
			}
		}
		then := watcher.Site{State: "pending"}
		for _, s := range w.stood[origin] {
			if !s.LastCheckAt.After(at) {
				then = s
			}
		}
		var text []byte
		if then.Readable == "policy" {
			var err error
			if text, err = w.store.Body(t.Context(), then.Body); err != nil {
				t.Fatal(err)
			}
		}
		agent := watcher.AgentOf(lookup(w, token))
		want := watcher.Gate(then, text, agent, path, at, w.judge.Settings().Semantics)
		got := call(t, w.server, "GET", "/api/v1/access?"+url.Values{"site": {origin}, "agent": {token}, "path": {path}, "at": {at.Format(time.RFC3339Nano)}}.Encode(), "")
		var p watcher.Permission
		if err := json.Unmarshal(got.Body.Bytes(), &p); err != nil || got.Code != 200 {
			t.Fatalf("status %d: %s", got.Code, got.Body)
		}
		states[string(p.State)]++
		if p.Allowed != want.Allowed || p.Access != want.Access || p.State != want.State || p.Source != want.Source || ruleOf(p) != ruleOf(want) {
			t.Fatalf("%s of %s for %s at %s:\ngot  %s\nwant %+v", path, origin, token, at, got.Body, want)
		}
	}
	for _, s := range []string{"policy", "unreachable", "denied", "pending"} {
		if states[s] == 0 {
			t.Errorf("no question met the state %s: %v", s, states)
		}
	}
}

func ruleOf(p watcher.Permission) string {
	if p.Rule == nil || p.Line == nil {
		return ""
	}
	return fmt.Sprint(*p.Line, *p.Rule)
}

// The list and the gate say the same of an agent: what it has, why, and how
// old the answer is that says so.
func TestListAndGateAgree(t *testing.T) {
	w := madeUp(t, 60)
	w.live(t, []look{{w.sites[1], fetch.Outcome{At: w.now, State: fetch.NotRobots, Reason: fetch.HTML, Status: 200}}}) // its policy is older than that
	var list struct{ Data []map[string]any }
	if err := json.Unmarshal(call(t, w.server, "GET", "/api/v1/access?agent=GPTBot&limit=1000", "").Body.Bytes(), &list); err != nil || len(list.Data) != 60 {
		t.Fatalf("%d rows, %v", len(list.Data), err)
	}
	for _, row := range list.Data {
		var gate map[string]any
		if err := json.Unmarshal(call(t, w.server, "GET", "/api/v1/access?agent=GPTBot&path=/&site="+url.QueryEscape(row["site"].(string)), "").Body.Bytes(), &gate); err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"access", "source", "state", "observed_at", "stale"} {
			if row[k] != gate[k] {
				t.Errorf("%v in state %v: the list says %s %v, the gate %v", row["site"], row["state"], k, row[k], gate[k])
			}
		}
	}
}

// A program that names no kind gets every one; people and feeds are spared
// what means nothing, unless they ask for it.
func TestCosmeticChangesAreForPrograms(t *testing.T) {
	w := madeUp(t, 1)
	for _, text := range []string{"User-agent: *\nDisallow: /x\n", "# Hello\nUser-agent: *\nDisallow: /x\n"} {
		w.now = w.now.Add(time.Hour)
		w.live(t, []look{policySeen(w.sites[0], w.now, text)})
	}
	for target, want := range map[string]bool{
		"/api/v1/changes": true, "/api/v1/changes?kind=access": false, "/api/v1/changes?kind=cosmetic": true,
		"/changes": false, "/feed.atom": false, "/feed.atom?kind=cosmetic": true,
	} {
		if got := call(t, w.server, "GET", target, "").Body.String(); strings.Contains(got, "nothing effective did") != want {
			t.Errorf("%s lists the cosmetic change: %v, want %v\n%s", target, !want, want, got)
		}
	}
}

// TestCursorsAreStableUnderWrites walks lists while new entries come in: what
// was there at the start comes exactly once.
func TestCursorsAreStableUnderWrites(t *testing.T) {
	w := madeUp(t, 40)
	for _, list := range []struct{ target, key string }{{"/changes?limit=7", "id"}, {"/sites?limit=7", "site"}, {"/access?limit=11", ""}} {
		seen := map[string]int{}
		cursor, pages := "", 0
		for {
			got := call(t, w.server, "GET", "/api/v1"+list.target+"&cursor="+url.QueryEscape(cursor), "")
			var page struct {
				Data       []map[string]any
				NextCursor string `json:"next_cursor"`
			}
			if err := json.Unmarshal(got.Body.Bytes(), &page); err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Data {
				k := fmt.Sprint(e[list.key])
				if list.key == "" {
					k = fmt.Sprint(e["site"], e["agent"])
				}
				seen[k]++
			}
			pages++
			if cursor = page.NextCursor; cursor == "" {
				break
			}
			// Something new happens between two pages.
			if pages < 5 {
				w.now = w.now.Add(time.Hour)
				w.live(t, []look{policySeen(w.sites[pages], w.now, fmt.Sprintf("User-agent: *\nDisallow: /%d-%s\n", pages, list.key))})
			}
		}
		want := 40
		if list.key == "" {
			want = 40 * 59
		}
		if list.key != "id" && len(seen) != want {
			t.Errorf("%s: %d entries, want %d", list.target, len(seen), want)
		}
		for k, n := range seen {
			if n != 1 {
				t.Errorf("%s: %s came %d times", list.target, k, n)
			}
		}
		if pages < 6 {
			t.Errorf("%s: only %d pages", list.target, pages)
		}
	}
}

func TestETags(t *testing.T) {
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: "https://a.example"}}, today)
	for _, path := range []string{"/api/v1/sites", "/sites", "/api/v1/openapi.json", "/feed.atom"} {
		first := get(t, w.server, "GET", "http://localhost"+path)
		tag := first.Header().Get("ETag")
		if tag == "" {
			t.Errorf("%s has no ETag", path)
		}
		again := get(t, w.server, "GET", "http://localhost"+path, "If-None-Match", `"other", W/`+tag)
		if again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("%s again: status %d, %d octets", path, again.Code, again.Body.Len())
		}
		if csv := get(t, w.server, "GET", "http://localhost"+path, "Accept", "text/csv"); path == "/api/v1/sites" && csv.Header().Get("ETag") == tag {
			t.Errorf("%s: CSV has the ETag of JSON", path)
		}
	}
	w.live(t, []look{policySeen("https://a.example", today.Add(time.Minute), "User-agent: *\nDisallow: /\n")})
	if got := get(t, w.server, "GET", "http://localhost/api/v1/sites"); !strings.Contains(got.Body.String(), `"blocked"`) {
		t.Errorf("after a look: %s", got.Body)
	}
}
