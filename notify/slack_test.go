package notify_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/secret"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/notify/slacktest"
	"github.com/robotswatch/robotswatch/watcher"
)

func newSlack(t *testing.T) *slacktest.Server {
	s := slacktest.New()
	t.Cleanup(func() {
		s.Close()
		for _, p := range s.Problems() {
			t.Errorf("Slack refused: %s", p)
		}
	})
	return s
}

func byToken(s *slacktest.Server) notify.ReceiverConfig {
	return notify.ReceiverConfig{Name: "slack", To: notify.SlackConfig{
		Token: secret.New(slacktest.Token), Channel: "#policy", APIURL: s.APIURL()}}
}

func byWebhook(s *slacktest.Server) notify.ReceiverConfig {
	return notify.ReceiverConfig{Name: "slack", To: notify.SlackConfig{
		WebhookURL: secret.New(s.WebhookURL())}}
}

// messages waits until the server has n.
func messages(t *testing.T, s *slacktest.Server, n int) []slacktest.Message {
	t.Helper()
	for len(s.Messages()) < n {
		await(t, s.Arrived(), fmt.Sprintf("message %d of %d", len(s.Messages())+1, n))
	}
	return s.Messages()
}

func TestSlackByWebhook(t *testing.T) {
	w, s := newWorld(t, 3), newSlack(t)
	d := w.dispatcher(byWebhook(s))
	defer w.run(d)()
	w.record(blocks(0, "GPTBot", "CCBot"))
	d.Poke()
	shown := messages(t, s, 1)[0].Shown()
	for _, want := range []string{
		"GPTBot, CCBot now blocked on site0.example", "<https://robots.example/sites/site0.example|site0.example>",
		"before: allowed (by \\*", "after: blocked (by name)", "line 12: `Disallow: /`", "https://robots.example/changes/01TEST",
	} {
		if !strings.Contains(strings.ReplaceAll(shown, "*\u2060", "\\*"), want) {
			t.Errorf("the message lacks %q:\n%s", want, shown)
		}
	}
}

func withTexts(t *testing.T, w *world, site int, before, after string) watcher.Change {
	t.Helper()
	c := blocks(site, "GPTBot")
	c.BeforeSHA256, c.AfterSHA256 = w.body(site, before), w.body(site, after)
	return c
}

func TestSlackThreadHasTheTextDiff(t *testing.T) {
	w, s := newWorld(t, 3), newSlack(t)
	d := w.dispatcher(byToken(s))
	defer w.run(d)()
	w.record(withTexts(t, w, 0, "User-agent: *\nAllow: /\n", "User-agent: GPTBot\nDisallow: /<!channel>\n"))
	d.Poke()
	got := messages(t, s, 2)
	if got[1].Thread != got[0].TS {
		t.Fatalf("the second message is in thread %q, want %q", got[1].Thread, got[0].TS)
	}
	for _, want := range []string{"-Allow: /", "+Disallow: /&lt;!channel&gt;"} {
		if !strings.Contains(got[1].Text, want) {
			t.Errorf("the diff lacks %q: %s", want, got[1].Text)
		}
	}
}

func TestSlackGetsALongDiffAsASnippet(t *testing.T) {
	w, s := newWorld(t, 3), newSlack(t)
	d := w.dispatcher(byToken(s))
	defer w.run(d)()
	var long strings.Builder
	for i := 0; long.Len() < 1<<20; i++ {
		fmt.Fprintf(&long, "Disallow: /%d\n", i)
	}
	w.record(withTexts(t, w, 0, "User-agent: *\n", "User-agent: *\n"+long.String()))
	d.Poke()
	got := messages(t, s, 2)
	if got[1].Thread != got[0].TS || !strings.Contains(got[1].File, "+Disallow: /77\n") {
		t.Errorf("no file with the diff in the thread: %.200s %.200s", got[1].Text, got[1].File)
	}
	if n := len(got[1].File); n > 600<<10 {
		t.Errorf("a file of %d octets", n)
	}
	// Without the right to upload it comes cut, as a message.
	s.Fault(func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "files.") {
			return false
		}
		rw.Write([]byte(`{"ok":false,"error":"missing_scope"}`))
		return true
	})
	w.record(withTexts(t, w, 1, "User-agent: *\n", "User-agent: *\n"+long.String()))
	d.Poke()
	got = messages(t, s, 4)
	if !strings.Contains(got[3].Text, "+Disallow: /7\n") || !strings.Contains(got[3].Text, "…") {
		t.Errorf("no cut diff: %.300s", got[3].Text)
	}
}

