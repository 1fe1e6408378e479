package notify_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/robotswatch/robotswatch/internal/secret"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	newSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

func webhookTo(url string, secrets ...string) notify.ReceiverConfig {
	to := notify.WebhookConfig{URL: secret.New(url)}
	for _, s := range secrets {
		to.Secrets = append(to.Secrets, secret.New(s))
	}
	return notify.ReceiverConfig{Name: "hook", To: to}
}

// The signature is verified by the specification's own library, also by who
// still has the old secret.
func TestWebhookSignature(t *testing.T) {
	w, e := newWorld(t, 1), newEndpoint(t, nil)
	d := w.dispatcher(webhookTo(e.URL, newSecret, oldSecret))
	defer w.run(d)()
	want := w.record(blocks(0, "GPTBot"))[0]
	d.Poke()
	await(t, e.got, "request")
	heads, bodies := e.requests()
	for _, secret := range []string{newSecret, oldSecret} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(bodies[0], heads[0]); err != nil {
			t.Errorf("signature for %s: %v", secret, err)
		}
		if err := verifier.Verify(append(bodies[0], ' '), heads[0]); err == nil {
			t.Error("a changed body is accepted")
		}
	}
	got := decode[watcher.Change](t, bodies[0])
	if got.ID != want.ID || got.Schema != "robotswatch.change/v1" || heads[0].Get("webhook-id") != want.ID {
		t.Errorf("id %q, schema %q, header %q", got.ID, got.Schema, heads[0].Get("webhook-id"))
	}
	if got.Link != "https://robots.example/changes/"+want.ID || heads[0].Get("Content-Type") != "application/json" {
		t.Errorf("link %q, type %q", got.Link, heads[0].Get("Content-Type"))
	}
}

func TestWebhookIsRepeatedUnderTheSameID(t *testing.T) {
	e := newEndpoint(t, func(n int, w http.ResponseWriter) {
		if n < 2 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	w := newWorld(t, 1)
	d := w.dispatcher(webhookTo(e.URL, newSecret))
	defer w.run(d)()
	w.record(blocks(0, "GPTBot"))
	d.Poke()
	for range 3 {
		await(t, e.got, "attempt")
	}
	heads, bodies := e.requests()
	for i := range heads {
		if heads[i].Get("webhook-id") != heads[0].Get("webhook-id") || string(bodies[i]) != string(bodies[0]) {
			t.Errorf("attempt %d differs from the first", i)
		}
	}
}

func TestWebhookAnswers(t *testing.T) {
	for _, tc := range []struct {
		status    int
		header    string
		permanent bool
		after     time.Duration
	}{
		{400, "", true, 0}, {401, "", true, 0}, {403, "", true, 0}, {404, "", true, 0}, {410, "", true, 0}, {499, "", true, 0},
		{408, "", false, 0}, {429, "60", false, time.Minute}, {500, "", false, 0}, {503, "999999", false, time.Hour},
		{302, "", false, 0}, // where to is not what the configuration says
	} {
		e := newEndpoint(t, func(_ int, w http.ResponseWriter) {
			if tc.header != "" {
				w.Header().Set("Retry-After", tc.header)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tc.status)
		})
		err := sendTo(t, webhookTo(e.URL+"/hidden-path"))
		se, ok := err.(*notify.SendError)
		if !ok || se.Permanent != tc.permanent || se.RetryAfter != tc.after {
			t.Errorf("%d: %#v, want permanent %v after %v", tc.status, err, tc.permanent, tc.after)
		}
		if err != nil && strings.Contains(err.Error(), "hidden-path") {
			t.Errorf("%d: the error shows the address: %v", tc.status, err)
		}
	}
}

func TestUnreachableReceiverShowsNoSecrets(t *testing.T) {
	e := newEndpoint(t, nil)
	e.Close()
	err := sendTo(t, webhookTo(e.URL+"/hidden-path?token=hidden-token"))
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("error %v", err)
	}
}

func TestReceiversOnLocalNetworksAreRefused(t *testing.T) {
	e := newEndpoint(t, nil)
	targets, err := notify.Targets([]notify.ReceiverConfig{webhookTo(e.URL)}, notify.Means{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = targets[0].Sender.Send(t.Context(), notify.TestMessage(time.Now(), notify.Links{}))
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1 is refused: loopback") {
		t.Errorf("error %v", err)
	}
	if heads, _ := e.requests(); len(heads) != 0 {
		t.Error("the request was made all the same")
	}
}

func TestBadReceiversAreRefusedWithoutTheirSecrets(t *testing.T) {
	for name, c := range map[string]notify.ReceiverConfig{
		"short secret":     webhookTo("https://example.com", "whsec_aGlkZGVu"),
		"no prefix":        webhookTo("https://example.com", "hidden"),
		"no base64":        webhookTo("https://example.com", "whsec_hidden!"),
		"three secrets":    webhookTo("https://example.com", newSecret, newSecret, newSecret),
		"no url":           {To: notify.WebhookConfig{}},
		"slack both ways":  {To: notify.SlackConfig{WebhookURL: secret.New("hidden"), Token: secret.New("hidden")}},
		"slack no channel": {To: notify.SlackConfig{Token: secret.New("hidden")}},
		"no command":       {To: notify.ExecConfig{}},
		"no service":       {To: notify.ShoutrrrConfig{}},
		"unknown service":  {To: notify.ShoutrrrConfig{URLs: []secret.Value{secret.New("nosuch://hidden:hidden@hidden/hidden")}}},
		"no way to it":     {},
		"no alertmanager":  {To: notify.AlertmanagerConfig{}},
	} {
		_, err := notify.Targets([]notify.ReceiverConfig{c}, notify.Means{})
		if err == nil || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "aGlkZGVu") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
