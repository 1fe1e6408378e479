package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/robotswatch/robotswatch/watcher"
)

// FuzzRequest takes the input for what somebody sends: path with parameters,
// a body or none, its type, and one more header.
func FuzzRequest(f *testing.F) {
	w := madeUp(f, 12)
	origin := addHostile(f, w)
	changes, err := w.store.Changes(f.Context(), watcher.ChangeFilter{Site: origin, Limit: 1})
	if err != nil || len(changes) == 0 {
		f.Fatal("no change", err)
	}
	d := readDocument(f, w.server)
	const form, json = "application/x-www-form-urlencoded", "application/json"
	for _, seed := range [][4]string{
		{"/api/v1/sites?search=a&tag=news&agent=GPTBot&access=blocked&limit=2&cursor=x&format=csv", "", "", ""},
		{"/api/v1/sites/hostile.example:443?scheme=https", "", "", "If-None-Match: \"x\""},
		{"/api/v1/sites/hostile.example/answers?cursor=1700000000000&limit=1", "", "", "Accept: text/csv;q=0.1"},
		{"/api/v1/access?site=hostile.example&agent=GPTBot&path=/%3C&at=2026-05-01T12:00:00Z", "", "", ""},
		{"/api/v1/access?cursor=https://hostile.example%20GPTBot", "", "", "X-Forwarded-For: 1.2.3.4"},
		{"/api/v1/changes?kind=access,state&severity=warning&since=2026-01-01&until=2026-12-31&cursor=" + changes[0].ID, "", "", "Accept-Encoding: gzip"},
		{"/api/v1/changes/" + changes[0].ID, "", "", "Range: bytes=0-1"},
		{"/api/v1/adoption?agent=GPTBot&category=ai&since=2026-10-01&cursor=2026-10-02%20GPTBot", "", "", ""},
		{"/api/v1/access", `{"questions":[{"site":"hostile.example","agent":"GPTBot","path":"/x","at":"2026-05-01"}]}`, json, ""},
		{"/api/v1/expectations", `{"site":"hostile.example","agent":"gptbot","until":"2999-01-01","note":"n"}`, json, "Sec-Fetch-Site: cross-site"},
		{"/ask", "agent=GPTBot&path=%2F&text=User-agent%3A+*%0ADisallow%3A+%2F", form, "Origin: null"},
		{"/ask?site=hostile.example&agent=GPTBot&path=/%2e%2e", "", "", ""},
		{"/ask?site=%b1.example&agent=GPT%b1Bot&path=/%b1", "", "", ""},
		{"/ask?text=a%b1&agent=GPTBot&path=/%b1", "", "", ""},
		{"/sites?search=%1b%00%e2%80%ae", "", "", ""},
		{"/sites?search=%3Cscript%3E&cursor=1&state=policy", "", "", ""},
		{"/sites/hostile.example/compare?before=" + changes[0].BeforeSHA256 + "&after=" + changes[0].AfterSHA256, "", "", ""},
		{"/changes?site=hostile.example&kind=access", "", "", ""},
		{"/agents/GPTBot?tag=news", "", "", ""},
		{"/feed.atom?site=hostile.example&tag=a", "", "", "If-Modified-Since: x"},
		{"/badge/hostile.example/GPTBot.svg", "", "", ""},
		{"/assets/app.css?x", "", "", ""},
		{"/-/reload", "x", form, "X-Robotswatch-Token: x"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, target, body, media, header string) {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		r, err := http.NewRequest(method, "http://localhost", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		// Only what the server of net/http lets through reaches us.
		if r.URL, err = url.ParseRequestURI(target); err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		r.RequestURI, r.RemoteAddr = target, "192.0.2.1:1234"
		if httpguts.ValidHeaderFieldValue(media) {
			r.Header.Set("Content-Type", media)
		}
		if name, value, ok := strings.Cut(header, ": "); ok && httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value) {
			r.Header.Set(name, value)
		}
		w.now = w.now.Add(10 * time.Millisecond) // limits of requests are not what is asked about
		got := httptest.NewRecorder()
		w.server.ServeHTTP(got, r)
		if got.Code >= 500 && got.Code != http.StatusNotImplemented {
			t.Fatalf("%s %q: status %d: %.600s", method, target, got.Code, got.Body)
		}
		checkAnswer(t, d, method, r.URL.Path, got)
	})
}

// checkAnswer is what holds for every answer.
func checkAnswer(t *testing.T, d *document, method, path string, got *httptest.ResponseRecorder) {
	t.Helper()
	answer := got.Body.String()
	media, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";")
	if got.Code/100 == 3 {
		media = "" // of net/http, which repeats the query as it came
	}
	switch media {
	case "text/html", "image/svg+xml", "application/atom+xml":
		for _, bad := range []string{"<script>", "\u202e", "\x1b", "\x00", "href=\"javascript:"} {
			if strings.Contains(answer, bad) {
				t.Errorf("%s %s contains %q", method, path, bad)
			}
		}
		fallthrough
	case "application/json", "text/csv":
		if !utf8.ValidString(answer) {
			t.Errorf("%s %s: the answer is no UTF-8", method, path)
		}
	}
	if len(answer) > 4<<20 {
		t.Errorf("%s %s: %d octets", method, path, len(answer))
	}
	api, ok := strings.CutPrefix(path, "/api/v1")
	if !ok || got.Code/100 == 3 {
		return
	}
	if op, ok := d.Paths[api][strings.ToLower(method)]; ok && op.OperationID != "" && strings.HasPrefix(media, "application/json") {
		if err := d.check(method, api, got); err != nil {
			t.Errorf("%s %s: %v\n%.600s", method, path, err, answer)
		}
	}
}
