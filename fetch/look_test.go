package fetch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/netpolicy"
)

// loopback lets the tests' own servers be reached.
var loopback = netpolicy.Policy{Allow: []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
}}

func TestLook(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"a"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"a"`)
		w.Write([]byte("User-agent: *\nDisallow: /x\n"))
	}))
	defer srv.Close()
	c := New(Settings{Policy: loopback, Timeout: 5 * time.Second})

	got := c.Look(context.Background(), Request{Origin: srv.URL})
	if got.State != Policy || string(got.Body) != "User-agent: *\nDisallow: /x\n" || got.ETag != `"a"` || got.Reason != NoReason {
		t.Fatalf("first look: %+v", got)
	}
	got = c.Look(context.Background(), Request{Origin: srv.URL, ETag: got.ETag})
	if got.State != Policy || !got.NotModified || got.Body != nil {
		t.Fatalf("second look: %+v", got)
	}
	got = New(Settings{}).Look(context.Background(), Request{Origin: "http://127.0.0.1:9"})
	t.Log(got)
	got = New(Settings{Policy: loopback}).Look(context.Background(), Request{Origin: "http://127.0.0.1:9"})
	if got.State != Unreachable || got.Reason != ConnRefused {
		t.Fatalf("closed port: %+v", got)
	}
	tls := httptest.NewTLSServer(srv.Config.Handler)
	defer tls.Close()
	got = New(Settings{Policy: loopback}).Look(context.Background(), Request{Origin: tls.URL})
	if got.Reason != TLSUnknownAuthority && got.Reason != TLSSelfSigned {
		t.Fatalf("untrusted: %+v", got)
	}
	for _, h2 := range []bool{false, true} {
		s := httptest.NewUnstartedServer(srv.Config.Handler)
		s.EnableHTTP2 = h2
		s.StartTLS()
		if h2 {
			s.TLS.NextProtos = []string{"h2"}
		}
		c := New(Settings{Policy: loopback})
		roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		c.SetRoots(roots)
		got = c.Look(context.Background(), Request{Origin: s.URL})
		if got.State != Policy || string(got.Body) == "" {
			t.Fatalf("h2 %v: %+v", h2, got)
		}
		s.Close()
	}
}
