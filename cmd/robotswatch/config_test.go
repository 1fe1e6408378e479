package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigCheckReportsEveryMistake(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.toml"), filepath.Join(dir, "bad.toml")
	files := map[string]string{
		good:                            "[[sites]]\nurl = \"example.com\"\n[[site_files]]\npath = \"sites.txt\"\n",
		filepath.Join(dir, "sites.txt"): "example.org\nexample.net\n",
		bad:                             "[agents]\nwatch = [\"@ai\", \"@robots\", \"ChatGPT Agent\"]\n[fetch]\ntimeout = \"soon\"\n",
	}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	code, out, stderr := runApp(t, "", "config", "check", good)
	if want := good + " is fine: 3 sites, 0 receivers\n"; code != exitOK || out != want || stderr != "" {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}

	code, out, _ = runApp(t, "", "config", "check", bad)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitAnswer || len(lines) != 3 {
		t.Fatalf("exit %d, %q", code, out)
	}
	for i, want := range []string{
		`:2:17: agents.watch: "@robots" is not a group of agents; groups are @ai`,
		`:2:28: agents.watch: "ChatGPT Agent" is not a product token`,
		`:4:11: fetch.timeout: "soon" is not a duration`,
	} {
		if !strings.HasPrefix(lines[i], bad+want) {
			t.Errorf("got %s, want %s%s...", lines[i], bad, want)
		}
	}

	if code, _, stderr := runApp(t, "", "config", "check", filepath.Join(dir, "none.toml")); code != exitTrouble || !strings.Contains(stderr, "none.toml") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// What the daemon would not start with is a mistake here already.
func TestConfigCheckKnowsServicesAndWebConfigurations(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	for name, content := range map[string]string{
		"config.toml": "[server]\nweb_config = \"web.yml\"\n[[receivers]]\nname = \"people\"\ntype = \"shoutrrr\"\nurls = [\"ntfy://ntfy.sh/topic\", \"nfty://geheim@ntfy.sh/topic\"]\n",
		"web.yml":     "basic_auth_user:\n  a: b\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, _ := runApp(t, "", "config", "check", path)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitAnswer || len(lines) != 2 || strings.Contains(out, "geheim") {
		t.Fatalf("exit %d, %q", code, out)
	}
	for i, want := range []string{":2:14: server.web_config: " + filepath.Join(dir, "web.yml") + ": yaml: unmarshal errors: line 1: field basic_auth_user not found", `:6:33: receivers.urls: "nfty" is not a service; there are `} {
		if !strings.HasPrefix(lines[i], path+want) {
			t.Errorf("got %s, want %s%s...", lines[i], path, want)
		}
	}
}

func TestConfigShowFillsInDefaultsAndMasksSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("[server]\nadmin_token = \"geheim\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := runApp(t, "", "--config", path, "config", "show")
	if code != exitOK || strings.Contains(out, "geheim") || !strings.Contains(out, "admin_token = \"********\"") || !strings.Contains(out, "timeout = \"30s\"") {
		t.Errorf("exit %d, %s", code, out)
	}
}
