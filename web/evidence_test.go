package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

func TestEvidenceAndHeadsAreServed(t *testing.T) {
	const host, origin = "a.example", "https://a.example"
	w := newWorld(t, web.Settings{}, []watcher.SiteConfig{{Origin: origin}}, today.Add(-time.Hour))
	w.live(t, []look{policySeen(origin, today.Add(-time.Minute), "User-agent: GPTBot\nDisallow: /\n")})
	s, err := web.New(web.Settings{}, web.Deps{Store: w.store, Judge: w.judge, Now: func() time.Time { return today.Add(time.Hour) },
		Evidence: func(_ context.Context, origin string, at time.Time) ([]byte, error) {
			if at.Year() == 2001 {
				return nil, fmt.Errorf("then: %w", watcher.ErrNotFound)
			}
			return fmt.Appendf(nil, "%s at %s", origin, at.Format(time.RFC3339)), nil
		},
		Heads: func(_ context.Context, at time.Time, w io.Writer) error {
			fmt.Fprint(w, "heads of ", at.Format(time.RFC3339))
			if at.Year() == 2001 {
				return errors.New("no store")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"/api/v1/sites/" + host + "/evidence?at=2026-05-01", 200, origin + " at 2026-05-01T00:00:00Z"},
		{"/api/v1/sites/" + host + "/evidence?at=soon", 400, "at: want a time"},
		{"/api/v1/sites/" + host + "/evidence?at=2001-01-01", 404, "not_found"},
		{"/api/v1/sites/nowhere.example/evidence", 404, "not among the sites"},
		{"/api/v1/heads?at=2026-05-01", 200, "heads of 2026-05-01T00:00:00Z"},
		{"/api/v1/heads", 200, "heads of " + today.UTC().Truncate(24*time.Hour).Format(time.RFC3339)},
		{"/api/v1/heads?at=soon", 400, "at: want a time"},
		{"/sites/" + host, 200, "/api/v1/sites/" + host + "/evidence"},
	} {
		if got := get(t, s, "GET", "http://localhost"+c.path); got.Code != c.code || !strings.Contains(got.Body.String(), c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.path, got.Code, got.Body, c.code, c.want)
		}
	}
	for _, path := range []string{"/api/v1/heads", "/api/v1/sites/" + host + "/evidence"} {
		if got := get(t, w.server, "GET", "http://localhost"+path); got.Code != 501 {
			t.Errorf("%s where it is not wired: %d", path, got.Code)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("half a list looks like a whole one")
		}
	}()
	get(t, s, "GET", "http://localhost/api/v1/heads?at=2001-01-01")
}
