package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/testpki"
)

// pipe copies both ways until one side ends.
func pipe(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(a, b)
		a.Close()
	}()
	io.Copy(b, a)
	b.Close()
	<-done
}

// httpProxy relays and tunnels to one server, whatever the name, and notes
// what it was asked.
func httpProxy(t *testing.T, to string, asked chan<- string) *rawServer {
	return listen(t, "127.0.0.1:0", func(c net.Conn) {
		head, err := readHead(c)
		if err != nil {
			return
		}
		asked <- head
		out, err := net.Dial("tcp", to)
		if err != nil {
			io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		if strings.HasPrefix(head, "CONNECT ") {
			io.WriteString(c, "HTTP/1.1 200 Connected\r\n\r\n")
		} else {
			io.WriteString(out, head)
		}
		pipe(c, out)
	})
}

// socksProxy speaks as much of SOCKS5 (RFC 1928) as a client needs.
func socksProxy(t *testing.T, to string, asked chan<- string) *rawServer {
	return listen(t, "127.0.0.1:0", func(c net.Conn) {
		r := bufio.NewReader(c)
		b := make([]byte, 3)
		io.ReadFull(r, b)
		c.Write([]byte{5, 0})
		b = make([]byte, 5)
		io.ReadFull(r, b)
		name := make([]byte, int(b[4])+2)
		io.ReadFull(r, name)
		asked <- string(name[:len(name)-2])
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		out, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		pipe(c, out)
	})
}

func TestProxies(t *testing.T) {
	before := baseline(t)
	t.Run("all", func(t *testing.T) {
		ca := authority(t)
		cert := issue(t, ca, testpki.Leaf{Names: []string{"site.test"}})
		plain := serve(t, say(withLength(ok200, group)))
		secure := listen(t, "127.0.0.1:0", func(c net.Conn) {
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
			if _, err := readHead(s); err == nil {
				io.WriteString(s, withLength(ok200, group))
				s.Close()
			}
		})
		for _, p := range []struct {
			name, origin string
			to           *rawServer
			start        func(*testing.T, string, chan<- string) *rawServer
			scheme, want string
		}{
			{"relay", "http://site.test", plain, httpProxy, "http", "GET http://site.test/robots.txt HTTP/1.1\r\n"},
			{"tunnel", "https://site.test", secure, httpProxy, "http", "CONNECT site.test:443 HTTP/1.1\r\n"},
			{"socks", "http://site.test", plain, socksProxy, "socks5", "site.test"},
			{"socks and TLS", "https://site.test", secure, socksProxy, "socks5", "site.test"},
		} {
			asked := make(chan string, 1)
			proxy := p.start(t, strings.TrimPrefix(p.to.origin, "http://"), asked)
			u := &url.URL{Scheme: p.scheme, Host: strings.TrimPrefix(proxy.origin, "http://"), User: url.UserPassword("me", "secret")}
			if p.scheme == "socks5" {
				u.User = nil
			}
			// No resolver may be asked, and the policy allows no loopback: the
			// proxy's own address is the operator's.
			c := New(Settings{Proxy: u, Roots: ca.Roots(), Resolver: hanging{}, Timeout: patience()})
			got := c.Look(context.Background(), Request{Origin: p.origin})
			if got.State != Policy || string(got.Body) != group {
				t.Errorf("%s: %+v", p.name, got)
				continue
			}
			head := <-asked
			if !strings.HasPrefix(head, p.want) {
				t.Errorf("%s: the proxy was asked %q", p.name, head)
			}
			if p.scheme == "http" && !strings.Contains(head, "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") {
				t.Errorf("%s: no credentials in %q", p.name, head)
			}
			// An address in figures is ours to check.
			if got := c.Look(context.Background(), Request{Origin: "http://10.0.0.1"}); got.Reason != AddressRefused {
				t.Errorf("%s: %+v", p.name, got)
			}
		}
	})
	backToBaseline(t, before)
}

func TestProxyThatFails(t *testing.T) {
	refuses := listen(t, "127.0.0.1:0", func(c net.Conn) {
		readHead(c)
		io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
	})
	for name, host := range map[string]string{"refuses": strings.TrimPrefix(refuses.origin, "http://"), "is not there": "127.0.0.1:9"} {
		for _, scheme := range []string{"http", "https"} {
			c := New(Settings{Proxy: &url.URL{Scheme: "http", Host: host, User: url.UserPassword("me", "secret")}, Timeout: patience()})
			got := c.Look(context.Background(), Request{Origin: scheme + "://site.test"})
			if got.State != Unreachable || got.Reason != ProxyFailed || strings.Contains(got.Detail, "secret") {
				t.Errorf("%s, %s: %+v", name, scheme, got)
			}
		}
	}
}
