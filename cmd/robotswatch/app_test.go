package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// runApp runs one command line in this process.
func runApp(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
	code = a.main(context.Background(), args)
	return code, out.String(), errs.String()
}

func TestUsageErrorsExitWith2AndSayWhatIsAllowed(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"nonsense"}, `unknown command "nonsense"`},
		{[]string{"version", "--log-format", "xml"}, "allowed are text, json and journal"},
		{[]string{"version", "--log-level", "loud"}, "allowed are debug, info, warn and error"},
		{[]string{"explain", "FILE", "/", "--agent", "GPTBot", "--agent", "CCBot"}, `"--agent" flag: it is there twice`},
		{[]string{"access", "--site", "a.example", "--site=b.example"}, `"--site" flag: it is there twice`},
		{[]string{"changes", "--limit", "5", "--limit=50"}, `"--limit" flag: it is there twice`},
		{nil, "a command is missing"},
		{[]string{"config"}, "a command is missing"},
		{[]string{"config", "chek"}, `unknown command "chek"`},
		{[]string{"notify", "tset"}, `unknown command "tset"`},
		{[]string{"backfill", "json", "FILE"}, `unknown command "json"`},
		{[]string{"store", "cpy"}, `unknown command "cpy"`},
		{[]string{"version", "extra"}, "extra"},
	} {
		code, _, stderr := runApp(t, "", tc.args...)
		if code != exitTrouble || !strings.Contains(stderr, tc.want) {
			t.Errorf("%v: exit %d, stderr %q; want exit 2 and %q", tc.args, code, stderr, tc.want)
		}
	}
}

// A switch is shown as one: --once, not --once[=true|false].
func TestHelpShowsSwitches(t *testing.T) {
	code, out, _ := runApp(t, "", "run", "--help")
	if code != exitOK || !strings.Contains(out, "--once  ") || !strings.Contains(out, "--help  ") {
		t.Errorf("exit %d, output %s", code, out)
	}
}

func TestVersionNamesTheProgram(t *testing.T) {
	code, out, _ := runApp(t, "", "version")
	if code != exitOK || !strings.HasPrefix(out, "robotswatch ") {
		t.Errorf("exit %d, output %q", code, out)
	}
}
