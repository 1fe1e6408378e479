package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

func get(t testing.TB, h http.Handler, method, url string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestOperations(t *testing.T) {
	w := newWorld(t, web.Settings{}, nil, today)
	var reloads int
	s, err := web.New(web.Settings{AdminToken: "s3cret", ExternalURL: "https://rw.example.org/robots/"}, web.Deps{
		Store: w.store, Judge: w.judge,
		Ready:   func(context.Context) error { return errors.New("the store is not open yet") },
		Reload:  func(context.Context) error { reloads++; return nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("up 1\n")) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	bearer := []string{"Authorization", "Bearer s3cret"}
	for _, c := range []struct {
		what, method, url string
		header            []string
		want              int
	}{
		{"healthy", "GET", "http://localhost/-/healthy", nil, 200},
		{"not ready", "GET", "http://localhost/-/ready", nil, 503},
		{"metrics by any name", "GET", "http://robotswatch.monitoring.svc/metrics", nil, 200},
		{"page by a foreign name", "GET", "http://evil.example/", nil, 421},
		{"API by a foreign name", "GET", "http://evil.example/api/v1/sites", nil, 421},
		{"page by the external name", "GET", "http://rw.example.org/", nil, 200},
		{"page below the prefix", "GET", "http://rw.example.org/robots/", nil, 200},
		{"page at the bare prefix", "GET", "http://rw.example.org/robots", nil, 200},
		{"page by address", "GET", "http://[::1]:9309/", nil, 200},
		{"reload by GET", "GET", "http://localhost/-/reload", nil, 405},
		{"reload without the token", "POST", "http://localhost/-/reload", nil, 401},
		{"reload with a wrong token", "POST", "http://localhost/-/reload", []string{"Authorization", "Bearer x"}, 401},
		{"reload", "POST", "http://localhost/-/reload", bearer, 200},
		{"reload, own header", "POST", "http://localhost/-/reload", []string{"X-Robotswatch-Token", "s3cret"}, 200},
		{"reload by another site", "POST", "http://localhost/-/reload", append([]string{"Sec-Fetch-Site", "cross-site"}, bearer...), 403},
		{"unknown page", "GET", "http://localhost/nope", nil, 404},
	} {
		if w := get(t, s, c.method, c.url, c.header...); w.Code != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.what, w.Code, c.want, w.Body)
		}
	}
	if reloads != 2 {
		t.Errorf("%d reloads, want 2", reloads)
	}
}

func TestLinksCarryThePrefixOfTheExternalURL(t *testing.T) {
	w := newWorld(t, web.Settings{ExternalURL: "https://rw.example.org/robots"}, []watcher.SiteConfig{{Origin: "https://a.example"}}, today)
	body := get(t, w.server, "GET", "http://rw.example.org/robots/sites").Body.String()
	for _, want := range []string{`href="/robots/sites/a.example"`, `href="/robots/assets/app.css`, `action="/robots/sites"`} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %s", want)
		}
	}
	if strings.Contains(body, `href="/sites`) || strings.Contains(body, `src="/assets`) {
		t.Error("a link leaves the prefix out")
	}
}

func TestNewRefusesABadExternalURL(t *testing.T) {
	if _, err := web.New(web.Settings{ExternalURL: "rw.example.org"}, web.Deps{}); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Fatalf("error %v, want one that shows a right address", err)
	}
}

func TestTokensGuardTheAPI(t *testing.T) {
	w := newWorld(t, web.Settings{ReadToken: "reader", AdminToken: "admin"}, []watcher.SiteConfig{{Origin: "https://a.example"}}, today)
	for _, c := range []struct {
		method, url, token string
		want               int
	}{
		{"GET", "/api/v1/sites", "", 401},
		{"GET", "/api/v1/sites", "wrong", 401},
		{"GET", "/api/v1/sites", "reader", 200},
		{"GET", "/api/v1/sites", "admin", 200},
		{"POST", "/api/v1/sites/a.example/check", "reader", 403},
		{"POST", "/api/v1/sites/a.example/check", "admin", 200},
		{"POST", "/api/v1/sites/a.example/check", "admin", 429},
		{"POST", "/api/v1/sites/b.example/check", "admin", 404},
		{"GET", "/sites", "", 200}, // pages are web_config's business
	} {
		if got := get(t, w.server, c.method, "http://localhost"+c.url, "Authorization", "Bearer "+c.token); got.Code != c.want {
			t.Errorf("%s %s with token %q: status %d, want %d: %s", c.method, c.url, c.token, got.Code, c.want, got.Body)
		}
	}
	w.now = w.now.Add(time.Minute)
	if got := get(t, w.server, "POST", "http://localhost/api/v1/sites/a.example/check", "Authorization", "Bearer admin"); got.Code != 200 {
		t.Errorf("a minute later: status %d, want 200", got.Code)
	}
}

func TestALookOnRequestThatCannotBeMadeSaysSo(t *testing.T) {
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: "https://a.example"}}, today)
	for want, err := range map[int]error{409: watcher.ErrBusy, 503: watcher.ErrNotNow, 500: errors.New("disk is on fire")} {
		w.checked, w.now = err, w.now.Add(time.Minute)
		if got := get(t, w.server, "POST", "http://localhost/api/v1/sites/a.example/check"); got.Code != want {
			t.Errorf("%v: status %d, want %d: %s", err, got.Code, want, got.Body)
		}
	}
}
