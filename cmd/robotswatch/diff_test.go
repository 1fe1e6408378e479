package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const diffOld = "User-agent: *\nDisallow: /tmp/\n"
const diffNew = "User-agent: *\nDisallow: /tmp/\nDisallow: /tmp/x\n\nUser-agent: GPTBot\nDisallow: /\n"

func TestDiffText(t *testing.T) {
	old := writeFile(t, diffOld)
	code, out, stderr := runApp(t, diffNew, "diff", old, "-", "--agent", "GPTBot", "--agent", "FooBot", "--text")
	want := `Access changed: 1 agent may fetch less, of 2 compared.

GPTBot
  partial → blocked (tightened)
  rules: the * group → its own group
  newly disallowed
    /  no rule → Disallow: / (new line 6)

rules
  added Disallow: /tmp/x (new line 3): no effect (covered by line 2, Disallow: /tmp/)

text: 4 lines added, 0 lines removed

@@ -1,2 +1,6 @@
 User-agent: *
 Disallow: /tmp/
+Disallow: /tmp/x
+
+User-agent: GPTBot
+Disallow: /
`
	if code != exitAnswer || out != want {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", code, stderr, out, want)
	}
}

// What the parser of one operator makes of an edit is said once for all of its
// agents.
func TestDiffSaysANoteOnce(t *testing.T) {
	old := writeFile(t, "User-agent: *\nDisallow: /a\n")
	edited := "User-agent: *\nDisallow: /a\nDisallowed: /\n"
	for note, agents := range map[string][]string{
		"note: Googlebot, GoogleOther, each read as its operator does (google): partial → blocked (tightened)\n": {"Googlebot", "GPTBot", "GoogleOther"},
		"note: Googlebot, read as its operator does (google): partial → blocked (tightened)\n":                   {"Googlebot", "GPTBot"},
	} {
		args := []string{"diff", old, "-"}
		for _, a := range agents {
			args = append(args, "--agent", a)
		}
		if code, out, stderr := runApp(t, edited, args...); code != exitOK || strings.Count(out, "note:") != 1 || !strings.Contains(out, note) {
			t.Errorf("exit %d, %s\n%s", code, stderr, out)
		}
	}
}

func TestDiffExitCodes(t *testing.T) {
	old := writeFile(t, diffOld)
	for _, c := range []struct {
		name, stdin string
		args        []string
		code        int
	}{
		{"same", diffOld, []string{old, "-"}, exitOK},
		{"same meaning", "user-agent:*\ndisallow:/tmp/", []string{"-", old}, exitOK},
		{"differs for an agent that only the file names", diffOld + "User-agent: newbot\nDisallow:\n", []string{old, "-"}, exitAnswer},
		{"that agent is not asked about", diffOld + "User-agent: newbot\nDisallow:\n", []string{old, "-", "--agent", "GPTBot"}, exitOK},
		{"all others", diffOld + "User-agent: GPTBot\nDisallow:\n", []string{old, "-", "--agent", "*"}, exitOK},
		{"only a sitemap", diffOld + "Sitemap: https://e.com/s.xml\n", []string{old, "-"}, exitAnswer},
		{"no such file", "", []string{old, old + ".missing"}, exitTrouble},
		{"standard input twice", diffOld, []string{"-", "-"}, exitTrouble},
		{"bad format", diffOld, []string{old, "-", "--format", "yaml"}, exitTrouble},
		{"bad reading", diffOld, []string{old, "-", "--reading", "bing"}, exitTrouble},
		{"one side missing", diffOld, []string{old}, exitTrouble},
	} {
		if code, out, stderr := runApp(t, c.stdin, append([]string{"diff"}, c.args...)...); code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.name, code, c.code, out, stderr)
		}
	}
}

func TestDiffJSON(t *testing.T) {
	old := writeFile(t, diffOld)
	code, out, _ := runApp(t, "", "diff", writeFile(t, ""), old, "--agent", "FooBot", "--format", "json")
	want := `{"schema":"robotswatch.diff/v1","equivalent":false,"agents":[{"agent":"FooBot","direction":"tightened","proven":true,` +
		`"before":{"access":"allowed","source":"default"},"after":{"access":"partial","source":"wildcard"},` +
		`"newly_disallowed":[{"example":"/tmp/","rule":"Disallow: /tmp/","line":2}],"newly_allowed":[]}],` +
		`"signals":[],"crawl_delays":[],"sitemaps":{"added":[],"removed":[]},"text":{"added":2,"removed":0},"agents_compared":1}` + "\n"
	if code != exitAnswer || out != want {
		t.Errorf("exit %d\ngot  %swant %s", code, out, want)
	}
	var report struct{ Unified string }
	_, out, _ = runApp(t, "", "diff", old, writeFile(t, diffNew), "--format", "json", "--text")
	if err := json.Unmarshal([]byte(out), &report); err != nil || !strings.Contains(report.Unified, "\n+User-agent: GPTBot\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// Agents go by the RFC, or all by the reading that is asked for; an operator
// that reads otherwise is noted.
func TestDiffReadings(t *testing.T) {
	old := writeFile(t, diffOld)
	edited := diffOld + "Disallowed: /\n"
	code, out, _ := runApp(t, edited, "diff", old, "-", "--agent", "Googlebot")
	if code != exitOK || !strings.Contains(out, "note: Googlebot, read as its operator does (google): partial → blocked (tightened)\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, _ = runApp(t, edited, "diff", old, "-", "--agent", "GPTBot", "--reading", "google")
	if code != exitAnswer || !strings.Contains(out, "  partial → blocked (tightened)\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
