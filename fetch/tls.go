package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// tlsConfig is the base of all handshakes. What verification means here is
// told in chain.go and docs/security.md.
func (c *Client) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The chain is verified in VerifyConnection, where a chain that was
		// verified for this name before is recognised.
		InsecureSkipVerify: true,
		// A site is met again after hours: tickets would be memory for nothing
		// and would let a server recognise us.
		SessionTicketsDisabled: true,
		CurvePreferences:       []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521},
		Time:                   c.now,
	}
}

// handshake speaks TLS on conn. HTTP/1.1 alone is offered first: for a single
// request it costs less than HTTP/2. A server that refuses it gives
// errWantsHTTP2 and is asked once more.
func (l *look) handshake(ctx context.Context, conn net.Conn, h hop) (*tls.Conn, error) {
	c := l.client
	cfg := c.tls.Clone()
	cfg.ServerName = h.host
	cfg.NextProtos = http1Only
	if l.http2 {
		cfg.NextProtos = http2First
	}
	cfg.VerifyConnection = func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) > 0 {
			l.out.TLSSubject = visible.Short(subject(cs.PeerCertificates[0]), maxEvidence)
		}
		return c.chains.verify(h.host, cs.PeerCertificates, c.now())
	}
	secure := tls.Client(conn, cfg)
	err := secure.HandshakeContext(ctx)
	switch {
	case err == nil:
		return secure, nil
	case !l.http2 && isNoApplicationProtocol(err):
		return nil, errWantsHTTP2
	}
	return nil, fmt.Errorf("%w: %w", errHandshake, err)
}

var (
	http1Only  = []string{"http/1.1"}
	http2First = []string{"h2", "http/1.1"}
)

// isNoApplicationProtocol recognises alert 120 (RFC 7301, 3.2). crypto/tls
// does not export the type of a received alert, only its text.
func isNoApplicationProtocol(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == "tls: no application protocol"
}
