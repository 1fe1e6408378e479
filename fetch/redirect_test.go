package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/robotswatch/robotswatch/netpolicy"
)

func found(location string) string {
	return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + "\r\n\r\n"
}

// pathOf is the request target.
func pathOf(request string) string { return strings.Fields(request)[1] }

// chain redirects /robots.txt to /1, /1 to /2 and so on, length times, and
// then answers.
func chain(length int, last string) func(net.Conn, string) {
	return func(c net.Conn, request string) {
		n := 0
		fmt.Sscanf(pathOf(request), "/%d", &n)
		if n == length {
			say(last)(c, request)
			return
		}
		say(found(fmt.Sprintf("/%d", n+1)))(c, request)
	}
}

func TestRFC9309_2_3_1_2_Redirects(t *testing.T) {
	before := baseline(t)
	file := withLength(ok200, group)
	always := func(location string) func(net.Conn, string) { return say(found(location)) }
	for _, r := range []struct {
		name   string
		handle func(net.Conn, string)
		state  State
		reason Reason
		asked  int64
	}{
		{"five are followed", chain(5, file), Policy, NoReason, 6},
		{"six are too many", chain(6, file), Absent, TooManyRedirects, 6},
		{"a chain without end", chain(1<<30, file), Absent, TooManyRedirects, 6},
		{"to itself", always("/robots.txt"), Absent, RedirectLoop, 1},
		{"to itself, written otherwise", always("./x/../robots.txt#again"), Absent, RedirectLoop, 1},
		{"in a circle", func(c net.Conn, r string) {
			say(found(map[string]string{"/robots.txt": "/a", "/a": "/b", "/b": "/a"}[pathOf(r)]))(c, r)
		}, Absent, RedirectLoop, 3},
		{"to a file", always("file:///etc/passwd"), Unreachable, RedirectScheme, 1},
		{"to ftp", always("ftp://127.0.0.1/robots.txt"), Unreachable, RedirectScheme, 1},
		{"to gopher", always("gopher://127.0.0.1:80/x"), Unreachable, RedirectScheme, 1},
		{"to data", always("data:text/plain,User-agent:%20*"), Unreachable, RedirectScheme, 1},
		{"to javascript", always("javascript:alert(1)"), Unreachable, RedirectScheme, 1},
		{"without a host", always("http://"), Unreachable, BadRedirect, 1},
		{"opaque", always("http:robots.txt"), Unreachable, BadRedirect, 1},
		{"to an address with a zone", always("http://[fe80::1%25lo]/"), Unreachable, BadRedirect, 1},
		{"to a host of spaces", always("http://a b/"), Unreachable, BadRedirect, 1},
		{"to a bad escape", always("/%zz"), Unreachable, BadRedirect, 1},
		{"to port 22", always("http://127.0.0.1:22/"), Unreachable, RedirectPort, 1},
		{"to port 1023", always("http://127.0.0.1:1023/"), Unreachable, RedirectPort, 1},
		{"to port 0", always("http://127.0.0.1:0/"), Unreachable, BadRedirect, 1},
		{"to port 65616", always("http://127.0.0.1:65616/"), Unreachable, BadRedirect, 1},
		{"to nowhere", say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), Unreachable, BadRedirect, 1},
		{"to a very long URL", always("/" + strings.Repeat("a", MaxLocation)), Unreachable, BadRedirect, 1},
		{"to a private address", always("http://10.0.0.1/robots.txt"), Unreachable, AddressRefused, 1},
		{"to the metadata address", always("http://169.254.169.254/latest/meta-data/"), Unreachable, AddressRefused, 1},
		{"to a mapped private address", always("http://[::ffff:10.0.0.1]/"), Unreachable, AddressRefused, 1},
		{"to a name that does not exist", always("http://nowhere.invalid/robots.txt"), Unreachable, DNSNotFound, 1},
		{"multiple choices", say("HTTP/1.1 300 Multiple Choices\r\nContent-Length: 0\r\nLocation: /a\r\n\r\n"), Unreachable, "http_300", 1},
		{"to a page", func(c net.Conn, r string) {
			if pathOf(r) == "/robots.txt" {
				say(found("/"))(c, r)
				return
			}
			say(withLength(ok200, "<!doctype html><title>Welcome</title>"))(c, r)
		}, NotRobots, HTML, 2},
	} {
		t.Run(r.name, func(t *testing.T) {
			srv := serve(t, r.handle)
			c := New(Settings{Policy: loopback, Timeout: patience(), Resolver: names{}})
			got, cost := costOf(func() Outcome {
				return c.Look(context.Background(), Request{Origin: srv.origin})
			})
			if got.State != r.state || got.Reason != r.reason {
				t.Errorf("%s %s (%s), want %s %s", got.State, got.Reason, got.Detail, r.state, r.reason)
			}
			if n := srv.asked.Load(); n != r.asked {
				t.Errorf("asked %d times, want %d", n, r.asked)
			}
			withinBounds(t, got, cost, srv, patience())
		})
	}
	backToBaseline(t, before)
}

