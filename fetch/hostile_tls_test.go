package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/testpki"
)

func authority(t testing.TB) *testpki.Authority {
	t.Helper()
	ca, err := testpki.New()
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t testing.TB, ca *testpki.Authority, l testpki.Leaf) tls.Certificate {
	t.Helper()
	c, err := ca.Issue(l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// secureOrigin is how a raw server is called over TLS by the name site.test.
func secureOrigin(srv *rawServer) string {
	return "https://site.test" + strings.TrimPrefix(srv.origin, "http://127.0.0.1")
}

var siteTest = names{"site.test": {netip.MustParseAddr("127.0.0.1")}}

// TestBadCertificates: each is unreachable with the reason that is its own.
func TestBadCertificates(t *testing.T) {
	before := baseline(t)
	ca, other := authority(t), authority(t)
	day := 24 * time.Hour
	good := issue(t, ca, testpki.Leaf{Names: []string{"site.test"}})
	unknown := issue(t, other, testpki.Leaf{Names: []string{"site.test"}})
	alone := good
	alone.Certificate = alone.Certificate[:1]

	for _, c := range []struct {
		name   string
		cert   tls.Certificate
		config *tls.Config
		reason Reason
		detail string
	}{
		{name: "good", cert: good},
		{name: "of another name", cert: issue(t, ca, testpki.Leaf{Names: []string{"other.test"}}), reason: TLSWrongName, detail: "other.test"},
		{name: "of an address", cert: issue(t, ca, testpki.Leaf{Names: []string{"127.0.0.1"}}), reason: TLSWrongName},
		{name: "without a name", cert: issue(t, ca, testpki.Leaf{}), reason: TLSWrongName},
		{name: "ended", cert: issue(t, ca, testpki.Leaf{Names: []string{"site.test"}, NotBefore: time.Now().Add(-9 * day), NotAfter: time.Now().Add(-day)}), reason: TLSExpired, detail: "ended on"},
		{name: "of the future", cert: issue(t, ca, testpki.Leaf{Names: []string{"site.test"}, NotBefore: time.Now().Add(day)}), reason: TLSNotYetValid, detail: "valid from"},
		{name: "signed by itself", cert: issue(t, ca, testpki.Leaf{Names: []string{"site.test"}, SelfSigned: true}), reason: TLSSelfSigned},
		{name: "of an unknown authority", cert: unknown, reason: TLSUnknownAuthority},
		{name: "without its intermediate", cert: alone, reason: TLSUnknownAuthority},
		{name: "old protocol", cert: good, config: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, reason: TLSHandshake},
		{name: "TLS 1.2", cert: good, config: &tls.Config{MaxVersion: tls.VersionTLS12}},
		{name: "asks for our certificate", cert: good, config: &tls.Config{ClientAuth: tls.RequireAnyClientCert}, reason: TLSHandshake},
		{name: "asks for our certificate, TLS 1.2", cert: good, config: &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, reason: TLSHandshake},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := cmp.Or(c.config, &tls.Config{})
			cfg.Certificates = []tls.Certificate{c.cert}
			srv := listen(t, "127.0.0.1:0", func(conn net.Conn) {
				secure := tls.Server(conn, cfg)
				if _, err := readHead(secure); err == nil {
					io.WriteString(secure, withLength(ok200, group))
					secure.Close()
				}
			})
			client := New(Settings{Policy: loopback, Resolver: siteTest, Roots: ca.Roots()})
			got := client.Look(context.Background(), Request{Origin: secureOrigin(srv)})
			want := Unreachable
			if c.reason == NoReason {
				want = Policy
			}
			if got.State != want || got.Reason != c.reason || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("%s %s (%s)", got.State, got.Reason, got.Detail)
			}
		})
	}
	backToBaseline(t, before)
}

