package fetch

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
)

// errWantsHTTP2: the server does not speak HTTP/1.1.
var errWantsHTTP2 = errors.New("the server wants HTTP/2")

// handedOver is the context's key of the connection for the transport.
type handedOver struct{}

// newHTTP2 makes a transport that speaks HTTP/2 on connections that are handed
// to it. To it they are unencrypted, since TLS lies below.
func newHTTP2() *http.Transport {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols:              &protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(handedOver{}).(net.Conn), nil
		},
	}
}

func (l *look) askHTTP2(ctx context.Context, secure *tls.Conn, h hop, x *exchange) (string, error) {
	ctx, cancel := context.WithDeadline(ctx, l.deadline)
	defer cancel()
	handed := context.WithValue(ctx, handedOver{}, net.Conn(&knownFrames{Conn: secure}))
	conn, err := l.client.http2.NewClientConn(handed, "http", net.JoinHostPort(h.host, strconv.Itoa(int(h.port))))
	if err != nil {
		return "", answerError(err)
	}
	defer conn.Close()
	req := &http.Request{Method: http.MethodGet, URL: h.parsed, Host: h.header, Header: make(http.Header, 6)}
	for _, f := range l.fields(h) {
		req.Header[f.Name] = []string{f.Value}
	}
	res, err := conn.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return "", headError(err)
	}
	defer res.Body.Close()
	return l.record(h, answer{res.StatusCode, res.Header, res.Body}, x)
}

// knownFrames leaves frames of unknown types out of what is read, which RFC
// 9113 (4.1) asks for. The transport would do so itself, but not without a line
// in the log for each: a stranger could fill it.
type knownFrames struct {
	net.Conn
	head [9]byte // of the frame that is being read (RFC 9113, 4.1)
	sent int     // octets of head passed on; all of them before the payload
	left int     // octets of payload to come
	used bool    // head holds a frame
}

func (k *knownFrames) Read(p []byte) (int, error) {
	for !k.used || k.sent == len(k.head) && k.left == 0 {
		if err := k.next(); err != nil {
			return 0, err
		}
	}
	if k.sent < len(k.head) {
		n := copy(p, k.head[k.sent:])
		k.sent += n
		return n, nil
	}
	n, err := k.Conn.Read(p[:min(len(p), k.left)])
	k.left -= n
	return n, err
}

// lastFrameType is CONTINUATION (RFC 9113, 6.10), the last that net/http knows.
const lastFrameType = 0x9

// next reads the head of the next frame of a known type.
func (k *knownFrames) next() error {
	for {
		if _, err := io.ReadFull(k.Conn, k.head[:]); err != nil {
			return err
		}
		length := int(binary.BigEndian.Uint32(k.head[:4]) >> 8)
		if k.head[3] <= lastFrameType {
			k.used, k.sent, k.left = true, 0, length
			return nil
		}
		if _, err := io.CopyN(io.Discard, k.Conn, int64(length)); err != nil {
			return err
		}
	}
}
