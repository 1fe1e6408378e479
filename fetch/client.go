package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/netpolicy"
)

// Limits that are not settings: no honest server comes near them.
const (
	// MaxHeaderBytes bounds status line and headers of one answer.
	MaxHeaderBytes = 64 << 10
	// MaxInterim is how many 1xx answers may precede the real one.
	MaxInterim = 5
	// MaxLocation bounds the octets of a Location header.
	MaxLocation = 8 << 10
	// MaxValidator bounds an ETag or Last-Modified that is kept and sent back.
	MaxValidator = 1 << 10
	// trafficAllowance is what one connection may receive beyond twice
	// MaxBytes: handshake, headers, chunk sizes, frames.
	trafficAllowance = 512 << 10
	// MaxAttempts is how many addresses of a name are tried for one hop.
	MaxAttempts = 4
)

// Defaults of Settings.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultMaxRedirects = 5       // RFC 9309, 2.3.1.2: at least five
	DefaultMaxBytes     = 1 << 20 // RFC 9309, 2.5: at least 500 KiB
	DefaultPerAddress   = 4
	DefaultChainTrust   = 7 * 24 * time.Hour
)

// Settings of a Client. The zero value of a field means its default, except
// where the comment says otherwise.
type Settings struct {
	UserAgent    string        // sent as it is; "" is "robotswatch"
	Timeout      time.Duration // of a whole look, redirects included
	MaxRedirects int
	MaxBytes     int64 // of a decoded body; what lies beyond is dropped
	PerAddress   int   // connections at once to one IP address
	Policy       netpolicy.Policy
	Proxy        *url.URL // http, https or socks5; nil is none
	// ChainTrust is how long a certificate chain that was fully verified for
	// a name is not verified again; negative: verified each time.
	ChainTrust time.Duration
	Roots      *x509.CertPool // nil is the system's
	Resolver   Resolver       // nil is the system's name servers
}

// Resolver finds the addresses of a name; *net.Resolver is one. It has to
// return when the context ends.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Client looks at sites. It keeps no connection and no cookie between looks,
// only verified chains. Safe for concurrent use.
type Client struct {
	set    Settings
	dialer *net.Dialer
	limit  *limiter
	tls    *tls.Config
	chains *chainCache
	http2  *http.Transport
	now    func() time.Time
	bufs   sync.Pool // *exchange

	decoders decoders
}

// New makes a client.
func New(s Settings) *Client {
	if s.UserAgent == "" {
		s.UserAgent = "robotswatch"
	}
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	if s.MaxRedirects <= 0 {
		s.MaxRedirects = DefaultMaxRedirects
	}
	if s.MaxBytes <= 0 {
		s.MaxBytes = DefaultMaxBytes
	}
	if s.PerAddress <= 0 {
		s.PerAddress = DefaultPerAddress
	}
	if s.ChainTrust == 0 {
		s.ChainTrust = DefaultChainTrust
	}
	if s.Resolver == nil {
		// The Go resolver ends with its context; the system's may not.
		s.Resolver = &net.Resolver{PreferGo: true}
	}
	c := &Client{
		set:    s,
		dialer: s.Policy.Dialer(net.Dialer{KeepAlive: -1}),
		limit:  newLimiter(s.PerAddress),
		chains: newChainCache(s.ChainTrust, s.Roots),
		now:    time.Now,

		decoders: newDecoders(),
	}
	c.tls = c.tlsConfig()
	c.http2 = newHTTP2()
	return c
}

// SetRoots changes whom certificates may be signed by, nil for the system's
// store, and forgets what was verified before.
func (c *Client) SetRoots(roots *x509.CertPool) { c.chains.setRoots(roots) }
