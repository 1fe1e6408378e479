package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/notify/slacktest"
)

// scene is a configuration with one site behind a simulated web.
type scene struct {
	t      *testing.T
	web    *simweb.Web
	config string
}

func newScene(t *testing.T, receivers string) *scene {
	t.Helper()
	web, err := simweb.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir := t.TempDir()
	s := &scene{t: t, web: web, config: filepath.Join(dir, "config.toml")}
	s.play("User-agent: *\nAllow: /\n")
	text := fmt.Sprintf(`
[store]
url = "sqlite:%s"
[schedule]
default = "@every 1s"
[server]
listen = "127.0.0.1:0"
[fetch]
proxy = "%s"
allow_private_networks = true
[agents]
watch = ["GPTBot", "CCBot"]
[[sites]]
url = "http://news.example"
%s`, filepath.Join(dir, "test.db"), web.ProxyURL(), receivers)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.once()
	return s
}

// play makes the site answer so from now on.
func (s *scene) play(robots string) { s.web.Set("news.example", simweb.Text(robots)) }

// run gives a command its configuration.
func (s *scene) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	return runApp(s.t, "", append([]string{"--config", s.config}, args...)...)
}

func (s *scene) want(code int, args ...string) string {
	s.t.Helper()
	got, out, errs := s.run(args...)
	if got != code {
		s.t.Fatalf("%v: exit %d, want %d\n%s%s", args, got, code, out, errs)
	}
	return out
}

func (s *scene) once() { s.t.Helper(); s.want(exitOK, "run", "--once", "--log-level", "error") }

