package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// captured are captures of a site a week apart, as backfill reads them.
func captured(site string, files ...string) string {
	var b strings.Builder
	for i, f := range files {
		fmt.Fprintf(&b, `{"site":"https://%s","time":"2024-05-%02dT12:00:00Z","status":200,"body_base64":"%s"}`+"\n",
			site, 1+7*i, base64.StdEncoding.EncodeToString([]byte(f)))
	}
	return b.String()
}

func TestReplayShowsThenWrites(t *testing.T) {
	db := filepath.Join(t.TempDir(), "test.db")
	config := func(watch string) string {
		return writeFile(t, "[store]\nurl = \"sqlite:"+db+"\"\n[agents]\nwatch = ["+watch+"]\n[[sites]]\nurl = \"example.org\"\n")
	}
	before, after := config(`"GPTBot"`), config(`"GPTBot", "NewBot"`)
	input := captured("example.com", "User-agent: *\nAllow: /\n", "User-agent: *\nDisallow: /\n", "User-agent: NewBot\nDisallow: /\n\nUser-agent: *\nDisallow: /\n",
		"User-agent: *\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n")
	if code, out, stderr := runApp(t, input, "--config", before, "backfill", "jsonl", "-"); code != exitOK {
		t.Fatalf("exit %d\n%s%s", code, out, stderr)
	}
	run := func(config string, want int, args ...string) string {
		t.Helper()
		code, out, stderr := runApp(t, "", append([]string{"--config", config, "replay"}, args...)...)
		if code != want {
			t.Fatalf("replay %v: exit %d, want %d\n%s%s", args, code, want, out, stderr)
		}
		return out
	}
	if out := run(before, exitOK); !strings.HasPrefix(out, "Nothing differs: 3 changes are as they would be told today") {
		t.Errorf("%s", out)
	}
	out := run(after, exitAnswer)
	for _, part := range []string{"https://example.com\n", "different", "agents that it does not speak of: NewBot", "Nothing was written: --write records it."} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing:\n%s", part, out)
		}
	}
	var row replayRow
	if line, _, _ := strings.Cut(run(after, exitAnswer, "--format", "json", "--site", "example.com"), "\n"); json.Unmarshal([]byte(line), &row) != nil ||
		row.Schema != replaySchema || row.Verdict != "different" || row.Stored == nil || row.Now == nil || row.Stored.ID != row.Now.ID || row.Written {
		t.Errorf("%+v", row)
	}
	if out := run(after, exitOK, "--write"); !strings.Contains(out, "All of it was recorded. Nothing was sent.") {
		t.Errorf("%s", out)
	}
	if out := run(after, exitOK, "--write"); !strings.HasPrefix(out, "Nothing differs") {
		t.Errorf("the second time: %s", out)
	}
	if code, _, stderr := runApp(t, "", "--config", after, "replay", "--site", "example.net"); code != exitTrouble || !strings.Contains(stderr, "nothing was seen of https://example.net yet") {
		t.Errorf("a site that nobody looked at: exit %d, %s", code, stderr)
	}
	code, out, _ := runApp(t, "", "--config", after, "changes", "--agent", "NewBot", "--format", "csv")
	if code != exitOK || strings.Count(out, "\n") < 3 {
		t.Errorf("changes of the new agent: exit %d\n%s", code, out)
	}
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runApp(t, "", "--config", after, "replay"); code != exitTrouble || !strings.Contains(stderr, "no store yet") {
		t.Errorf("without a store: exit %d, %s", code, stderr)
	}
}

func TestInertRulesAreListedWithTheirSuccessors(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n\nUser-agent: anthropic-ai\nDisallow: /\n")
	}))
	defer site.Close()
	cfg := storeConfig(t, "[fetch]\nallow_private_networks = true\n[[sites]]\nurl = \""+site.URL+"\"\n")
	if code, _, stderr := runApp(t, "", "--config", cfg, "run", "--once"); code != exitOK {
		t.Fatal(stderr)
	}
	code, out, stderr := runApp(t, "", "--config", cfg, "agents", "--inert", "--format", "csv")
	if code != exitOK || !strings.Contains(out, ",anthropic-ai,4,blocked,ClaudeBot partial,yes\n") {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
	code, out, _ = runApp(t, "", "--config", cfg, "agents", "--inert", "--format", "json")
	if code != exitOK || !strings.Contains(out, `"successors":[{"agent":"ClaudeBot","access":"partial","source":"wildcard","same":false}],"evaded":true`) {
		t.Errorf("exit %d\n%s", code, out)
	}
}
