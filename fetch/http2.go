package fetch

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

// errWantsHTTP2: the server does not speak HTTP/1.1.
var errWantsHTTP2 = errors.New("the server wants HTTP/2")

// newHTTP2 makes a transport that is given its connections, one request each.
func newHTTP2() *http2.Transport {
	return &http2.Transport{DisableCompression: true, MaxHeaderListSize: MaxHeaderBytes}
}

func (l *look) askHTTP2(ctx context.Context, secure *tls.Conn, h hop, x *exchange) (string, error) {
	ctx, cancel := context.WithDeadline(ctx, l.deadline)
	defer cancel()
	conn, err := l.client.http2.NewClientConn(&knownFrames{Conn: secure})
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

// next reads the head of the next frame of a known type.
func (k *knownFrames) next() error {
	for {
		if _, err := io.ReadFull(k.Conn, k.head[:]); err != nil {
			return err
		}
		length := int(binary.BigEndian.Uint32(k.head[:4]) >> 8)
		if http2.FrameType(k.head[3]) <= http2.FrameContinuation {
			k.used, k.sent, k.left = true, 0, length
			return nil
		}
		if _, err := io.CopyN(io.Discard, k.Conn, int64(length)); err != nil {
			return err
		}
	}
}
