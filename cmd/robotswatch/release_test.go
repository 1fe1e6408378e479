package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/robotswatch/robotswatch/internal/simweb"
)

// What a version leaves behind for the next one: a store with something of
// everything in it, and what the commands told of it then. releasesDir keeps
// that of each schema that was ever released. A new one is made by
//
//	ROBOTSWATCH_RELEASE=schema-0002 go test ./cmd/robotswatch -run UpgradeFromThisVersion
const releasesDir = "testdata/releases"

const (
	releaseSQLite   = "store.db.gz"
	releasePostgres = "store.postgres.sql.gz"
)

// tellings are the commands that show all that people can see of a store, by
// the file that keeps what they told.
var tellings = map[string][]string{
	"sites.jsonl":        {"sites", "--format", "json", "--limit", "0"},
	"access.jsonl":       {"access", "--format", "json", "--limit", "0"},
	"changes.jsonl":      {"changes", "--format", "json", "--limit", "0", "--kind", "access,state,signal,crawl_delay,sitemap,cosmetic"},
	"deliveries.jsonl":   {"deliveries", "--format", "json", "--limit", "0"},
	"observations.jsonl": {"export", "observations", "--format", "jsonl"},
	"policies.jsonl":     {"export", "policies", "--format", "jsonl"},
	"events.jsonl":       {"export", "changes", "--format", "jsonl"},
	"expected.txt":       {"expect", "--list"},
}

// role is what a site does in the story of a release: all but the last scene
// happen before, the last one goes on after.
type role struct {
	host   string
	scenes []simweb.Scene
	events []string // kinds, as they must be recorded
}

var (
	keepOut = simweb.Text("User-agent: *\nDisallow: /private/\n")
	noBots  = simweb.Text("User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nDisallow: /\n")
)

func storyOfARelease() []role {
	becomes := func(host string, was, is simweb.Answer, kinds ...string) role {
		return role{host, []simweb.Scene{was.For(2), is.For(0)}, kinds}
	}
	return []role{
		becomes("blocked.example", keepOut, noBots, "access"),
		becomes("freed.example", noBots, keepOut, "access"),
		becomes("quiet.example", keepOut, simweb.Text("# hello\nUser-agent: *\nDisallow: /private/\n"), "cosmetic"),
		becomes("gone.example", keepOut, simweb.Status(404), "access"),
		becomes("denied.example", keepOut, simweb.Status(403), "state"),
		becomes("challenge.example", keepOut, simweb.HTML("<!doctype html><title>Are you human?</title>"), "state"),
		becomes("signal.example", keepOut, simweb.Text("User-agent: *\nContent-Signal: ai-train=no\nDisallow: /private/\n"), "signal"),
		becomes("delay.example", keepOut, simweb.Text("User-agent: *\nCrawl-delay: 10\nDisallow: /private/\n"), "crawl_delay"),
		becomes("map.example", keepOut, simweb.Text("User-agent: *\nDisallow: /private/\nSitemap: http://map.example/map.xml\n"), "sitemap"),
		{"outage.example", []simweb.Scene{keepOut.For(2), simweb.Status(503).For(4), keepOut.For(0)}, []string{"state", "state"}},
		{"still.example", []simweb.Scene{keepOut.For(0)}, nil},
		{"left.example", []simweb.Scene{keepOut.For(0)}, nil},
		{"doubt.example", []simweb.Scene{keepOut.For(0)}, nil},
		{"announced.example", []simweb.Scene{keepOut.For(0)}, []string{"access"}},
	}
}

// audience are the receivers of a release: one that takes everything, one
// that is down, one that refuses, one that collects, one that shows alerts.
type audience struct {
	mu  sync.Mutex
	got map[string][]string // receiver: ids of events, in order
	url string
}

func newAudience(t *testing.T) *audience {
	a := &audience{got: map[string][]string{}}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.url = s.URL
	return a
}

func (a *audience) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the headers say enough
	name := strings.Split(r.URL.Path, "/")[1]
	a.mu.Lock()
	a.got[name] = append(a.got[name], r.Header.Get("webhook-id"))
	a.mu.Unlock()
	switch name {
	case "down":
		w.WriteHeader(http.StatusBadGateway)
	case "refusing":
		w.WriteHeader(http.StatusGone)
	}
}

func (a *audience) of(name string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.got[name])
}

// receivers as a configuration names them. Where is the path that the one
// that is down is asked at: "down", or another to let it be up again.
func (a *audience) receivers(where string) string {
	var b strings.Builder
	for _, r := range [][3]string{
		{"good", "webhook", "url = \"" + a.url + "/good\""},
		{"down", "webhook", "url = \"" + a.url + "/" + where + "\"\nmax_age = \"365d\""},
		{"refusing", "webhook", "url = \"" + a.url + "/refusing\""},
		{"summary", "slack", "webhook_url = \"" + a.url + "/summary\"\nmode = \"digest\""},
		{"alerts", "alertmanager", "url = \"" + a.url + "/alerts\""},
	} {
		fmt.Fprintf(&b, "[[receivers]]\nname = %q\ntype = %q\n%s\ngroup_wait = \"0\"\nmin_severity = \"info\"\nallow_private_networks = true\n", r[0], r[1], r[2])
		fmt.Fprintf(&b, "kinds = [\"access\", \"state\", \"signal\", \"crawl_delay\", \"sitemap\", \"cosmetic\"]\n")
	}
	return b.String()
}

