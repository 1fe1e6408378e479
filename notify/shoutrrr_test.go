package notify_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/secret"
	"github.com/robotswatch/robotswatch/notify"
)

func shoutrrrTo(urls ...string) notify.ReceiverConfig {
	var to notify.ShoutrrrConfig
	for _, u := range urls {
		to.URLs = append(to.URLs, secret.New(u))
	}
	return notify.ReceiverConfig{Name: "sh", To: to}
}

func generic(e *endpoint, path string) string {
	return "generic+" + e.URL + path
}

func TestShoutrrr(t *testing.T) {
	w, e := newWorld(t, 1), newEndpoint(t, nil)
	c := shoutrrrTo(generic(e, "/topic"), "ntfy://"+strings.TrimPrefix(e.URL, "http://")+"/topic?scheme=http")
	c.AllowPrivate = true
	d := w.dispatcher(c)
	defer w.run(d)()
	w.record(blocks(0, "GPTBot"))
	d.Poke()
	await(t, e.got, "first service")
	await(t, e.got, "second service")
	_, bodies := e.requests()
	for _, b := range bodies {
		if !strings.Contains(string(b), "GPTBot now blocked on site0.example") {
			t.Errorf("got %s", b)
		}
	}
}

// What one service took is not sent there again because another failed.
func TestShoutrrrRepeatsOnlyWhatFailed(t *testing.T) {
	w := newWorld(t, 1)
	good := newEndpoint(t, nil)
	bad := newEndpoint(t, func(n int, w http.ResponseWriter) {
		if n == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	d := w.dispatcher(shoutrrrTo(generic(good, "/a"), generic(bad, "/b")))
	defer w.run(d)()
	w.record(blocks(0, "GPTBot"))
	d.Poke()
	await(t, bad.got, "attempt")
	await(t, bad.got, "second attempt")
	if heads, _ := good.requests(); len(heads) != 1 {
		t.Errorf("the good service got it %d times", len(heads))
	}
}

func TestShoutrrrObeysTheAddressPolicyAndHidesSecrets(t *testing.T) {
	e := newEndpoint(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
	targets, err := notify.Targets([]notify.ReceiverConfig{shoutrrrTo(generic(e, "/hidden-topic"))}, notify.Means{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = targets[0].Sender.Send(t.Context(), notify.Message{})
	if err == nil || !strings.Contains(err.Error(), "refused: loopback") {
		t.Errorf("error %v", err)
	}
	if heads, _ := e.requests(); len(heads) != 0 {
		t.Error("the request was made all the same")
	}
	for _, u := range []string{
		generic(e, "/hidden-topic?token=hidden-token"),
		"ntfy://hidden-user:hidden-password@" + strings.TrimPrefix(e.URL, "http://") + "/hidden-topic?scheme=http",
		"gotify://" + strings.TrimPrefix(e.URL, "http://") + "/hidden/Ahidden.token1?disabletls=yes",
	} {
		err := sendTo(t, shoutrrrTo(u))
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: error %v", u[:8], err)
		}
	}
}
