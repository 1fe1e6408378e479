package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/robotswatch/robotswatch/netpolicy"
)

// loopback lets the tests' own servers be reached.
var loopback = netpolicy.Policy{Allow: []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
}}

// rawServer lets a test speak to the socket itself.
type rawServer struct {
	origin  string
	asked   atomic.Int64 // connections
	written atomic.Int64 // octets
}

// serve runs handle for each connection, after the request's headers were
// read; the connection is closed when handle returns.
func serve(t *testing.T, handle func(c net.Conn, request string)) *rawServer {
	t.Helper()
	return listen(t, "127.0.0.1:0", func(c net.Conn) {
		if request, err := readHead(c); err == nil {
			handle(c, request)
		}
	})
}

// listen runs handle for each connection and ends all of it with the test.
func listen(t *testing.T, address string, handle func(net.Conn)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{origin: "http://" + l.Addr().String()}
	var mu sync.Mutex
	open := make(map[net.Conn]bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.asked.Add(1)
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				handle(&countingConn{c, &s.written})
				c.Close()
				mu.Lock()
				delete(open, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

type countingConn struct {
	net.Conn
	written *atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// reset closes the connection with RST.
func (c *countingConn) reset() {
	c.Conn.(*net.TCPConn).SetLinger(0)
	c.Conn.Close()
}

func readHead(c net.Conn) (string, error) {
	var head []byte
	var b [512]byte
	for {
		n, err := c.Read(b[:])
		head = append(head, b[:n]...)
		if bytes.Contains(head, []byte("\r\n\r\n")) {
			return string(head), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// say answers with a text and closes.
func say(text string) func(net.Conn, string) {
	return func(c net.Conn, _ string) { io.WriteString(c, text) }
}

// endless writes a start and then a piece again and again, until it fails.
func endless(start, piece string) func(net.Conn, string) {
	many := []byte(strings.Repeat(piece, 1+4096/len(piece)))
	return func(c net.Conn, _ string) {
		io.WriteString(c, start)
		for {
			if _, err := c.Write(many); err != nil {
				return
			}
		}
	}
}

// drip writes a start and then an octet now and then.
func drip(start, octet string) func(net.Conn, string) {
	return func(c net.Conn, _ string) {
		io.WriteString(c, start)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := io.WriteString(c, octet); err != nil {
				return
			}
		}
	}
}

func silent(c net.Conn, _ string) { io.Copy(io.Discard, c) }

const (
	ok200  = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	record = "Disallow: /private/some-path\n"
	group  = "User-agent: *\nDisallow: /x\n"
)

// packer writes one content coding.
func packer(t *testing.T, coding string, to io.Writer) io.WriteCloser {
	t.Helper()
	switch coding {
	case "gzip":
		return gzip.NewWriter(to)
	case "br":
		return brotli.NewWriterLevel(to, 2)
	}
	w, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func pack(t *testing.T, coding, text string) string {
	t.Helper()
	var b strings.Builder
	w := packer(t, coding, &b)
	io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// bomb is a packed body of a given size when unpacked.
func bomb(t *testing.T, coding string, size int) string {
	t.Helper()
	var b strings.Builder
	w := packer(t, coding, &b)
	piece := bytes.Repeat([]byte(record), 1000)
	for n := 0; n < size; n += len(piece) {
		w.Write(piece)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func withLength(headers, body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", headers, len(body), body)
}

// hostileTimeout is short: those that wait for it are many.
const hostileTimeout = 400 * time.Millisecond

// patience is the time limit for a look that may end for these reasons: ample
// where time is not what ends it, since machines are slow at times.
func patience(reasons ...Reason) time.Duration {
	if slices.Contains(reasons, Timeout) {
		return hostileTimeout
	}
	return 20 * time.Second
}

// TestHostileServers holds each of them against its bounds: the time of a
// look, the octets taken, the memory used. At the end nothing is left.
func TestHostileServers(t *testing.T) {
	before := baseline(t)
	bombOf := func(coding string) string {
		return withLength(ok200+"Content-Encoding: "+coding+"\r\n", bomb(t, coding, 30<<20))
	}
	whole := pack(t, "gzip", strings.Repeat(record, 150))
	cutGzip := whole[:len(whole)-20]
	badGzip := []byte(whole)
	badGzip[len(badGzip)-5] ^= 1

	for _, h := range []struct {
		name   string
		handle func(net.Conn, string)
		state  State
		reason Reason
	}{
		{"endless body", endless(ok200+"\r\n"+group, record), Policy, NoReason},
		{"endless chunks", endless(ok200+"Transfer-Encoding: chunked\r\n\r\n", "1d\r\n"+record+"\r\n"), Policy, NoReason},
		{"endless noise", endless(ok200+"\r\n", "\x00\x01\x7f\xff"), NotRobots, Binary},
		{"endless page", endless(ok200+"\r\n<!doctype html>", "<p>hello</p>\n"), NotRobots, HTML},
		{"endless tiny chunks", endless(ok200+"Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"), Unreachable, TooMuchTraffic},
		{"endless chunk extension", endless(ok200+"Transfer-Encoding: chunked\r\n\r\n1d;a=", "b"), Unreachable, BadAnswer},
		{"endless trailers", endless(ok200+"Transfer-Encoding: chunked\r\n\r\n1d\r\n"+record+"\r\n0\r\n", "X-A: b\r\n"), Unreachable, BadAnswer},
		{"endless headers", endless(ok200, "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaa\r\n"), Unreachable, HeaderTooLarge},
		{"endless header value", endless(ok200+"X-Filler: ", "a"), Unreachable, HeaderTooLarge},
		{"endless status line", endless("HTTP/1.1 200 ", "a"), Unreachable, HeaderTooLarge},
		{"endless interim answers", endless("", "HTTP/1.1 100 Continue\r\n\r\n"), Unreachable, BadAnswer},
		{"interim answers with endless headers", endless("HTTP/1.1 103 Early Hints\r\n", "Link: </x>; rel=preload\r\n"), Unreachable, HeaderTooLarge},
		{"dripping body", drip(ok200+"\r\n"+group, "#"), Unreachable, Timeout},
		{"dripping headers", drip(ok200+"X-Slow: ", "a"), Unreachable, Timeout},
		{"dripping from the start", drip("", "H"), Unreachable, Timeout},
		{"silence", silent, Unreachable, Timeout},
		{"silence after the headers", func(c net.Conn, r string) {
			io.WriteString(c, ok200+"Content-Length: 10\r\n\r\n")
			silent(c, r)
		}, Unreachable, Timeout},
		{"closed without a word", say(""), Unreachable, ConnReset},
		{"reset at once", func(c net.Conn, _ string) { c.(*countingConn).reset() }, Unreachable, ConnReset},
		{"reset in the body", func(c net.Conn, _ string) {
			io.WriteString(c, ok200+"Content-Length: 1000\r\n\r\n"+group)
			c.(*countingConn).reset()
		}, Unreachable, ConnReset},
		{"closed in the body", say(ok200 + "Content-Length: 1000\r\n\r\n" + group), Unreachable, TruncatedBody},
		{"closed between chunks", say(ok200 + "Transfer-Encoding: chunked\r\n\r\n1d\r\n" + record + "\r\n"), Unreachable, TruncatedBody},
		{"closed in the headers", say(ok200), Unreachable, ConnReset},
		{"length shorter than the body", say(ok200 + "Content-Length: 27\r\n\r\n" + group + "Disallow: /y\n"), Policy, NoReason},
		{"negative length", say(ok200 + "Content-Length: -1\r\n\r\n" + group), Unreachable, BadAnswer},
		{"length too large for a number", say(ok200 + "Content-Length: 99999999999999999999\r\n\r\n" + group), Unreachable, BadAnswer},
		{"two lengths", say(ok200 + "Content-Length: 5\r\nContent-Length: 27\r\n\r\n" + group), Unreachable, BadAnswer},
		{"chunk size too large for a number", say(ok200 + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + record), Unreachable, BadAnswer},
		{"unknown transfer encoding", say(ok200 + "Transfer-Encoding: mystery\r\n\r\n" + group), Unreachable, BadAnswer},
		{"garbage for a status line", say("\x16\x03\x01\x02\x00 what is this\r\n\r\n"), Unreachable, BadAnswer},
		{"HTTP/0.9", say("User-agent: *\nDisallow: /\n"), Unreachable, BadAnswer},
		{"status without number", say("HTTP/1.1 OK\r\n\r\n"), Unreachable, BadAnswer},
		{"status of five digits", say("HTTP/1.1 20000 OK\r\n\r\n"), Unreachable, BadAnswer},
		{"status 999", say("HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n"), Unreachable, "http_999"},
		{"switching protocols", say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), Unreachable, "http_101"},
		{"control characters in a header", say(ok200 + "X-A: b\x00c\r\n\r\n" + group), Unreachable, BadAnswer},
		{"header without colon", say(ok200 + "what\r\n\r\n" + group), Unreachable, BadAnswer},
		{"gzip bomb", say(bombOf("gzip")), NotRobots, Bomb},
		{"brotli bomb", say(bombOf("br")), NotRobots, Bomb},
		{"zstd bomb", say(bombOf("zstd")), NotRobots, Bomb},
		{"zstd with a window of a gigabyte", say(withLength(ok200+"Content-Encoding: zstd\r\n", "\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00")), Unreachable, BadEncoding},
		{"gzip cut short", say(withLength(ok200+"Content-Encoding: gzip\r\n", cutGzip)), Unreachable, TruncatedBody},
		{"gzip with a wrong checksum", say(withLength(ok200+"Content-Encoding: gzip\r\n", string(badGzip))), Unreachable, BadEncoding},
		{"brotli that is none", say(withLength(ok200+"Content-Encoding: br\r\n", "\xff\xff\xff\xff what?")), Unreachable, BadEncoding},
		{"gzip that is plain text", say(withLength(ok200+"Content-Encoding: gzip\r\n", group)), Policy, NoReason},
		{"brotli that is plain text", say(withLength(ok200+"Content-Encoding: br\r\n", group)), Policy, NoReason},
		{"part of a file", say(withLength("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-26/900\r\n", group)), Unreachable, TruncatedBody},
		{"304 that nobody asked for", say("HTTP/1.1 304 Not Modified\r\n\r\n"), Unreachable, UnaskedNoChange},
	} {
		t.Run(h.name, func(t *testing.T) {
			srv := serve(t, h.handle)
			timeout := patience(h.reason)
			c := New(Settings{Policy: loopback, Timeout: timeout})
			got, cost := costOf(func() Outcome {
				return c.Look(context.Background(), Request{Origin: srv.origin})
			})
			if got.State != h.state || got.Reason != h.reason {
				t.Errorf("%s %s (%s), want %s %s", got.State, got.Reason, got.Detail, h.state, h.reason)
			}
			withinBounds(t, got, cost, srv, timeout)
		})
	}
	backToBaseline(t, before)
}

// cost of a look: what was allocated in the meantime, the test's server
// included.
type cost struct{ allocated uint64 }

func costOf(look func() Outcome) (Outcome, cost) {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	got := look()
	runtime.ReadMemStats(&b)
	return got, cost{b.TotalAlloc - a.TotalAlloc}
}

// withinBounds checks what holds for every look at every server.
func withinBounds(t *testing.T, got Outcome, c cost, srv *rawServer, timeout time.Duration) {
	t.Helper()
	if got.Took > timeout+time.Second {
		t.Errorf("took %v", got.Took)
	}
	if c.allocated > 24<<20 {
		t.Errorf("%d MiB were allocated", c.allocated>>20)
	}
	// The kernel's buffers on the way may hold a few MiB that nobody reads.
	if n := srv.written.Load(); n > 2*DefaultMaxBytes+trafficAllowance+8<<20 {
		t.Errorf("the server got rid of %d MiB", n>>20)
	}
	if n := srv.asked.Load(); n > int64(DefaultMaxRedirects)+1 {
		t.Errorf("%d connections", n)
	}
	if int64(len(got.Body)) > DefaultMaxBytes {
		t.Errorf("a body of %d octets", len(got.Body))
	}
	for _, r := range got.Detail {
		if r < ' ' || r == 0x7f {
			t.Errorf("control characters in %q", got.Detail)
		}
	}
	if utf8.RuneCountInString(got.Detail) > maxDetail {
		t.Errorf("detail of %d octets", len(got.Detail))
	}
	if got.State != Policy && got.Body != nil {
		t.Errorf("state %s with a body", got.State)
	}
	if got.State != Policy && (got.Reason == NoReason || got.Detail == "") {
		t.Errorf("%s without reason or detail: %+v", got.State, got)
	}
}

// resources that a look must give back.
type resources struct {
	goroutines int
	heap       uint64
}

func baseline(t *testing.T) resources {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return resources{runtime.NumGoroutine(), m.HeapAlloc}
}

// backToBaseline waits until no more is in use than before.
func backToBaseline(t *testing.T, before resources) {
	t.Helper()
	var now resources
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 50 {
		now = baseline(t)
		if now.goroutines <= before.goroutines && now.heap <= before.heap+4<<20 {
			return
		}
		<-tick.C // what is closed takes a moment to end
	}
	buf := make([]byte, 64<<10)
	t.Errorf("before %+v, after %+v\n%s", before, now, buf[:runtime.Stack(buf, true)])
}