// patientConfirm is what the daemon of a release last counted with.
const patientConfirm = "[confirm]\nfailures = 10\ninterval = \"1s\"\n"

// releaseConfig is the configuration of a release, without a site if need be.
func releaseConfig(store, receivers, without string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[store]\nurl = %q\n[agents]\nwatch = [\"GPTBot\", \"CCBot\"]\n%s", store, receivers)
	for i, r := range storyOfARelease() {
		if r.host == without {
			continue
		}
		fmt.Fprintf(&b, "[[sites]]\nurl = \"http://%s\"\ntags = [\"t%d\", \"all\"]\n", r.host, i%3)
		if r.host == "still.example" {
			b.WriteString("agents = [\"Googlebot\"]\nschedule = \"@every 2s\"\n")
		}
	}
	return b.String()
}

// output runs a command of the stage that must work.
func (s *stage) output(args ...string) []byte {
	s.t.Helper()
	cmd := program(s.t, s.dir, nil, append([]string{"--config", "config.toml"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v: %v\n%s%s", args, err, out, errs.String())
	}
	return out
}

// rows are lines of JSON.
func rows(t *testing.T, text []byte) (list []map[string]any) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	return list
}

// makeRelease lets a daemon of this version live through the story, and
// writes what it leaves to a directory. PostgreSQL gets a copy of the same.
func makeRelease(t *testing.T, dir, postgres string) {
	t.Helper()
	s, a := newStage(t), newAudience(t)
	past := `{"site":"http://left.example","time":"2026-01-0%dT00:00:00Z","status":200,"body_base64":%q}` + "\n"
	s.write("past.jsonl", fmt.Sprintf(past, 1, base64.StdEncoding.EncodeToString([]byte(noBots.Body)))+
		fmt.Sprintf(past, 5, base64.StdEncoding.EncodeToString([]byte(keepOut.Body))))
	for _, r := range storyOfARelease() {
		s.play(r.host, r.scenes...)
	}
	s.configure(releaseConfig("sqlite:store.db", a.receivers("down"), ""))
	s.output("store", "migrate")
	s.output("backfill", "jsonl", "past.jsonl")
	p := start(t, s.dir).ready()
	eventually(t, "announced.example is known", func() bool { return s.web.Stats("announced.example").Requests > 1 })
	s.output("expect", "http://announced.example", "--agent", "GPTBot", "--until", "3000d", "--note", "ticket 7")
	s.play("announced.example", noBots.For(0))
	for _, r := range storyOfARelease() {
		eventually(t, r.host+" did what it does", func() bool {
			return happened(r, rows(t, s.output(append(tellings["changes.jsonl"], "--site", "http://"+r.host)...)))
		})
	}
	eventually(t, "who can has it", func() bool {
		open := map[string]int{}
		for _, d := range rows(t, s.output(tellings["deliveries.jsonl"]...)) {
			open[fmt.Sprint(d["receiver"], d["status"])]++
		}
		return open["goodpending"] == 0 && open["refusingpending"] == 0 && open["downpending"] > 0 && open["refusingdead"] > 0 && open["summarypending"] > 0
	})
	p.stop()
	// One site leaves, and one says something that is not confirmed for long.
	s.configure(patientConfirm, releaseConfig("sqlite:store.db", a.receivers("down"), "left.example"))
	s.play("doubt.example", simweb.Status(503).For(0))
	p = start(t, s.dir).ready()
	raw := openRaw(t, "sqlite", filepath.Join(s.dir, "store.db"))
	eventually(t, "doubt.example is doubted", func() bool {
		return len(query(t, raw, "SELECT origin FROM sites JOIN observations ON site_id = id WHERE origin LIKE '%doubt%' AND observations.state = 'u'")) == 1
	})
	p.stop()
	for name, args := range tellings {
		keepFile(t, filepath.Join(dir, name), s.output(args...))
	}
	s.output("store", "backup", "whole.db")
	whole, err := os.ReadFile(filepath.Join(s.dir, "whole.db"))
	if err != nil {
		t.Fatal(err)
	}
	keepFile(t, filepath.Join(dir, releaseSQLite), pack(t, whole))
	// Who delivered keeps that right for a while after the end.
	if _, err := raw.ExecContext(t.Context(), "UPDATE receivers SET lease_until = 0"); err != nil {
		t.Fatal(err)
	}
	s.output("store", "copy", "--to", postgres)
	dump, err := exec.Command("pg_dump", "--inserts", "--no-owner", "--no-privileges", postgres).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	keepFile(t, filepath.Join(dir, releasePostgres), pack(t, dump))
}

// happened reports whether all changes of a site are recorded.
func happened(r role, changes []map[string]any) bool {
	var kinds []string
	for _, c := range changes {
		if c["backfilled"] != true {
			kinds = append(kinds, fmt.Sprint(c["kind"]))
		}
	}
	return slices.Equal(kinds, r.events)
}

func keepFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func pack(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpack(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// releaseDir is where this version's release goes: to stay, when
// ROBOTSWATCH_RELEASE names it.
func releaseDir(t *testing.T) string {
	t.Helper()
	name := os.Getenv("ROBOTSWATCH_RELEASE")
	if name == "" {
		return t.TempDir()
	}
	dir := filepath.Join(releasesDir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
