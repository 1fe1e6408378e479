package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/robots"
)

func TestLintListsWhatWasNotMeant(t *testing.T) {
	const file = "User-agent: *\nCrawl-delay: 10\nUser-agent: badbot\nDisallow: /\nDisallow: /a\n"
	code, out, stderr := runApp(t, file, "lint", "-")
	const want = "-:2: this line does not end the list of User-agent lines: the rules below also apply to the agents above; that is one group for *, badbot [groups-joined, RFC 9309 2.2.4]\n" +
		"-:5: Disallow: /a adds nothing to Disallow: / in line 4 [rule-without-effect, RFC 9309 2.2.2]\n"
	if code != exitAnswer || out != want || stderr != "" {
		t.Errorf("exit %d, %q, stderr %q; want %q", code, out, stderr, want)
	}
	code, out, _ = runApp(t, "User-agent: anthropic-ai\nDisallow: /\n", "lint", "-", "--format", "json")
	const object = `{"schema":"robotswatch.lint/v1","source":"-","line":1,"code":"token-superseded","reason":"Anthropic goes by ClaudeBot now, no longer by anthropic-ai; the file has no group for ClaudeBot"}` + "\n"
	if code != exitAnswer || out != object {
		t.Errorf("exit %d, %s; want %s", code, out, object)
	}
	code, out, stderr = runApp(t, "User-agent: *\nDisallow: /private/\n", "lint", "-")
	if code != exitOK || out != "" || stderr != "" {
		t.Errorf("nothing to say: exit %d, %q, stderr %q", code, out, stderr)
	}
}

func TestLintSaysThatAFileIsTooLong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "robots.txt")
	body := "User-agent: *\nDisallow: /a\n" + strings.Repeat("#", robots.DefaultMaxBytes) + "\nDisallow: /b\n"
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := runApp(t, "", "lint", name)
	if code != exitAnswer || !strings.Contains(out, ":2: the file goes on after this line") {
		t.Errorf("exit %d, %q", code, out)
	}
}

func TestLintTroubleIsExit2(t *testing.T) {
	for _, args := range [][]string{{}, {"no-such-file"}, {"-", "--format", "xml"}, {"a", "b"}} {
		if code, out, stderr := runApp(t, "", append([]string{"lint"}, args...)...); code != exitTrouble || out != "" || stderr == "" {
			t.Errorf("%q: exit %d, %q, stderr %q", args, code, out, stderr)
		}
	}
}
