//go:build !race

// The program of these tests is built without the race detector.

package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// planted secrets, one of each kind; each has this word in it, or in what it
// encodes.
const planted = "pLaNtEd"

// No secret of the configuration shows anywhere: in logs at the most talkative
// level, errors, pages, metrics, answers of the API, or what commands print,
// while receivers refuse, fail and cannot be reached.
func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusForbidden
		if strings.Contains(r.URL.Path, "later") {
			code = http.StatusBadGateway
		}
		http.Error(w, "you said "+r.URL.String()+r.Header.Get("Authorization"), code)
	}))
	defer refusing.Close()
	host := strings.TrimPrefix(refusing.URL, "http://")
	key := base64.StdEncoding.EncodeToString([]byte(planted + planted + planted + planted))
	receivers := strings.NewReplacer("[[receivers]]", "[[receivers]]\ngroup_wait = \"0\"", "HOST", host, "SECRET", planted, "KEY", key).Replace(`
[[receivers]]
name = "slack-webhook"
type = "slack"
webhook_url = "http://HOST/services/SECRET1"
[[receivers]]
name = "slack-unreachable"
type = "slack"
webhook_url = "http://127.0.0.1:1/services/SECRET2?token=SECRET3"
[[receivers]]
name = "slack-token"
type = "slack"
token = "xoxb-SECRET4"
channel = "#policy"
api_url = "http://HOST/api/"
[[receivers]]
name = "hook"
type = "webhook"
url = "http://user:SECRET5@HOST/later/SECRET6?k=SECRET7"
secret = "whsec_KEY"
[[receivers]]
name = "hook-gone"
type = "webhook"
url = "http://gone.invalid/SECRET9"
[[receivers]]
name = "shouting"
type = "shoutrrr"
urls = ["generic+http://HOST/SECRET10?disabletls=yes", "gotify://HOST/ASECRET11aa?disabletls=yes", "smtp://user:SECRET13@127.0.0.1:1/?from=a@example.com&to=b@example.com"]
[[receivers]]
name = "pager"
type = "alertmanager"
url = "http://user:SECRET14@HOST/SECRET15"
`)
	s := newScene(t, receivers)
	dir := t.TempDir()
	var seen, safe bytes.Buffer // what commands print; the daemon's log
	command := func(args ...string) *exec.Cmd {
		cmd := program(t, dir, nil, append([]string{"--config", s.config, "--log-level", "debug"}, args...)...)
		cmd.Stdout, cmd.Stderr = &seen, &seen
		return cmd
	}
	quick := func(args ...string) {
		fmt.Fprintf(&seen, "\n$ robotswatch %s\n", strings.Join(args, " "))
		_ = command(args...).Run() // some of them fail, as they shall
	}
	s.play("User-agent: *\nAllow: /\nUser-agent: GPTBot\nDisallow: /\n")
	daemon := program(t, dir, nil, "--config", s.config, "--log-level", "debug", "--log-format", "json", "run")
	logs, err := daemon.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(io.TeeReader(logs, &safe))
	address := ""
	for address == "" && lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "robotswatch is running" {
			address = line.Address
		}
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		for lines.Scan() {
		}
	}()
	page := func(path string) string {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return fmt.Sprintf("\nGET %s: %s\n%s", path, resp.Status, body)
	}
	s.run("run", "--once") // refused: the store is in use; shows nothing either
	quick("config", "show")
	quick("config", "check")
	quick("notify", "test")
	failing := regexp.MustCompile(`robotswatch_deliveries_total\{receiver="(pager|hook-gone|shouting|slack-token)",result="(retried|dead)"\} [1-9]`)
	within(t, 30*time.Second, "the daemon tries all receivers", func() bool { return len(failing.FindAllString(page("/metrics"), -1)) == 4 })
	for _, path := range []string{"/", "/sites", "/sites/news.example?scheme=http", "/changes", "/agents", "/metrics", "/api/v1/sites", "/api/v1/changes", "/feed.atom", "/-/ready"} {
		seen.WriteString(page(path))
	}
	quick("deliveries")
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-logged
	_ = daemon.Wait()
	seen.Write(safe.Bytes())
	quick("run", "--once")
	quick("deliveries", "--format", "json")
	quick("changes", "--format", "json")

	text := seen.String()
	for _, must := range []string{"slack-token", "hook-gone", "shouting", "pager", "GPTBot now blocked"} {
		if !strings.Contains(text, must) {
			t.Errorf("the run shows nothing of %q, so it proves nothing", must)
		}
	}
	where := regexp.MustCompile(`(?i).{0,120}(` + planted + `|` + regexp.QuoteMeta(key[:12]) + `).{0,60}`)
	for _, hit := range where.FindAllString(text, 10) {
		t.Errorf("a secret shows: %s", hit)
	}
}
