package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"golang.org/x/net/proxy"
)

// With a proxy it is the proxy that resolves names and connects: addresses
// given in figures are still checked here, names cannot be. The proxy's own
// address is the operator's word and is not checked.

// proxyError is a failure on our way out, not of the site.
type proxyError struct{ err error }

func (e *proxyError) Error() string { return "the proxy: " + e.err.Error() }
func (e *proxyError) Unwrap() error { return e.err }

// proxyRelays reports whether the request goes to the proxy itself, in
// absolute form (RFC 9112, 3.2.2), not through a tunnel.
func (c *Client) proxyRelays(h hop) bool {
	return c.set.Proxy != nil && c.set.Proxy.Scheme != "socks5" && !h.https
}

func (l *look) connectProxy(ctx context.Context, h hop) (net.Conn, error) {
	if h.addr.IsValid() {
		if err := l.client.set.Policy.Check(h.addr); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithDeadline(ctx, l.deadline)
	defer cancel()
	conn, err := l.throughProxy(ctx, h)
	if err != nil {
		return nil, &proxyError{err}
	}
	return conn, nil
}

func (l *look) throughProxy(ctx context.Context, h hop) (net.Conn, error) {
	p := l.client.set.Proxy
	target := net.JoinHostPort(h.host, strconv.Itoa(int(h.port)))
	dialer := &net.Dialer{KeepAlive: -1}
	if p.Scheme == "socks5" {
		var auth *proxy.Auth
		if p.User != nil {
			password, _ := p.User.Password()
			auth = &proxy.Auth{User: p.User.Username(), Password: password}
		}
		socks, err := proxy.SOCKS5("tcp", p.Host, auth, dialer)
		if err != nil {
			return nil, err
		}
		return socks.(proxy.ContextDialer).DialContext(ctx, "tcp", target)
	}
	port := p.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[p.Scheme]
		if port == "" {
			port = "80"
		}
	}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(p.Hostname(), port))
	if err != nil {
		return nil, err
	}
	if p.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: p.Hostname(), RootCAs: l.client.set.Roots})
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		conn = secure
	}
	if !h.https {
		return conn, nil
	}
	if err := l.tunnel(conn, target); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// tunnel asks the proxy to connect through to the target.
func (l *look) tunnel(conn net.Conn, target string) error {
	if err := conn.SetDeadline(l.deadline); err != nil {
		return err
	}
	_, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n%s\r\n",
		target, target, l.client.set.UserAgent, l.client.proxyAuthorization())
	if err != nil {
		return err
	}
	// The target speaks first to nobody, so that no octet of its is lost in
	// this reader.
	head := &headLimit{r: conn, left: MaxHeaderBytes}
	res, err := http.ReadResponse(bufio.NewReaderSize(head, 1<<10), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %s to CONNECT", res.Status)
	}
	return nil
}

// proxyAuthorization is the header line with the proxy's credentials, or "".
func (c *Client) proxyAuthorization() string {
	if c.set.Proxy == nil || c.set.Proxy.User == nil {
		return ""
	}
	password, _ := c.set.Proxy.User.Password()
	pair := c.set.Proxy.User.Username() + ":" + password
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) + "\r\n"
}