func TestSlackOutageMessageIsUpdatedWhenItEnds(t *testing.T) {
	w, s := newWorld(t, 3), newSlack(t)
	d := w.dispatcher(byToken(s))
	defer w.run(d)()
	w.record(stateful(0, fetch.Policy, fetch.Unreachable, watcher.Critical))
	d.Poke()
	messages(t, s, 1)
	w.record(stateful(0, fetch.Unreachable, fetch.Policy, watcher.Warning))
	d.Poke()
	got := messages(t, s, 2)
	for got[0].Updates == 0 {
		await(t, s.Arrived(), "update")
		got = s.Messages()
	}
	if shown := got[0].Shown(); !strings.Contains(shown, "Over: site0.example: robots.txt unreachable") || !strings.Contains(shown, "Over since") {
		t.Errorf("the outage message now says %q", shown)
	}
	if !strings.Contains(got[1].Shown(), "site0.example: robots.txt readable again") {
		t.Errorf("the recovery says %q", got[1].Shown())
	}
}

func TestSlackErrors(t *testing.T) {
	answer := func(status int, body string, head ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(rw http.ResponseWriter, r *http.Request) bool {
			for i := 0; i < len(head); i += 2 {
				rw.Header().Set(head[i], head[i+1])
			}
			rw.WriteHeader(status)
			rw.Write([]byte(body))
			return true
		}
	}
	for _, tc := range []struct {
		name      string
		config    func(*slacktest.Server) notify.ReceiverConfig
		fault     func(http.ResponseWriter, *http.Request) bool
		permanent bool
		after     time.Duration
	}{
		{"webhook gone", byWebhook, answer(404, "no_service"), true, 0},
		{"webhook failing", byWebhook, answer(503, ""), false, 0},
		{"webhook limited", byWebhook, answer(429, "", "Retry-After", "17"), false, 17 * time.Second},
		{"limited", byToken, answer(429, "", "Retry-After", "30"), false, 30 * time.Second},
		{"bad token", byToken, answer(200, `{"ok":false,"error":"invalid_auth"}`), true, 0},
		{"no channel", byToken, answer(200, `{"ok":false,"error":"channel_not_found"}`), true, 0},
		{"trouble inside", byToken, answer(200, `{"ok":false,"error":"internal_error"}`), false, 0},
		{"no JSON", byToken, answer(200, `<html>`), false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := slacktest.New()
			defer s.Close()
			s.Fault(tc.fault)
			err := sendTo(t, tc.config(s))
			se, ok := err.(*notify.SendError)
			if !ok {
				t.Fatalf("error %v, want a SendError", err)
			}
			if se.Permanent != tc.permanent || se.RetryAfter != tc.after {
				t.Errorf("permanent %v, after %v; want %v, %v (%v)", se.Permanent, se.RetryAfter, tc.permanent, tc.after, err)
			}
			for _, secret := range []string{"slacktest-webhook", slacktest.Token} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
		})
	}
}

// sendTo sends a test message to a receiver.
func sendTo(t *testing.T, c notify.ReceiverConfig) error {
	t.Helper()
	c.AllowPrivate = true
	targets, err := notify.Targets([]notify.ReceiverConfig{c}, notify.Means{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = targets[0].Sender.Send(ctx, notify.TestMessage(time.Now(), notify.Links{}))
	return err
}
