package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAgentsListsTheCatalogue(t *testing.T) {
	code, out, stderr := runApp(t, "", "agents")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"GPTBot", "@training", "superseded by ClaudeBot", "else as Googlebot"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q", want)
		}
	}

	_, out, _ = runApp(t, "", "agents", "--format", "json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		var entry struct {
			Token, Operator string
			Groups          []string
			HonoursRobots   string `json:"honours_robots"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if entry.Token == "" || entry.Operator == "" || len(entry.Groups) == 0 || entry.HonoursRobots == "" {
			t.Errorf("incomplete: %s", line)
		}
	}
	if len(lines) < 70 {
		t.Errorf("%d lines, want one an agent", len(lines))
	}

	if code, _, stderr := runApp(t, "", "agents", "--format", "xml"); code != exitTrouble || !strings.Contains(stderr, "allowed are table and json") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}
