package notify_test

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/robotswatch/robotswatch/internal/secret"
	"github.com/robotswatch/robotswatch/notify"
)

// answering is a way to receivers on which everything is answered alike.
type answering []byte

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(a)), r)
}

// FuzzReceiver takes the input for what a receiver answers.
func FuzzReceiver(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 429 Too Many\r\nRetry-After: 60\r\n\r\n",
		"HTTP/1.1 503 Down\r\nRetry-After: Mon, 30 Nov 2026 09:10:00 GMT\r\n\r\n",
		"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<title>x</title>",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"ok\":true,\"channel\":\"C1\",\"ts\":\"1700000000.000001\"}",
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"ok\":false,\"error\":\"\\u001b[31mratelimited\",\"response_metadata\":{\"messages\":[\"x\"]}}",
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/hidden-path\r\n\r\n",
		"HTTP/1.1 429 \r\nRetry-After: -99999999999999\r\n\r\n", "HTTP/1.0 200\r\n\r\n", "\x00",
	} {
		f.Add([]byte(seed))
	}
	links := notify.Links{}
	message := notify.TestMessage(time.Now(), links)
	f.Fuzz(func(t *testing.T, answer []byte) {
		client := &http.Client{Transport: answering(answer), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		hidden := secret.New("https://receiver.example/hidden-path?token=hidden-token")
		for name, open := range map[string]func() (notify.Sender, error){
			"webhook": func() (notify.Sender, error) { return notify.NewWebhook(notify.WebhookConfig{URL: hidden}, client) },
			"alertmanager": func() (notify.Sender, error) {
				return notify.NewAlertmanager(notify.AlertmanagerConfig{URL: hidden}, client)
			},
			"slack webhook": func() (notify.Sender, error) {
				return notify.NewSlack(notify.SlackConfig{WebhookURL: hidden}, client, nil, links)
			},
			"slack": func() (notify.Sender, error) {
				return notify.NewSlack(notify.SlackConfig{Token: secret.New("xoxb-hidden-token"), Channel: "#c"}, client, nil, links)
			},
		} {
			sender, err := open()
			if err != nil {
				t.Fatal(err)
			}
			receipt, err := sender.Send(t.Context(), message)
			checkSent(t, name, answer, receipt, err)
		}
	})
}

// checkSent is what holds for every attempt.
func checkSent(t *testing.T, name string, answer []byte, receipt string, err error) {
	t.Helper()
	if err == nil {
		if !utf8.ValidString(receipt) || len(receipt) > 1000 {
			t.Errorf("%s: receipt %.2000q", name, receipt)
		}
		return
	}
	se, ok := err.(*notify.SendError)
	if !ok || receipt != "" || se.RetryAfter < 0 {
		t.Fatalf("%s: %#v with receipt %q", name, err, receipt)
	}
	text := err.Error()
	if text == "" || strings.Contains(text, "hidden") && !bytes.Contains(answer, []byte("hidden")) || len(text) > 2000 || !utf8.ValidString(text) || slices.ContainsFunc([]rune(text), unicode.IsControl) {
		t.Errorf("%s: %.3000q cannot be shown", name, text)
	}
}
