package simweb

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func start(t *testing.T, options ...Option) *Web {
	t.Helper()
	w, err := New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return w
}

// client of a web, behind its proxy.
func client(w *Web) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyURL(w.ProxyURL()), DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: w.Roots()},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get gives status and body, or "error".
func get(t *testing.T, c *http.Client, url string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, "error", nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, string(body) + "error", res.Header
	}
	return res.StatusCode, string(body), res.Header
}

func TestHostsAreReachedByEveryRoute(t *testing.T) {
	w := start(t)
	w.Set("news.example", Text("news"))
	w.Set("news.example:8080", Text("other port"))
	plain, secure := w.Ports()
	direct := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: w.Roots()},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			found, err := w.Resolver().LookupNetIP(ctx, network, host)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(found[0].String(), port))
		},
	}}
	for _, tt := range []struct {
		client    *http.Client
		url, body string
	}{
		{client(w), "http://news.example/robots.txt", "news"},
		{client(w), "https://news.example/robots.txt", "news"},
		{client(w), "http://NEWS.example:80/robots.txt", "news"},
		{client(w), "http://news.example:8080/robots.txt", "other port"},
		{direct, "http://news.example:" + strconv.Itoa(plain) + "/robots.txt", "news"},
		{direct, "https://news.example:" + strconv.Itoa(secure) + "/robots.txt", "news"},
	} {
		if status, body, _ := get(t, tt.client, tt.url); status != 200 || body != tt.body {
			t.Errorf("%s: %d %q", tt.url, status, body)
		}
	}
	for _, url := range []string{"http://news.example/", "http://nowhere.example/robots.txt"} {
		if status, _, _ := get(t, client(w), url); status != 404 {
			t.Errorf("%s: %d, want 404", url, status)
		}
	}
	if got := w.Stats("news.example").Requests; got != 5 {
		t.Errorf("%d requests counted, want 5", got)
	}
	if got := w.Total().Requests; got != 8 {
		t.Errorf("%d requests counted in all, want 8", got)
	}
}

func TestScenesAreCountedByRequests(t *testing.T) {
	type seen struct {
		host    string
		request int
		note    string
	}
	var mu sync.Mutex
	var watched []seen
	w := start(t, Watch(func(host string, request int, a Answer) {
		mu.Lock()
		defer mu.Unlock()
		watched = append(watched, seen{host, request, a.Note})
	}))
	w.Play("a.example", Text("1").For(2), Status(503).Noted("down").For(1), Text("2").For(0))
	c := client(w)
	var got []string
	for range 5 {
		_, body, _ := get(t, c, "http://a.example/robots.txt")
		got = append(got, strings.TrimSpace(body))
	}
	if want := "1 1 Service Unavailable 2 2"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(watched) != 5 || watched[2] != (seen{"a.example", 3, "down"}) {
		t.Errorf("watched %v", watched)
	}
}

func TestConditionalRequests(t *testing.T) {
	w := start(t)
	w.Set("a.example", Text("one"))
	c := client(w)
	_, _, header := get(t, c, "http://a.example/robots.txt")
	etag := header.Get("ETag")
	if status, body, _ := get(t, c, "http://a.example/robots.txt", "If-None-Match", etag); status != 304 || body != "" {
		t.Errorf("unchanged: %d %q", status, body)
	}
	w.Set("a.example", Text("two"))
	if status, body, _ := get(t, c, "http://a.example/robots.txt", "If-None-Match", etag); status != 200 || body != "two" {
		t.Errorf("changed: %d %q", status, body)
	}
	if got := w.Stats("a.example"); got.Requests != 3 || got.NotModified != 1 || got.BodyBytes != 6 || got.Peak != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAnswers(t *testing.T) {
	w := start(t, Fallback(func(host string) (Answer, bool) { return Text("fallback " + host), host != "no.example" }))
	c := client(w)
	w.Set("html.example", HTML("<!doctype html>"))
	w.Set("moved.example", Redirect(301, "https://new.example/robots.txt"))
	w.Set("later.example", TryLater(429, 2*time.Minute))
	if _, _, h := get(t, c, "http://html.example/robots.txt"); h.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("got %v", h)
	}
	if status, _, h := get(t, c, "http://moved.example/robots.txt"); status != 301 || h.Get("Location") != "https://new.example/robots.txt" {
		t.Errorf("got %d %v", status, h)
	}
	if status, _, h := get(t, c, "http://later.example/robots.txt"); status != 429 || h.Get("Retry-After") != "120" {
		t.Errorf("got %d %v", status, h)
	}
	if _, body, _ := get(t, c, "http://any.example/robots.txt"); body != "fallback any.example" {
		t.Errorf("got %q", body)
	}
	if status, _, _ := get(t, c, "http://no.example/robots.txt"); status != 404 {
		t.Errorf("got %d", status)
	}
}

func TestFaults(t *testing.T) {
	w := start(t)
	for _, scheme := range []string{"http", "https"} {
		url := scheme + "://a.example/robots.txt"
		c := client(w)
		w.Set("a.example", Broken(Reset, ""))
		_, err := c.Get(url)
		if err == nil || scheme == "http" && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
			t.Errorf("reset: %v", err)
		}
		w.Set("a.example", Broken(Garbage, ""))
		if _, err := c.Get(url); err == nil || !strings.Contains(err.Error(), "malformed") {
			t.Errorf("garbage: %v", err)
		}
		w.Set("a.example", Broken(Truncated, "User-agent: *\n"))
		if status, body, _ := get(t, c, url); status != 200 || body != "User-agent: *\nerror" {
			t.Errorf("truncated: %d %q", status, body)
		}
		w.Set("a.example", Broken(Endless, "#"))
		res, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, res.Body, 1<<20); err != nil {
			t.Errorf("endless: %v", err)
		}
		res.Body.Close()
	}
}

// Answers that never end do not keep the web from ending.
func TestCloseEndsWhatHangs(t *testing.T) {
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	w.Set("hang.example", Broken(Hang, ""))
	w.Set("drip.example", Broken(Dripping, "User-agent: *\n"))
	w.Set("slow.example", Answer{Delay: time.Hour})
	c := client(w)
	var clients sync.WaitGroup
	for _, url := range []string{"http://hang.example", "https://hang.example", "http://drip.example", "http://slow.example"} {
		clients.Go(func() {
			if _, body, _ := get(t, c, url+"/robots.txt"); !strings.HasSuffix(body, "error") {
				t.Errorf("%s: %q", url, body)
			}
		})
	}
	for w.Total().Now < 4 {
		select {
		case <-t.Context().Done():
			t.Fatal("the requests never came")
		case <-time.After(time.Millisecond):
		}
	}
	if err := w.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	clients.Wait()
}
