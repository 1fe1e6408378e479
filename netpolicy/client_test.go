package netpolicy

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"
)

func TestClientObeysPolicy(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer srv.Close()

	_, err := Client(Policy{}, 5*time.Second).Get(srv.URL)
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("a loopback receiver gave %v, want a *RefusedError", err)
	}

	c := Client(Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, 5*time.Second)
	defer c.CloseIdleConnections()
	res, err := c.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusFound {
		t.Fatalf("status %d: a redirect was followed", res.StatusCode)
	}
}

func TestClientReadsNoEndlessAnswer(t *testing.T) {
	for size, want := range map[int]int{clientMaxBodyBytes: clientMaxBodyBytes, clientMaxBodyBytes + 1: clientMaxBodyBytes} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) }))
		c := Client(Policy{AllowPrivate: true}, 5*time.Second)
		res, err := c.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || len(body) != want {
			t.Errorf("of %d octets %d are read: %v", size, len(body), err)
		}
		res.Body.Close()
		c.CloseIdleConnections()
		srv.Close()
	}
}
