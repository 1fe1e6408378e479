package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/netpolicy"
)

func lookAt(t *testing.T, answer string, req Request) Outcome {
	t.Helper()
	srv := serve(t, say(answer))
	req.Origin = srv.origin
	return New(Settings{Policy: loopback, Timeout: 5 * time.Second}).Look(context.Background(), req)
}

func TestRFC9309_2_3_1_StatusDecidesState(t *testing.T) {
	for status, want := range map[int]struct {
		state  State
		reason Reason
	}{
		200: {Policy, ""}, 201: {Policy, ""}, 203: {Policy, ""}, 226: {Policy, ""},
		400: {Absent, "http_400"}, 404: {Absent, "http_404"}, 410: {Absent, "http_410"}, 418: {Absent, "http_418"}, 451: {Absent, "http_451"}, 499: {Absent, "http_499"},
		401: {Denied, "http_401"}, 403: {Denied, "http_403"},
		429: {Unreachable, "http_429"}, 500: {Unreachable, "http_500"}, 503: {Unreachable, "http_503"}, 520: {Unreachable, "http_520"}, 599: {Unreachable, "http_599"},
		304: {Unreachable, UnaskedNoChange}, 305: {Unreachable, "http_305"}, 600: {Unreachable, "http_600"},
	} {
		got := lookAt(t, withLength(fmt.Sprintf("HTTP/1.1 %d X\r\nETag: \"a\"\r\n", status), group), Request{})
		if got.State != want.state || got.Reason != want.reason || got.Status != status {
			t.Errorf("%d: %s %s", status, got.State, got.Reason)
		}
		if (got.Body != nil) != (got.State == Policy) || (got.ETag != "") != (got.State == Policy) {
			t.Errorf("%d: body %q, tag %q", status, got.Body, got.ETag)
		}
	}
}

// An empty file allows everything: it is a policy, and its body is there.
func TestEmptyAnswersArePolicies(t *testing.T) {
	for name, answer := range map[string]string{
		"empty":       ok200 + "Content-Length: 0\r\n\r\n",
		"no content":  "HTTP/1.1 204 No Content\r\n\r\n",
		"blank":       withLength(ok200, " \r\n\t\n"),
		"BOM":         withLength(ok200, "\xef\xbb\xbf"),
		"comment":     withLength(ok200, "# nothing here\n"),
		"empty, gzip": ok200 + "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
	} {
		got := lookAt(t, answer, Request{})
		if got.State != Policy || got.Body == nil || got.Reason != NoReason {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestNotModified(t *testing.T) {
	got := lookAt(t, "HTTP/1.1 304 Not Modified\r\nETag: \"b\"\r\nLast-Modified: Mon, 30 Nov 2026 09:00:00 GMT\r\n\r\n", Request{ETag: `"a"`})
	if got.State != Policy || !got.NotModified || got.Body != nil || got.ETag != `"b"` || got.Modified != "Mon, 30 Nov 2026 09:00:00 GMT" || got.Status != 304 {
		t.Errorf("%+v", got)
	}
	// What cannot be sent back as it is, is not sent at all.
	for _, tag := range []string{"a\r\nX: y", "a\x00", strings.Repeat("a", MaxValidator+1)} {
		if got := lookAt(t, "HTTP/1.1 304 Not Modified\r\n\r\n", Request{ETag: tag}); got.Reason != UnaskedNoChange {
			t.Errorf("tag %.20q was sent: %+v", tag, got)
		}
	}
	if got := lookAt(t, withLength(ok200+"ETag: "+strings.Repeat("a", MaxValidator+1)+"\r\n", group), Request{}); got.ETag != "" || got.State != Policy {
		t.Errorf("a tag of %d octets is kept", len(got.ETag))
	}
}

// The limit is exact; what lies beyond is dropped and said so.
func TestMaxBytesAtItsEdge(t *testing.T) {
	const max = 1000
	line := "Disallow: /x\n"
	full := strings.Repeat(line, max/len(line)) + strings.Repeat("#", max%len(line)-1) + "\n"
	for _, c := range []struct {
		size      int
		truncated bool
	}{{max - 1, false}, {max, false}, {max + 1, true}, {5 * max, true}} {
		text := strings.Repeat(full, 1+c.size/max)[:c.size]
		for _, coding := range []string{"", "gzip"} {
			answer := withLength(ok200, text)
			if coding != "" {
				answer = withLength(ok200+"Content-Encoding: "+coding+"\r\n", pack(t, coding, text))
			}
			srv := serve(t, say(answer))
			got := New(Settings{Policy: loopback, MaxBytes: max}).Look(context.Background(), Request{Origin: srv.origin})
			if got.State != Policy || got.Truncated != c.truncated || len(got.Body) > max {
				t.Errorf("%d octets %s: %s %s, truncated %v, %d kept", c.size, coding, got.State, got.Detail, got.Truncated, len(got.Body))
			}
			if !c.truncated && string(got.Body) != text {
				t.Errorf("%d octets %s: another body came out", c.size, coding)
			}
			if c.truncated && !strings.HasPrefix(text, string(got.Body)) {
				t.Errorf("%d octets %s: not the start of the file", c.size, coding)
			}
		}
	}
}

func TestEncodings(t *testing.T) {
	text := strings.Repeat(group, 50)
	for _, coding := range []string{"gzip", "br", "zstd"} {
		for _, name := range []string{coding, strings.ToUpper(coding), " " + coding} {
			got := lookAt(t, withLength(ok200+"Content-Encoding: "+name+"\r\n", pack(t, coding, text)), Request{})
			if got.State != Policy || string(got.Body) != text || got.Bytes != int64(len(text)) {
				t.Errorf("%s: %s %s (%s)", name, got.State, got.Reason, got.Detail)
			}
		}
	}
	for _, name := range []string{"identity", "utf-8", "none", "x-unknown"} {
		if got := lookAt(t, withLength(ok200+"Content-Encoding: "+name+"\r\n", text), Request{}); string(got.Body) != text {
			t.Errorf("%s: %s %s (%s)", name, got.State, got.Reason, got.Detail)
		}
	}
	// Two gzip members are one body (RFC 1952, 2.2).
	if got := lookAt(t, withLength(ok200+"Content-Encoding: gzip\r\n", pack(t, "gzip", group)+pack(t, "gzip", group)), Request{}); string(got.Body) != group+group {
		t.Errorf("two members: %q", got.Body)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0}, {"120", "", 2 * time.Minute}, {" 120 ", "", 2 * time.Minute}, {"0", "", 0},
		{"-5", "", 0}, {"soon", "", 0}, {"1e9", "", 0}, {"12.5", "", 0},
		{"999999999", "", maxRetryAfter}, {"99999999999999999999", "", 0},
		{"Mon, 30 Nov 2026 09:10:00 GMT", "", 10 * time.Minute},
		{"Monday, 30-Nov-26 09:10:00 GMT", "", 10 * time.Minute},
		{"Mon, 30 Nov 2026 08:00:00 GMT", "", 0},
		{"Mon, 30 Nov 2066 09:10:00 GMT", "", maxRetryAfter},
		// By the server's own clock where it tells it.
		{"Mon, 30 Nov 2026 12:10:00 GMT", "Mon, 30 Nov 2026 12:00:00 GMT", 10 * time.Minute},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.after)
		h.Set("Date", c.date)
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%q at %q: %v, want %v", c.after, c.date, got, c.want)
		}
	}
	got := lookAt(t, "HTTP/1.1 503 Down\r\nRetry-After: 90\r\nContent-Length: 0\r\n\r\n", Request{})
	if got.RetryAfter != 90*time.Second {
		t.Errorf("%+v", got)
	}
}

