package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
)

const explainFile = `User-agent: GPTBot
User-agent: AI2Bot
Disallow: /
Allow: /open

User-agent: *
Disallow: /private/
`

func TestExplainSaysWhichRuleDecides(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"/x", "--agent", "gptbot"}, exitAnswer, "/x  disallowed for GPTBot: line 3, Disallow: / (group for gptbot, line 1)\n"},
		{[]string{"/x", "--agent", "GPTBot/1.2"}, exitAnswer, "/x  disallowed for GPTBot: line 3, Disallow: / (group for gptbot, line 1)\n"},
		{[]string{"/open/1", "--agent", "GPTBot"}, exitOK, "/open/1  allowed for GPTBot: line 4, Allow: /open (group for gptbot, line 1)\n"},
		{[]string{"/", "--agent", "FooBot"}, exitOK, "/  allowed for FooBot: no rule matches (group for *, line 6)\n"},
		{[]string{"/robots.txt", "--agent", "GPTBot"}, exitOK, "/robots.txt  allowed for GPTBot: /robots.txt always is (RFC 9309, 2.2.2)\n"},
		{[]string{"https://e.com/private/a?b#c", "--agent", "*"}, exitAnswer, "/private/a?b  disallowed for *: line 7, Disallow: /private/ (group for *, line 6)\n"},
		{[]string{"/a", "/private/\u202e", "--agent", "FooBot"}, exitAnswer,
			"/a  allowed for FooBot: no rule matches (group for *, line 6)\n/private/\\u{202e}  disallowed for FooBot: line 7, Disallow: /private/ (group for *, line 6)\n"},
		{[]string{"/x", "--agent", "AI2Bot", "--reading", "google"}, exitOK, "/x  allowed for AI2Bot: no rule matches (group for *, line 6)\n"},
	} {
		code, out, stderr := runApp(t, explainFile, append([]string{"explain", "-"}, c.args...)...)
		if code != c.code || out != c.want {
			t.Errorf("%q: exit %d, %q %s; want exit %d, %q", c.args, code, out, stderr, c.code, c.want)
		}
	}
	if code, out, _ := runApp(t, "", "explain", "-", "/x", "--agent", "a"); code != exitOK || !strings.Contains(out, "no group applies") {
		t.Errorf("empty file: exit %d, %q", code, out)
	}
}

func TestExplainPrintsOneObjectAPath(t *testing.T) {
	code, out, _ := runApp(t, explainFile, "explain", "-", "/a", "/open", "--agent", "GPTBot", "--format", "json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitAnswer || len(lines) != 2 {
		t.Fatalf("exit %d, %q", code, out)
	}
	const want = `{"schema":"robotswatch.explain/v1","agent":"GPTBot","path":"/a","allowed":false,"rule":"Disallow: /","line":3,` +
		`"source":"named","group":"gptbot","group_lines":[1],"reading":"rfc9309"}`
	if lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
	_, out, _ = runApp(t, explainFile, "explain", "-", "/a", "--agent", "x", "--format", "json")
	if !strings.Contains(out, `"rule":null,"line":null,"source":"wildcard"`) {
		t.Errorf("got %s", out)
	}
}

func TestExplainSaysWhenTheOperatorReadsOtherwise(t *testing.T) {
	const file = "User-agent: Googlebot\nDisallowed: /\n"
	code, out, _ := runApp(t, file, "explain", "-", "/x", "--agent", "Googlebot")
	if code != exitOK || !strings.Contains(out, "note: by its operator's own reading (google) the path is disallowed") {
		t.Errorf("exit %d, %q", code, out)
	}
}

func TestExplainRefusesWhatItCannotUnderstand(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-", "/x"}, `"agent" not set`},
		{[]string{"-", "--agent", "a"}, "at least 2 arg"},
		{[]string{"-", "x", "--agent", "a"}, "must begin with a slash"},
		{[]string{"-", "/x", "--agent", "@ai"}, "one product token"},
		{[]string{"-", "/x", "--agent", ""}, "one product token"},
		{[]string{"-", "/x", "--agent", "a", "--reading", "bing"}, "allowed are rfc9309 and google"},
		{[]string{"-", "/x", "--agent", "a", "--format", "xml"}, "allowed are text and json"},
		{[]string{"no-such-file", "/x", "--agent", "a"}, "no such file"},
	} {
		code, out, stderr := runApp(t, "", append([]string{"explain"}, c.args...)...)
		if code != exitTrouble || out != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %q, stderr %q; want exit 2 and %q", c.args, code, out, stderr, c.want)
		}
	}
}

// The conformance cases, asked as anybody would ask them: of the binary.
func TestExplainConformanceThroughTheBinary(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "robots.txt")
	for _, c := range realdata.Conformance(t) {
		if err := os.WriteFile(file, c.Robots, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := program(t, dir, nil, "explain", file, c.URL, "--agent", c.Agent, "--format", "json")
		out, err := cmd.Output()
		var got explanation
		if jsonErr := json.Unmarshal(out, &got); jsonErr != nil {
			t.Errorf("%s: %v %v: %s", c.ID, err, jsonErr, out)
			continue
		}
		code := exitOK
		if !c.Allowed {
			code = exitAnswer
		}
		if got.Allowed != c.Allowed || cmd.ProcessState.ExitCode() != code {
			t.Errorf("%s (%s): allowed %v, exit %d; want %v", c.ID, c.Note, got.Allowed, cmd.ProcessState.ExitCode(), c.Allowed)
		}
	}
}
