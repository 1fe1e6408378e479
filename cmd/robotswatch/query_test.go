package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/watcher"
)

// "Who blocks GPTBot among my sites, and since when?" by the commands alone.
func TestWhoBlocksWhomAndSinceWhen(t *testing.T) {
	var text atomic.Value
	text.Store("User-agent: *\nDisallow: /private/\n")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text.Load()) }))
	defer site.Close()
	config := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
[store]
url = "sqlite:%s"
[fetch]
allow_private_networks = true
[server]
external_url = "https://robots.example/watch"
[agents]
watch = ["GPTBot", "CCBot"]
[[sites]]
url = "%s"
tags = ["news"]
`, filepath.Join(filepath.Dir(config), "store.db"), site.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		code, out, stderr := runApp(t, "", append([]string{"--config", config}, args...)...)
		if code != exitOK {
			t.Fatalf("%v: exit %d, %s", args, code, stderr)
		}
		return out
	}
	run("run", "--once")
	if out := run("changes", "--format", "json"); out != "" {
		t.Errorf("the first sight of a site is a change: %s", out)
	}
	text.Store("User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nDisallow: /\n")
	run("run", "--once")

	var change watcher.Change
	if err := json.Unmarshal([]byte(run("changes", "--format", "json")), &change); err != nil {
		t.Fatal(err)
	}
	if change.Summary != "GPTBot now blocked" || change.Link != "https://robots.example/watch/changes/"+change.ID {
		t.Errorf("change %+v", change)
	}
	var row accessRow
	if err := json.Unmarshal([]byte(run("access", "--agent", "gptbot/1.2", "--access", "blocked", "--format", "json")), &row); err != nil {
		t.Fatal(err)
	}
	if row.Site != site.URL || row.Agent != "GPTBot" || row.Source != "named" || row.Since == nil || !row.Since.Equal(change.At) || row.Stale {
		t.Errorf("access %+v, want since %v", row, change.At)
	}
	if out := run("access", "--agent", "CCBot", "--access", "blocked", "--format", "csv"); strings.Count(out, "\n") != 1 {
		t.Errorf("CCBot is not blocked anywhere:\n%s", out)
	}
	if out := run("sites", "--tag", "news"); !strings.Contains(out, site.URL) || !strings.Contains(out, "policy") {
		t.Errorf("sites:\n%s", out)
	}
	text.Store("# Hello\n" + text.Load().(string))
	run("run", "--once")
	if all, access := run("changes", "--format", "csv"), run("changes", "--kind", "access", "--format", "csv"); !strings.Contains(all, ",cosmetic,") || strings.Contains(access, ",cosmetic,") {
		t.Errorf("changes:\n%s\nof access:\n%s", all, access)
	}
	// A bare host is the site that is watched, also where that is http.
	bare := strings.TrimPrefix(site.URL, "http://")
	for _, command := range []string{"sites", "access", "changes"} {
		if named, whole := run(command, "--site", bare, "--format", "csv"), run(command, "--site", site.URL, "--format", "csv"); named != whole || strings.Count(named, "\n") < 2 {
			t.Errorf("%s --site %s:\n%s\nand with the scheme\n%s", command, bare, named, whole)
		}
	}
	// What is misspelled is not "nothing found".
	for _, test := range []struct {
		want string
		args []string
	}{
		{`--tag "nwes": no site has it; there are: news`, []string{"sites", "--tag", "nwes"}},
		{`--tag "nwes": no site has it; there are: news`, []string{"access", "--tag", "nwes"}},
		{`--tag "nwes": no site has it; there are: news`, []string{"changes", "--tag", "nwes"}},
		{"https://exmaple.com is not in the store", []string{"sites", "--site", "exmaple.com"}},
		{"https://exmaple.com is not in the store", []string{"access", "--site", "exmaple.com"}},
		{"https://exmaple.com is not in the store", []string{"access", "--site", "exmaple.com", "--at", "2026-05-01"}},
		{"https://exmaple.com is not in the store", []string{"changes", "--site", "exmaple.com"}},
		{"https://exmaple.com is not in the store", []string{"export", "observations", "--site", "exmaple.com"}},
		{"https://exmaple.com is not in the store", []string{"export", "warc", "--site", "exmaple.com"}},
		{"https://exmaple.com is not in the store", []string{"expect", "exmaple.com", "--until", "2d"}},
		{"https://exmaple.com is not in the store", []string{"expect", "exmaple.com", "--list"}},
		{`--at "2999-01-01": is in the future`, []string{"access", "--at", "2999-01-01"}},
		{`--at "2999-01-01": is in the future`, []string{"evidence", "exmaple.com", "--at", "2999-01-01"}},
		{"accepts 1 arg(s), received 0; usage: robotswatch evidence SITE [flags]", []string{"evidence"}},
		{`--agent "GTPBot": unknown`, []string{"changes", "--agent", "GTPBot"}},
		{`--agent "GTPBot": unknown`, []string{"expect", bare, "--agent", "GTPBot", "--until", "2d"}},
	} {
		code, out, stderr := runApp(t, "", append([]string{"--config", config}, test.args...)...)
		if code != exitTrouble || !strings.Contains(stderr, test.want) || out != "" {
			t.Errorf("%v: exit %d, %s%s, want %s", test.args, code, out, stderr, test.want)
		}
	}
	// What is only rare is.
	for _, args := range [][]string{{"changes", "--agent", "Bytespider"}, {"changes", "--agent", "*"}, {"access", "--agent", "AnyBot"}} {
		run(args...)
	}
	if code, _, stderr := runApp(t, "", "--config", config, "access", "--agent", "GPTBot,CCBot"); code != exitTrouble || !strings.Contains(stderr, "product token") {
		t.Errorf("a list as agent: exit %d, %s", code, stderr)
	}
}

// A limit that nobody asked for is for people only, and says what it leaves out.
func TestOnlyTablesAreShortenedUnasked(t *testing.T) {
	for _, tc := range []struct {
		args []string
		rows int
		note string
	}{
		{nil, defaultQueryLimit, "robotswatch: these are the first 1000; --limit 0 shows all\n"},
		{[]string{"--format", "json"}, defaultQueryLimit + 1, ""},
		{[]string{"--format", "csv"}, defaultQueryLimit + 1, ""},
		{[]string{"--limit", "0"}, defaultQueryLimit + 1, ""},
		{[]string{"--limit", "1000"}, defaultQueryLimit, ""},
		{[]string{"--limit", "7", "--format", "csv"}, 7, ""},
	} {
		var note strings.Builder
		var q queryFlags
		cmd := &cobra.Command{}
		q.add(cmd)
		if err := errors.Join(cmd.ParseFlags(tc.args), q.check()); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for range limited(&app{stderr: &note}, &q, func(yield func(int, error) bool) {
			for i := range defaultQueryLimit + 1 {
				if !yield(i, nil) {
					return
				}
			}
		}) {
			rows++
		}
		if rows != tc.rows || note.String() != tc.note {
			t.Errorf("%v: %d rows, note %q; want %d, %q", tc.args, rows, note.String(), tc.rows, tc.note)
		}
	}
}
