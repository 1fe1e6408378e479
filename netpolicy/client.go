package netpolicy

import (
	"io"
	"net"
	"net/http"
	"time"
)

// Limits of a Client, which talks to receivers of messages.
const (
	clientConnectTimeout = 10 * time.Second
	clientIdleTimeout    = 30 * time.Second
	clientMaxHeaderBytes = 64 << 10
	clientMaxBodyBytes   = 1 << 20
)

// Client is an HTTP client for requests of our own making (receivers of
// messages), whose connections obey the policy: whatever a receiver's name
// resolves to, the address is checked when it is connected to. The timeout
// covers a whole exchange, body included.
//
// Redirects are not followed: a message goes where the configuration says, so
// a 3xx comes back as the answer. There are no cookies, and proxy variables of
// the environment are ignored, since a proxy would connect for us unchecked.
// An answer ends at 1 MiB, since some read it whole.
func Client(p Policy, timeout time.Duration) *http.Client {
	dialer := p.Dialer(net.Dialer{Timeout: clientConnectTimeout})
	return &http.Client{
		Timeout: timeout,
		Transport: bounded{&http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    clientConnectTimeout,
			IdleConnTimeout:        clientIdleTimeout,
			MaxIdleConnsPerHost:    2,
			MaxResponseHeaderBytes: clientMaxHeaderBytes,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// bounded cuts the bodies of answers at clientMaxBodyBytes.
type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, clientMaxBodyBytes), resp.Body}
	return resp, nil
}