// Another port is another authority; the rules found there are the site's own.
func TestRFC9309_2_3_1_2_RedirectsAcrossAuthorities(t *testing.T) {
	other := serve(t, say(withLength(ok200, group)))
	srv := serve(t, say(found(other.origin+"/elsewhere.txt")))
	got := New(Settings{Policy: loopback}).Look(context.Background(), Request{Origin: srv.origin})
	if got.State != Policy || got.FinalURL != other.origin+"/elsewhere.txt" || string(got.Body) != group {
		t.Errorf("%+v", got)
	}
}

// A redirect's URL is a stranger's text: what it carries is neither sent on
// nor printed raw.
func TestRedirectCarriesNothing(t *testing.T) {
	var mu sync.Mutex
	var requests []string
	srv := serve(t, func(c net.Conn, request string) {
		mu.Lock()
		requests = append(requests, request)
		mu.Unlock()
		if pathOf(request) == "/robots.txt" {
			host := c.LocalAddr().String()
			say("HTTP/1.1 301 Moved\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\nLocation: http://user:secret@"+host+"/ro bots?a b=\x1b[31m#top\r\n\r\n")(c, request)
			return
		}
		say(withLength(ok200, group))(c, request)
	})
	c := New(Settings{Policy: loopback, UserAgent: "robotswatch/1.0 (+https://example.org/bot)"})
	got := c.Look(context.Background(), Request{Origin: srv.origin})
	// The escape makes the header unusable; without it, the URL is cleaned.
	if got.Reason != BadAnswer || strings.Contains(got.Detail, "\x1b") {
		t.Fatalf("a control character in Location gave %+v", got)
	}
	requests = nil
	clean := serve(t, func(c net.Conn, request string) {
		mu.Lock()
		requests = append(requests, request)
		mu.Unlock()
		if pathOf(request) == "/robots.txt" {
			say(found("http://user:secret@"+c.LocalAddr().String()+"/ro%20bots?a b=é#top"))(c, request)
			return
		}
		say(withLength(ok200, group))(c, request)
	})
	got = c.Look(context.Background(), Request{Origin: clean.origin})
	if want := clean.origin + "/ro%20bots?a%20b=%C3%A9"; got.FinalURL != want || got.State != Policy {
		t.Fatalf("final URL %q, want %q (%+v)", got.FinalURL, want, got)
	}
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	second := strings.ToLower(requests[1])
	for _, never := range []string{"cookie", "referer", "authorization", "secret", "#top"} {
		if strings.Contains(second, never) {
			t.Errorf("the second request has %q:\n%s", never, requests[1])
		}
	}
	for _, want := range []string{"user-agent: robotswatch/1.0 (+https://example.org/bot)\r\n", "accept-encoding: gzip, br, zstd\r\n", "host: " + strings.TrimPrefix(clean.origin, "http://") + "\r\n"} {
		if !strings.Contains(second, want) {
			t.Errorf("the second request lacks %q:\n%s", want, requests[1])
		}
	}
}

// Validators go to the URL that they came from and nowhere else.
func TestValidatorsStayWithTheirURL(t *testing.T) {
	for _, v := range []struct {
		name     string
		finalURL string // stored; "%" is the server's origin
		redirect bool
		want     State
		sent     bool
	}{
		{"own file", "", false, Policy, true},
		{"own file, URL stored", "%/robots.txt", false, Policy, true},
		{"behind a redirect", "%/elsewhere", true, Policy, true},
		{"redirect is new", "", true, Policy, false},
		{"redirect is gone", "%/elsewhere", false, Policy, false},
	} {
		t.Run(v.name, func(t *testing.T) {
			var sent bool
			srv := serve(t, func(c net.Conn, r string) {
				if v.redirect && pathOf(r) == "/robots.txt" {
					say(found("/elsewhere"))(c, r)
					return
				}
				if sent = strings.Contains(r, "If-None-Match: \"tag\"\r\n") && strings.Contains(r, "If-Modified-Since: Mon, 30 Nov 2026 09:00:00 GMT\r\n"); sent {
					say("HTTP/1.1 304 Not Modified\r\nETag: \"tag2\"\r\n\r\n")(c, r)
					return
				}
				say(withLength(ok200, group))(c, r)
			})
			got := New(Settings{Policy: loopback}).Look(context.Background(), Request{
				Origin: srv.origin, ETag: `"tag"`, Modified: "Mon, 30 Nov 2026 09:00:00 GMT",
				FinalURL: strings.ReplaceAll(v.finalURL, "%", srv.origin),
			})
			if got.State != v.want || sent != v.sent || got.NotModified != v.sent {
				t.Fatalf("validators sent %v, want %v; %+v", sent, v.sent, got)
			}
			if v.sent && got.ETag != `"tag2"` {
				t.Errorf("the tag of a 304 was not taken over: %q", got.ETag)
			}
		})
	}
}

// names is a resolver for tests; a name that is missing does not exist.
type names map[string][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a := n[host]; a != nil {
		return a, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

var only = netpolicy.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