// TestHostileTLSServers: what goes wrong before a certificate is seen.
func TestHostileTLSServers(t *testing.T) {
	before := baseline(t)
	ca := authority(t)
	cert := issue(t, ca, testpki.Leaf{Names: []string{"site.test"}})
	long := cert
	for range 600 {
		long.Certificate = append(long.Certificate, ca.Intermediate.Raw)
	}
	record := func(kind byte, body string) string {
		return string([]byte{kind, 3, 3, byte(len(body) >> 8), byte(len(body))}) + body
	}
	for _, h := range []struct {
		name   string
		handle func(net.Conn)
		reason Reason
	}{
		{"plain HTTP", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, TLSNotTLS},
		{"silence", func(c net.Conn) { io.Copy(io.Discard, c) }, Timeout},
		{"closed at once", func(net.Conn) {}, ConnReset},
		{"reset at once", func(c net.Conn) { c.(*countingConn).reset() }, ConnReset},
		{"alert", func(c net.Conn) { io.WriteString(c, record(21, "\x02\x28")) }, TLSHandshake},
		{"dripping", func(c net.Conn) { drip(record(22, strings.Repeat("a", 9000))[:5], "\x02")(c, "") }, Timeout},
		{"empty records for ever", func(c net.Conn) { endless("", record(22, ""))(c, "") }, TLSHandshake},
		{"warnings for ever", func(c net.Conn) { endless("", record(21, "\x01\x5a"))(c, "") }, TLSHandshake},
		{"a record too long", func(c net.Conn) { endless("\x16\x03\x03\xff\xff", "a")(c, "") }, TLSNotTLS},
		{"a handshake message too long", func(c net.Conn) {
			endless(record(22, "\x02\xff\xff\xff"), record(22, strings.Repeat("a", 9000)))(c, "")
		}, TLSHandshake},
		{"garbage", func(c net.Conn) { endless("", "\x00\xff")(c, "") }, TLSNotTLS},
		{"a chain of 600", func(c net.Conn) {
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{long}})
			io.Copy(io.Discard, s)
		}, TLSHandshake},
		{"closed in the handshake", func(c net.Conn) {
			var b [16]byte
			c.Read(b[:])
			io.WriteString(c, record(22, "\x02\x00\x00\x50"))
		}, ConnReset},
	} {
		t.Run(h.name, func(t *testing.T) {
			srv := listen(t, "127.0.0.1:0", h.handle)
			timeout := patience(h.reason)
			client := New(Settings{Policy: loopback, Resolver: siteTest, Roots: ca.Roots(), Timeout: timeout})
			got, cost := costOf(func() Outcome {
				return client.Look(context.Background(), Request{Origin: secureOrigin(srv)})
			})
			if got.State != Unreachable || got.Reason != h.reason && h.reason != "" {
				t.Errorf("%s %s (%s), want %s", got.State, got.Reason, got.Detail, h.reason)
			}
			withinBounds(t, got, cost, srv, timeout)
		})
	}
	backToBaseline(t, before)
}

// HTTP/1.1 is offered alone; a server that wants HTTP/2 gets it.
func TestHTTP2WhereItIsWanted(t *testing.T) {
	ca := authority(t)
	cert := issue(t, ca, testpki.Leaf{Names: []string{"site.test"}})
	for _, v := range []struct {
		name   string
		alert  bool // 120 to HTTP/1.1 alone
		refuse bool // answers 505 to HTTP/1.1
		want   string
	}{
		{"either", false, false, "HTTP/1.1"},
		{"HTTP/2 alone", true, false, "HTTP/2.0"},
		{"505 to HTTP/1.1", false, true, "HTTP/2.0"},
	} {
		t.Run(v.name, func(t *testing.T) {
			before := baseline(t)
			var proto string
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				proto = r.Proto
				if v.refuse && r.ProtoMajor == 1 {
					w.WriteHeader(http.StatusHTTPVersionNotSupported)
					return
				}
				if r.Header.Get("If-None-Match") == `"a"` {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				io.WriteString(w, group)
			}))
			srv.Config.ErrorLog = log.New(io.Discard, "", 0)
			srv.EnableHTTP2 = true
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
			if v.alert {
				srv.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
					if slices.Contains(hello.SupportedProtos, "h2") {
						return nil, nil
					}
					return &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"other"}}, nil
				}
			}
			srv.StartTLS()
			client := New(Settings{Policy: loopback, Resolver: siteTest, Roots: ca.Roots()})
			origin := "https://site.test" + strings.TrimPrefix(srv.URL, "https://127.0.0.1")
			got := client.Look(context.Background(), Request{Origin: origin})
			if got.State != Policy || string(got.Body) != group || proto != v.want {
				t.Errorf("over %s: %+v", proto, got)
			}
			got = client.Look(context.Background(), Request{Origin: origin, ETag: `"a"`})
			if !got.NotModified {
				t.Errorf("conditional over %s: %+v", proto, got)
			}
			srv.Close()
			backToBaseline(t, before)
		})
	}
}
