package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// shelf is a store of fixed content.
type shelf struct {
	sites   []watcher.Site
	changes []watcher.Change
}

func (s shelf) Sites(context.Context, watcher.SiteFilter) ([]watcher.Site, error) {
	return s.sites, nil
}
func (s shelf) Changes(context.Context, watcher.ChangeFilter) ([]watcher.Change, error) {
	return s.changes, nil
}

func get(t *testing.T, h http.Handler, method, url string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFirstPageShowsSitesAndChangesEscaped(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	s, err := New(Settings{Watched: []string{"GPTBot"}}, Deps{Store: shelf{
		sites: []watcher.Site{{Origin: "https://a.example", State: fetch.Policy, LastCheckAt: at,
			Profile: []watcher.AgentAccess{{Agent: "GPTBot", Access: diff.Access{Level: diff.Blocked, Source: "named"}}}}},
		changes: []watcher.Change{{Site: "https://a.example", Summary: "<script>alert(1)</script> now blocked", At: at, Kind: watcher.KindAccess}},
	}, Now: func() time.Time { return at.Add(3 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	w := get(t, s, "GET", "http://127.0.0.1:9309/")
	body := w.Body.String()
	for _, want := range []string{"a.example", "blocked", "GPTBot", "3 hours ago", "&lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if w.Code != 200 || strings.Contains(body, "<script>alert") {
		t.Errorf("status %d, or a script got through:\n%s", w.Code, body)
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("Content-Security-Policy %q", csp)
	}
}

func TestOperations(t *testing.T) {
	var reloads int
	ready := errors.New("the store is not open yet")
	s, err := New(Settings{AdminToken: "s3cret", ExternalURL: "https://rw.example.org/robots/"}, Deps{
		Store:   shelf{},
		Ready:   func(context.Context) error { return ready },
		Reload:  func(context.Context) error { reloads++; return nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("up 1\n")) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, method, url string
		header            []string
		want              int
	}{
		{"healthy", "GET", "http://localhost/-/healthy", nil, 200},
		{"not ready", "GET", "http://localhost/-/ready", nil, 503},
		{"metrics by any name", "GET", "http://robotswatch.monitoring.svc/metrics", nil, 200},
		{"page by a foreign name", "GET", "http://evil.example/", nil, 421},
		{"page by the external name", "GET", "http://rw.example.org/", nil, 200},
		{"page below the prefix", "GET", "http://rw.example.org/robots/", nil, 200},
		{"page at the bare prefix", "GET", "http://rw.example.org/robots", nil, 200},
		{"page by address", "GET", "http://[::1]:9309/", nil, 200},
		{"reload by GET", "GET", "http://localhost/-/reload", nil, 404},
		{"reload without the token", "POST", "http://localhost/-/reload", nil, 401},
		{"reload with a wrong token", "POST", "http://localhost/-/reload", []string{"Authorization", "Bearer x"}, 401},
		{"reload", "POST", "http://localhost/-/reload", []string{"Authorization", "Bearer s3cret"}, 200},
		{"reload, own header", "POST", "http://localhost/-/reload", []string{"X-Robotswatch-Token", "s3cret"}, 200},
		{"reload by another site", "POST", "http://localhost/-/reload", []string{"Authorization", "Bearer s3cret", "Sec-Fetch-Site", "cross-site"}, 403},
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

func TestNewRefusesABadExternalURL(t *testing.T) {
	if _, err := New(Settings{ExternalURL: "rw.example.org"}, Deps{}); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Fatalf("error %v, want one that shows a right address", err)
	}
}
