package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// errWantsHTTP2: the server does not speak HTTP/1.1.
var errWantsHTTP2 = errors.New("the server wants HTTP/2")

// handedOver is the context key of the connection for the HTTP/2 transport.
type handedOver struct{}

// newH2Transport makes net/http speak HTTP/2 on connections that we opened
// ourselves, one request on each.
func newH2Transport() *http.Transport {
	var only http.Protocols
	only.SetHTTP2(true)
	return &http.Transport{
		Protocols:              &only,
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(handedOver{}).(*tls.Conn), nil
		},
	}
}

func (l *look) askHTTP2(ctx context.Context, secure *tls.Conn, h hop, x *exchange) (string, error) {
	ctx, cancel := context.WithDeadline(ctx, l.deadline)
	defer cancel()
	cc, err := l.client.h2.NewClientConn(context.WithValue(ctx, handedOver{}, secure), "https", h.header)
	if err != nil {
		return "", err
	}
	defer cc.Close()
	req := &http.Request{Method: http.MethodGet, URL: h.parsed, Host: h.header, Header: make(http.Header, 6)}
	for _, f := range l.fields(h) {
		req.Header[f.Name] = []string{f.Value}
	}
	res, err := cc.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return "", headError(err)
	}
	defer res.Body.Close()
	return l.record(h, answer{res.StatusCode, res.Header, res.Body}, x)
}
