package main

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/store"
)

// A site changes under a real daemon that is killed and started again; what it
// answered is proven to somebody who has the bundle alone.
func TestEvidenceOfARealDaemon(t *testing.T) {
	s := newStage(t)
	s.play("a.test", simweb.Text("User-agent: *\nDisallow: /private/\n").For(0))
	s.configure(s.sites("a.test"))
	cfg := filepath.Join(s.dir, "config.toml")
	in := func(args ...string) (int, string, string) {
		t.Helper()
		out, err := program(t, s.dir, nil, append([]string{"--config", cfg}, args...)...).Output()
		code, stderr := 0, ""
		if e, ok := err.(interface{ ExitCode() int }); ok {
			code = e.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return code, string(out), stderr
	}
	p := start(t, s.dir).ready()
	eventually(t, "a first answer", func() bool { _, out, _ := in("sites", "--format", "csv"); return strings.Contains(out, "policy") })
	_, first, _ := in("evidence", "http://a.test")
	p.signal(syscall.SIGKILL)
	p.end()
	s.play("a.test", simweb.Text("User-agent: GPTBot\nDisallow: /\n").For(0))
	p = start(t, s.dir).ready()
	eventually(t, "a change", func() bool { _, out, _ := in("changes", "--format", "csv"); return strings.Contains(out, "GPTBot") })
	p.stop()

	bundle, heads := filepath.Join(s.dir, "now.evidence"), filepath.Join(s.dir, "heads.txt")
	s.write("first.evidence", first)
	if code, _, _ := in("evidence", "http://a.test", "-o", bundle); code != exitOK {
		t.Fatal("no bundle")
	}
	if code, _, _ := in("evidence", "heads", "--at", "0s", "-o", heads); code != exitOK {
		t.Fatal("no heads")
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"GPTBot blocked (named, line 2: Disallow: /)", []string{"evidence", "verify", bundle}},
		{"record 2 of the live chain", []string{"evidence", "verify", bundle}},
		{"the record was there when the heads", []string{"evidence", "verify", bundle, "--heads", heads}},
		{"GPTBot partial (wildcard, line 2: Disallow: /private/)", []string{"evidence", "verify", filepath.Join(s.dir, "first.evidence")}},
		{"the store is sound", []string{"store", "check"}},
	} {
		if code, out, _ := in(c.args...); code != exitOK || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit %d, want %q\n%s", c.args, code, c.want, out)
		}
	}

	data, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(data, []byte("User-agent")) // in nothing: the body is base64
	if i >= 0 {
		t.Error("the body is not packed")
	}
	data[len(data)/2] ^= 1
	s.write("flipped.evidence", string(data))
	if code, out, _ := in("evidence", "verify", filepath.Join(s.dir, "flipped.evidence")); code != exitAnswer || !strings.Contains(out, "changed or damaged") {
		t.Errorf("a flipped bit: exit %d\n%s", code, out)
	}
	for _, args := range [][]string{{"evidence", "verify", cfg}, {"evidence", "verify", "none"}, {"evidence", "http://never.test"}, {"evidence", "http://a.test", "--at", "2001-01-01"},
		{"evidence", "verify", bundle, "--heads", cfg}, {"evidence", "a b"}, {"evidence"}} {
		if code, out, _ := in(args...); code != exitTrouble {
			t.Errorf("%v: exit %d, want %d\n%s", args, code, exitTrouble, out)
		}
	}

	db, err := sql.Open("sqlite", filepath.Join(s.dir, "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE observations SET status = 404 WHERE seq = 1"); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := in("store", "check"); code != exitAnswer || !strings.Contains(out, "not what was recorded as record 1") {
		t.Errorf("an edited store: exit %d\n%s", code, out)
	}
	if code, _, _ := in("evidence", "http://a.test"); code != exitTrouble {
		t.Errorf("evidence of an edited store: exit %d", code)
	}
}

// What the daemon logs once a day is the sum of what "evidence heads" lists for
// that midnight.
func TestTheHeadsOfADayAreLoggedOnce(t *testing.T) {
	s := newScene(t, "")
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(filepath.Dir(s.config), "test.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	tomorrow := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	for _, now := range []time.Time{
		tomorrow.Add(time.Minute), tomorrow.Add(31 * time.Minute), tomorrow.Add(24*time.Hour - time.Second), // one day
		tomorrow.Add(24*time.Hour + 20*time.Minute), // the next one
	} {
		if err := witness(t.Context(), db, now, logger); err != nil {
			t.Fatal(err)
		}
	}
	days := []time.Time{tomorrow, tomorrow.AddDate(0, 0, 1)}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(days) {
		t.Fatalf("%d lines for %d days:\n%s", len(lines), len(days), log.String())
	}
	for i, day := range days {
		at := day.Format(time.RFC3339)
		var line struct {
			Msg, At, SHA256 string
			Sites           int
		}
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatal(err)
		}
		list := s.want(exitOK, "evidence", "heads", "--at", at)
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(list))); line.At != at || line.Sites != 1 || line.SHA256 != sum {
			t.Errorf("%s, but the heads of %s have the sum %s:\n%s", lines[i], at, sum, list)
		}
	}
}

func TestEvidenceOfAnArchiveAndOfAnOutage(t *testing.T) {
	cfg := storeConfig(t, "[agents]\nwatch = [\"GPTBot\"]\n")
	if code, _, stderr := runApp(t, captures, "--config", cfg, "backfill", "jsonl", "-"); code != exitOK {
		t.Fatal(stderr)
	}
	for at, want := range map[string]string{
		"2024-05-02":           "GPTBot allowed",
		"2024-05-08T13:00:00Z": "GPTBot blocked (named, line 2: Disallow: /)",
		"2024-05-10":           "answered 0, state unreachable",
	} {
		code, bundle, stderr := runApp(t, "", "--config", cfg, "evidence", "example.com", "--at", at)
		if code != exitOK {
			t.Fatal(stderr)
		}
		code, out, stderr := runApp(t, bundle, "evidence", "verify", "-")
		if code != exitOK || !strings.Contains(out, want) || !strings.Contains(out, "archive chain") {
			t.Errorf("%s: exit %d, want %q\n%s%s", at, code, want, out, stderr)
		}
	}
	// Nothing was seen live: the list of heads is empty, and always the same.
	_, heads, _ := runApp(t, "", "--config", cfg, "evidence", "heads", "--at", "2026-01-01")
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(heads))); heads != "robotswatch-heads v1 2026-01-01T00:00:00Z\n" || got == "" {
		t.Errorf("%q", heads)
	}
}