func TestDeadDeliveriesAreListedRetriedAndDropped(t *testing.T) {
	var status atomic.Int64
	status.Store(http.StatusGone)
	var got atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(int(status.Load()))
		got.Add(1)
	}))
	defer hook.Close()
	s := newScene(t, fmt.Sprintf("[[receivers]]\nname = \"hook\"\ntype = \"webhook\"\nurl = %q\n[[receivers]]\nname = \"quiet\"\ntype = \"log\"\nkinds = [\"sitemap\"]\nmin_severity = \"info\"\n", hook.URL))
	if out := s.want(exitOK, "deliveries"); strings.Contains(out, "hook") {
		t.Errorf("a baseline is delivered: %s", out)
	}
	s.play("User-agent: *\nAllow: /\nUser-agent: GPTBot\nDisallow: /\n")
	s.once()
	out := s.want(exitOK, "deliveries", "--dead")
	for _, want := range []string{"hook", "dead", "http://news.example", "GPTBot now blocked", "answered 410 Gone"} {
		if !strings.Contains(out, want) {
			t.Errorf("the list lacks %q:\n%s", want, out)
		}
	}
	var row struct {
		ID       int64
		Receiver string
		Status   string
		Error    string
	}
	if err := json.Unmarshal([]byte(s.want(exitOK, "deliveries", "--format", "json")), &row); err != nil || row.Status != "dead" {
		t.Errorf("%+v, %v", row, err)
	}

	status.Store(http.StatusOK)
	// A name or number that there is not is no "0 deliveries".
	for _, args := range [][]string{{"--retry"}, {"--drop"}, {}} {
		code, _, stderr := s.run(append([]string{"deliveries", "--receiver", "hock"}, args...)...)
		if code != exitTrouble || !strings.Contains(stderr, `--receiver "hock": there is none of that name; there are: hook, quiet`) {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
		code, _, stderr = s.run(append([]string{"deliveries", "4711"}, args...)...)
		if code != exitTrouble || !strings.Contains(stderr, "there is no delivery 4711") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
	if out := s.want(exitOK, "deliveries", "--retry", "--receiver", "quiet"); out != "0 deliveries to be tried again\n" {
		t.Errorf("%q", out)
	}
	if out := s.want(exitOK, "deliveries", "--retry", "--receiver", "hook"); out != "1 delivery to be tried again\n" {
		t.Errorf("%q", out)
	}
	s.once()
	if n := got.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	if out := s.want(exitOK, "deliveries", "--format", "json"); out != "" {
		t.Errorf("left: %s", out)
	}
	if code, _, stderr := s.run("deliveries", fmt.Sprint(row.ID), "--retry"); code != exitTrouble || !strings.Contains(stderr, "was sent") {
		t.Errorf("what was sent: exit %d, %s", code, stderr)
	}

	status.Store(http.StatusNotFound)
	s.play("User-agent: *\nDisallow: /\n")
	s.once()
	if out := s.want(exitOK, "deliveries", "--drop"); out != "1 delivery dropped\n" {
		t.Errorf("%q", out)
	}
	for _, args := range [][]string{{"deliveries", "--retry", "--drop"}, {"deliveries", "seven"}, {"deliveries", "--format", "xml"}} {
		if code, _, stderr := s.run(args...); code != exitTrouble || stderr == "" {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
}

func TestExpectedChangesAreRecordedAndNotSent(t *testing.T) {
	slack := slacktest.New()
	defer slack.Close()
	s := newScene(t, fmt.Sprintf("[[receivers]]\nname = \"policy\"\ntype = \"slack\"\nwebhook_url = %q\n", slack.WebhookURL()))
	out := s.want(exitOK, "expect", "http://news.example", "--agent", "gptbot", "--until", "2d", "--note", "relaunch, ticket 7")
	if !strings.Contains(out, "1: changes of http://news.example for GPTBot alert nobody until 20") {
		t.Errorf("%q", out)
	}
	if out := s.want(exitOK, "expect", "--list"); !strings.Contains(out, "relaunch, ticket 7") {
		t.Errorf("the list is %q", out)
	}
	s.play("User-agent: *\nAllow: /\nUser-agent: GPTBot\nDisallow: /\n")
	s.once()
	if out := s.want(exitOK, "changes", "--format", "json"); !strings.Contains(out, `"expected":"relaunch, ticket 7"`) {
		t.Errorf("the change is not marked: %s", out)
	}
	if n := len(slack.Messages()); n != 0 {
		t.Errorf("%d messages about what was expected", n)
	}
	// Another agent was not announced.
	s.play("User-agent: *\nAllow: /\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n")
	s.once()
	if n := len(slack.Messages()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	s.want(exitOK, "expect", "--drop", "1")
	if out := s.want(exitOK, "expect", "--list"); strings.Contains(out, "relaunch") {
		t.Errorf("still there: %s", out)
	}
	for _, args := range [][]string{
		{"expect"}, {"expect", "http://news.example"}, {"expect", "http://news.example", "--until", "2020-01-01"},
		{"expect", "http://other.example", "--until", "1d"}, {"expect", "--drop", "1"}, {"expect", "--drop", "x"},
	} {
		if code, _, stderr := s.run(args...); code != exitTrouble || stderr == "" {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
}

func TestNotifyTestSaysWhatCameBack(t *testing.T) {
	slack := slacktest.New()
	defer slack.Close()
	s := newScene(t, fmt.Sprintf(`
[[receivers]]
name = "good"
type = "slack"
token = %q
channel = "#policy"
api_url = %q
[[receivers]]
name = "bad"
type = "slack"
token = "xoxb-planted"
channel = "#policy"
api_url = %q
`, slacktest.Token, slack.APIURL(), slack.APIURL()))
	out := s.want(exitAnswer, "notify", "test")
	for _, want := range []string{"good", "sent in", "bad", "failed: slack: invalid_auth"} {
		if !strings.Contains(out, want) {
			t.Errorf("the answer lacks %q:\n%s", want, out)
		}
	}
	s.want(exitOK, "notify", "test", "--receiver", "good")
	if n := len(slack.Messages()); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
	if code, _, stderr := s.run("notify", "test", "--receiver", "none"); code != exitTrouble || !strings.Contains(stderr, "good, bad") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func TestNotifyTestSaysWhatAllowsAnAddress(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.toml")
	keepFile(t, config, []byte("[[sites]]\nurl = \"https://example.com\"\n"+hook("near", "http://127.0.0.1:1/")+"allow_private_networks = false\n"))
	code, out, _ := runApp(t, "", "--config", config, "notify", "test")
	if code != exitAnswer || !strings.Contains(out, "loopback; allow_private_networks = true in this receiver allows it") {
		t.Errorf("exit %d, %s", code, out)
	}
}
