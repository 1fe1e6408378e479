package fetch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"golang.org/x/net/http/httpguts"
)

// One connection carries one request: a monitor meets a site once in hours, so
// that a kept connection would only cost memory, on both sides. HTTP/1.1 is
// spoken without net/http's Transport, whose pool, goroutines and buffers per
// connection are made for reuse; its parser is used.

var (
	errTraffic   = errors.New("the server sent more than an honest answer can need")
	errHeader    = errors.New("the headers are longer than allowed")
	errInterim   = errors.New("too many interim (1xx) answers")
	errTruncated = errors.New("the transfer ended before it was complete")
	errNotHTTP   = errors.New("the answer is not HTTP")
	errNoAnswer  = errors.New("closed without an answer")
	errProxyAuth = errors.New("it wants to be authenticated to (status 407)")
	errHandshake = errors.New("the TLS handshake failed")
)

// metered counts down what a connection may still receive. It stands under
// TLS, so that floods of any layer end.
type metered struct {
	net.Conn
	left int64
}

func (m *metered) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTraffic
	}
	if int64(len(p)) > m.left {
		p = p[:m.left]
	}
	n, err := m.Conn.Read(p)
	m.left -= int64(n)
	return n, err
}

// exchange holds the buffers of one request; they are pooled.
type exchange struct {
	in   headLimit
	read *bufio.Reader
	send []byte
	raw  []byte // body as received
}

// headLimit bounds what is read before the headers are complete.
type headLimit struct {
	r      io.Reader
	left   int
	inBody bool
	err    error // of the last read; http.ReadResponse may hide it
}

func (h *headLimit) Read(p []byte) (int, error) {
	if h.inBody {
		return h.r.Read(p)
	}
	if h.left <= 0 {
		h.err = errHeader
		return 0, h.err
	}
	if len(p) > h.left {
		p = p[:h.left]
	}
	n, err := h.r.Read(p)
	h.left -= n
	h.err = err
	return n, err
}

const (
	readBufferSize = 4 << 10
	maxPooledBody  = 128 << 10 // larger buffers are rare; let them go
)

func (c *Client) exchange() *exchange {
	if x, _ := c.bufs.Get().(*exchange); x != nil {
		return x
	}
	x := new(exchange)
	x.read = bufio.NewReaderSize(&x.in, readBufferSize)
	return x
}

func (c *Client) done(x *exchange) {
	x.in = headLimit{}
	x.read.Reset(&x.in)
	if cap(x.raw) > maxPooledBody {
		x.raw = nil
	}
	c.bufs.Put(x)
}

// answer is what one hop sent.
type answer struct {
	status int
	header http.Header
	body   io.Reader
}

// ask sends the request of one hop, records the answer in the outcome, and
// returns where it redirects to, or "".
func (l *look) ask(ctx context.Context, h hop) (redirect string, err error) {
	c := l.client
	l.out.TLSSubject = ""
	conn, release, err := l.connect(ctx, h)
	if err != nil {
		return "", err
	}
	defer release()
	defer conn.Close()
	if err := conn.SetDeadline(l.deadline); err != nil {
		return "", err
	}
	if ctx.Done() != nil {
		socket := conn
		stop := context.AfterFunc(ctx, func() { socket.Close() })
		defer stop()
	}

	x := c.exchange()
	defer c.done(x)
	conn = &metered{Conn: conn, left: 2*c.set.MaxBytes + trafficAllowance}
	if h.https {
		secure, err := l.handshake(ctx, conn, h)
		if err != nil {
			return "", err
		}
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return l.askHTTP2(ctx, secure, h, x)
		}
		conn = secure
	}
	a, err := l.askHTTP1(conn, h, x)
	if err != nil {
		return "", err
	}
	if h.https && !l.http2 && (a.status == http.StatusHTTPVersionNotSupported || a.status == http.StatusUpgradeRequired) {
		return "", errWantsHTTP2
	}
	if a.status == http.StatusProxyAuthRequired && c.proxyRelays(h) {
		return "", &proxyError{errProxyAuth}
	}
	return l.record(h, a, x)
}

// askHTTP1 writes the request and reads the answer's headers.
func (l *look) askHTTP1(conn net.Conn, h hop, x *exchange) (answer, error) {
	x.send = l.appendRequest(x.send[:0], h)
	if _, err := conn.Write(x.send); err != nil {
		return answer{}, err
	}
	x.in = headLimit{r: conn, left: MaxHeaderBytes}
	x.read.Reset(&x.in)
	for range MaxInterim + 1 {
		res, err := http.ReadResponse(x.read, nil)
		if err != nil {
			return answer{}, headError(cmp.Or(x.in.err, err))
		}
		if res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			x.in.inBody = true
			return answer{res.StatusCode, res.Header, res.Body}, nil
		}
	}
	return answer{}, errInterim
}

// headError sorts out why the headers could not be read.
func headError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errNoAnswer
	}
	return answerError(err)
}

// bodyError sorts out why the body could not be read.
func bodyError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errTruncated
	}
	return answerError(err)
}

// answerError keeps what the connection or our limits did. Whatever else
// net/http complains of, mostly in untyped errors, is a server that does not
// speak HTTP.
func answerError(err error) error {
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, errHeader) || errors.Is(err, errTraffic) || errors.Is(err, net.ErrClosed) {
		return err
	}
	return &badAnswer{err}
}

// badAnswer is an answer that is not HTTP.
type badAnswer struct{ err error }

func (e *badAnswer) Error() string { return errNotHTTP.Error() + ": " + e.err.Error() }
func (e *badAnswer) Unwrap() error { return e.err }

// appendRequest writes the one request we make: honest, no cookies, no
// referrer, nothing that identifies more than the crawler.
func (l *look) appendRequest(b []byte, h hop) []byte {
	b = append(b, "GET "...)
	relayed := l.client.proxyRelays(h)
	if relayed {
		b = append(b, h.url...)
	} else {
		b = append(b, h.target...)
	}
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, h.header...)
	b = append(b, "\r\n"...)
	if relayed {
		b = append(b, l.client.proxyAuthorization()...)
	}
	for _, f := range l.fields(h) {
		b = append(b, f.Name...)
		b = append(b, ": "...)
		b = append(b, f.Value...)
		b = append(b, "\r\n"...)
	}
	return append(b, "Connection: close\r\n\r\n"...)
}

// fields are the request's headers beyond those of the protocol version.
func (l *look) fields(h hop) []Header {
	f := make([]Header, 0, 6)
	f = append(f,
		Header{"User-Agent", l.client.set.UserAgent},
		Header{"Accept", "text/plain, */*;q=0.5"},
		Header{"Accept-Encoding", "gzip, br, zstd"})
	if !l.conditional(h) {
		return f
	}
	if validator(l.req.ETag) {
		f = append(f, Header{"If-None-Match", l.req.ETag})
	}
	if validator(l.req.Modified) {
		f = append(f, Header{"If-Modified-Since", l.req.Modified})
	}
	return f
}

// conditional reports whether validators go to this hop: only to the URL that
// they came from. Elsewhere an equal tag would be a coincidence.
func (l *look) conditional(h hop) bool {
	if !validator(l.req.ETag) && !validator(l.req.Modified) {
		return false
	}
	if l.req.FinalURL == "" {
		return l.out.Redirects == 0
	}
	return l.req.FinalURL == h.url
}

// validator reports whether a stored ETag or Last-Modified can be sent back.
func validator(s string) bool {
	return s != "" && len(s) <= MaxValidator && httpguts.ValidHeaderFieldValue(s)
}