func TestVendorAndEvidence(t *testing.T) {
	for header, want := range map[string]string{
		"Server: cloudflare": "cloudflare", "CF-RAY: 8a": "cloudflare", "Server: AkamaiGHost": "akamai", "X-Iinfo: 1-2": "imperva",
		"X-Amz-Cf-Id: x": "cloudfront", "X-Served-By: cache-fra1": "fastly", "X-DataDome: protected": "datadome",
		"X-Sucuri-ID: 1": "sucuri", "Server: nginx": "", "X-Served-By: web1": "",
	} {
		got := lookAt(t, "HTTP/1.1 403 Forbidden\r\n"+header+"\r\nContent-Length: 0\r\n\r\n", Request{})
		if got.Vendor != want {
			t.Errorf("%s: vendor %q, want %q", header, got.Vendor, want)
		}
	}
	got := lookAt(t, withLength(ok200+"Set-Cookie: secret=1\r\nServer: "+strings.Repeat("é", 500)+"\r\nX-Robots-Tag: noindex\r\n", group), Request{})
	found := map[string]string{}
	for _, h := range got.Headers {
		found[h.Name] = h.Value
	}
	if found["X-Robots-Tag"] != "noindex" || found["Content-Type"] != "text/plain" || found["Set-Cookie"] != "" || len([]rune(found["Server"])) > maxEvidence {
		t.Errorf("evidence: %v", got.Headers)
	}
}

