package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// t0 is when the tests' archives begin.
var t0 = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

const week = 7 * 24 * time.Hour

// line is one line of what backfill jsonl reads.
type line struct {
	Site    string            `json:"site"`
	Time    time.Time         `json:"time"`
	Status  int               `json:"status"`
	Error   string            `json:"error,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    *[]byte           `json:"body_base64,omitempty"`
}

func policy(site string, at time.Time, body string) line {
	b := []byte(body)
	return line{Site: site, Time: at, Status: 200, Body: &b}
}

func failed(site string, at time.Time, status int, why string) line {
	return line{Site: site, Time: at, Status: status, Error: why}
}

const (
	open    = "User-agent: *\nDisallow: /private/\n"
	closed  = "User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nDisallow: /\n"
	example = "https://example.com"
)

func newJudge(t testing.TB) *watcher.Judge {
	t.Helper()
	return judgeOf(t, "@ai")
}

// judgeOf watches some agents.
func judgeOf(t testing.TB, watch ...string) *watcher.Judge {
	t.Helper()
	catalogue, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	j, err := watcher.NewJudge(watcher.Settings{
		Confirm:  watcher.Confirm{Failures: 3, Interval: 5 * time.Minute},
		Schedule: "@every 6h", Watch: watch, Catalogue: catalogue,
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func newStore(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db"), store.Options{CallerClock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func options(t testing.TB, s history.Store) history.Options {
	return history.Options{
		Judge: newJudge(t), Store: s, Origin: config.NormalizeOrigin, MaxBytes: 1 << 20, TempDir: t.TempDir(),
		Bad:      func(b history.Bad) { t.Errorf("not used: %s", b) },
		Progress: func(history.Progress) {},
	}
}

// backfill brings lines in.
func backfill(t testing.TB, s *store.Store, lines ...line) history.Summary {
	t.Helper()
	return backfillWith(t, options(t, s), lines...)
}

func backfillWith(t testing.TB, o history.Options, lines ...line) history.Summary {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	source, err := history.JSONL([]string{history.Stdin}, &buf)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := history.Run(t.Context(), source, o)
	if err = errors.Join(err, sum.Untidy); err != nil {
		t.Fatal(err)
	}
	return sum
}

// known is all that a store says of a site, oldest first.
type known struct {
	Runs    []watcher.Observation
	Changes []watcher.Change
}

func knownOf(t testing.TB, s *store.Store, site string) (k known) {
	t.Helper()
	runs, err := s.Observations(t.Context(), site, time.Time{}, time.Time{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Changes(t.Context(), watcher.ChangeFilter{Site: site, Cosmetic: true})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(runs)
	slices.Reverse(changes)
	return known{runs, changes}
}

// asJSON makes what a store says comparable, and readable where it differs.
func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type ctx = context.Context

// one is a configuration of one site.
func one(c watcher.SiteConfig) iter.Seq2[watcher.SiteConfig, error] {
	return list([]watcher.SiteConfig{c})
}

func list(sites []watcher.SiteConfig) iter.Seq2[watcher.SiteConfig, error] {
	return func(yield func(watcher.SiteConfig, error) bool) {
		for _, c := range sites {
			if !yield(c, nil) {
				return
			}
		}
	}
}