func TestChallengeOfAnyStatus(t *testing.T) {
	page := "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><script src=\"/cdn-cgi/challenge-platform/h/b/orchestrate\"></script></body></html>"
	for _, c := range []struct {
		answer string
		state  State
		reason Reason
	}{
		{withLength("HTTP/1.1 403 Forbidden\r\nServer: cloudflare\r\n", page), Denied, Challenge},
		{withLength("HTTP/1.1 503 Unavailable\r\n", page), Unreachable, Challenge},
		{withLength("HTTP/1.1 429 Slow down\r\nContent-Encoding: gzip\r\n", pack(t, "gzip", page)), Unreachable, Challenge},
		{withLength("HTTP/1.1 200 OK\r\n", page), NotRobots, Challenge},
		{"HTTP/1.1 202 Accepted\r\nX-Amzn-Waf-Action: challenge\r\nContent-Length: 0\r\n\r\n", NotRobots, Challenge},
		{"HTTP/1.1 403 Forbidden\r\nCf-Mitigated: challenge\r\nContent-Length: 0\r\n\r\n", Denied, Challenge},
		{withLength("HTTP/1.1 403 Forbidden\r\n", "<html><h1>403 Forbidden</h1></html>"), Denied, "http_403"},
		{withLength("HTTP/1.1 404 Not Found\r\n", page), Absent, "http_404"},
		// The body of an error need not be whole.
		{"HTTP/1.1 403 Forbidden\r\nContent-Length: 9999\r\n\r\n" + page, Denied, Challenge},
	} {
		if got := lookAt(t, c.answer, Request{}); got.State != c.state || got.Reason != c.reason {
			t.Errorf("%.60q: %s %s (%s), want %s %s", c.answer, got.State, got.Reason, got.Detail, c.state, c.reason)
		}
	}
}

// Large bodies are handed over, small ones copied; neither is touched by the
// looks that follow.
func TestBodiesAreTheCallers(t *testing.T) {
	for _, size := range []int{100, maxPooledBody - 1, maxPooledBody, 2 * maxPooledBody} {
		fill := func(name string) string { return (strings.Repeat("Disallow: /"+name+"\n", size)[:size-1] + "\n") }
		n := 0
		srv := serve(t, func(c net.Conn, r string) {
			n++
			say(withLength(ok200, fill(fmt.Sprint(n))))(c, r)
		})
		c := New(Settings{Policy: loopback})
		first := c.Look(context.Background(), Request{Origin: srv.origin})
		for range 3 {
			c.Look(context.Background(), Request{Origin: srv.origin})
		}
		if string(first.Body) != fill("1") {
			t.Errorf("the body of %d octets was changed by later looks", size)
		}
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		needs.Lacking(t, "no IPv6 here")
	}
	address := l.Addr().String()
	l.Close()
	srv := listen(t, address, func(c net.Conn) {
		head, _ := readHead(c)
		if !strings.Contains(head, "\r\nHost: "+address+"\r\n") {
			t.Errorf("%q", head)
		}
		say(withLength(ok200, group))(c, head)
	})
	got := New(Settings{Policy: loopback}).Look(context.Background(), Request{Origin: srv.origin})
	if got.State != Policy || got.Address.String() != address || got.FinalURL != "http://"+address+"/robots.txt" {
		t.Errorf("%+v", got)
	}
}

func TestOrigins(t *testing.T) {
	r := names{"xn--bcher-kva.test": {addr("127.0.0.1")}, "a_b.test": {addr("127.0.0.1")}, "plain.test": {addr("127.0.0.1")}}
	srv := serve(t, say(withLength(ok200, group)))
	port := strings.TrimPrefix(srv.origin, "http://127.0.0.1")
	c := New(Settings{Policy: loopback, Resolver: r})
	for origin, final := range map[string]string{
		"http://xn--bcher-kva.test" + port: "http://xn--bcher-kva.test" + port + "/robots.txt",
		"http://bücher.test" + port:        "http://xn--bcher-kva.test" + port + "/robots.txt",
		"http://a_b.test" + port:           "http://a_b.test" + port + "/robots.txt",
		"HTTP://PLAIN.test." + port:        "http://plain.test" + port + "/robots.txt",
		"http://plain.test" + port + "/x":  "http://plain.test" + port + "/robots.txt",
	} {
		if got := c.Look(context.Background(), Request{Origin: origin}); got.State != Policy || got.FinalURL != final {
			t.Errorf("%s: %s %s, %s", origin, got.State, got.Detail, got.FinalURL)
		}
	}
	for _, origin := range []string{"", "plain.test", "ftp://plain.test", "http://", "http://%zz", "http://a b", "http://plain.test:99999", "://"} {
		if got := c.Look(context.Background(), Request{Origin: origin}); got.State != Unreachable || got.Reason != BadOrigin {
			t.Errorf("%q: %s %s", origin, got.State, got.Reason)
		}
	}
}

// The socket itself refuses, whatever was checked before.
func TestSocketObeysPolicy(t *testing.T) {
	srv := serve(t, say(""))
	to := netip.MustParseAddrPort(strings.TrimPrefix(srv.origin, "http://"))
	_, err := New(Settings{}).dialer.DialTCP(context.Background(), "tcp", netip.AddrPort{}, to)
	var refused *netpolicy.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("dialing %s gave %v", to, err)
	}
}

// A look that is called off says so, and that it is our doing.
func TestCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	srv := serve(t, func(c net.Conn, r string) {
		cancel()
		silent(c, r)
	})
	got := New(Settings{Policy: loopback}).Look(ctx, Request{Origin: srv.origin})
	if got.Reason != Canceled || !got.Reason.Ours() {
		t.Errorf("%+v", got)
	}
	if ConnReset.Ours() || Timeout.Ours() {
		t.Error("a site's failure is taken for ours")
	}
}
