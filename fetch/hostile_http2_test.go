package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/robotswatch/robotswatch/internal/testpki"
)

// frames is a server's side of HTTP/2 after the client's request has come.
type frames struct {
	*http2.Framer
	stream uint32
	asked  map[string]string // the request's headers
	gone   chan struct{}     // closed when the client is
}

// again repeats a frame until the connection fails.
func again(f func() error) {
	for f() == nil {
	}
}

func block(fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

func (f *frames) headers(end bool, fields ...string) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.stream, BlockFragment: block(fields...), EndHeaders: true, EndStream: end})
}

// serveHTTP2 speaks HTTP/2 and nothing else.
func serveHTTP2(t *testing.T, ca *testpki.Authority, handle func(*frames)) *rawServer {
	cert := issue(t, ca, testpki.Leaf{Names: []string{"site.test"}})
	cfg := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		proto := "h2"
		if !slices.Contains(hello.SupportedProtos, proto) {
			proto = "other"
		}
		return &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{proto}}, nil
	}}
	return listen(t, "127.0.0.1:0", func(c net.Conn) {
		secure := tls.Server(c, cfg)
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(secure, preface); err != nil {
			return
		}
		f := &frames{Framer: http2.NewFramer(secure, secure)}
		if f.WriteSettings() != nil {
			return
		}
		for {
			got, err := f.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := got.(*http2.HeadersFrame); ok {
				f.stream, f.asked = h.StreamID, make(map[string]string)
				fields, err := hpack.NewDecoder(4096, nil).DecodeFull(h.HeaderBlockFragment())
				if err != nil {
					return
				}
				for _, field := range fields {
					f.asked[field.Name] = field.Value
				}
				break
			}
		}
		f.gone = make(chan struct{})
		go func() { // what the client acknowledges has to go somewhere
			defer close(f.gone)
			io.Copy(io.Discard, secure)
		}()
		handle(f)
		secure.Close()
		<-f.gone
	})
}

func TestHostileHTTP2Servers(t *testing.T) {
	before := baseline(t)
	ca := authority(t)
	data := []byte(strings.Repeat(record, 500))
	for _, h := range []struct {
		name    string
		handle  func(*frames)
		state   State
		reasons []Reason // any of them: which comes first is the machine's choice
	}{
		{"good", func(f *frames) {
			if f.asked[":scheme"] != "https" || f.asked[":path"] != "/robots.txt" || !strings.HasPrefix(f.asked[":authority"], "site.test:") ||
				f.asked["user-agent"] != "robotswatch" || f.asked["accept-encoding"] != "gzip, br, zstd" || len(f.asked) != 7 {
				f.headers(true, ":status", "400")
				return
			}
			f.headers(false, ":status", "200")
			f.WriteData(f.stream, true, []byte(group))
		}, Policy, []Reason{""}},
		{"endless body", func(f *frames) {
			f.headers(false, ":status", "200")
			again(func() error { return f.WriteData(f.stream, false, data) })
		}, Policy, []Reason{""}},
		{"settings flood", func(f *frames) { again(func() error { return f.WriteSettings() }) }, Unreachable, []Reason{TooMuchTraffic, BadAnswer, Timeout}},
		{"ping flood", func(f *frames) { again(func() error { return f.WritePing(false, [8]byte{}) }) }, Unreachable, []Reason{TooMuchTraffic, Timeout}},
		{"window flood", func(f *frames) { again(func() error { return f.WriteWindowUpdate(0, 1) }) }, Unreachable, []Reason{TooMuchTraffic, BadAnswer, Timeout}},
		{"flood of unknown frames", func(f *frames) { again(func() error { return f.WriteRawFrame(0xbe, 0, 0, data) }) }, Unreachable, []Reason{TooMuchTraffic}},
		{"flood of empty data", func(f *frames) {
			f.headers(false, ":status", "200")
			again(func() error { return f.WriteData(f.stream, false, nil) })
		}, Unreachable, []Reason{TooMuchTraffic, Timeout}},
		{"flood of padding", func(f *frames) {
			f.headers(false, ":status", "200")
			again(func() error { return f.WriteDataPadded(f.stream, false, nil, make([]byte, 255)) })
		}, Unreachable, []Reason{TooMuchTraffic, Timeout, BadAnswer}},
		{"endless continuation", func(f *frames) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.stream, BlockFragment: block(":status", "200")})
			again(func() error {
				return f.WriteContinuation(f.stream, false, block("x-filler", strings.Repeat("a", 4000)))
			})
		}, Unreachable, []Reason{HeaderTooLarge, BadAnswer, TooMuchTraffic}},
		{"headers that unpack to megabytes", func(f *frames) {
			b := block(":status", "200", "x-filler", strings.Repeat("a", 3500))
			b = append(b, bytes.Repeat([]byte{0x80 | 62}, 10000)...) // the filler again and again
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.stream, BlockFragment: b, EndHeaders: true})
			again(func() error { return f.WritePing(false, [8]byte{}) })
		}, Unreachable, []Reason{HeaderTooLarge, BadAnswer}},
		{"endless interim answers", func(f *frames) {
			again(func() error { return f.headers(false, ":status", "103", "link", "</x>") })
		}, Unreachable, []Reason{BadAnswer, TooMuchTraffic, HeaderTooLarge}},
		{"a stream that is reset", func(f *frames) { f.WriteRSTStream(f.stream, http2.ErrCodeRefusedStream) }, Unreachable, []Reason{BadAnswer, ConnReset}},
		{"reset in the body", func(f *frames) {
			f.headers(false, ":status", "200", "content-length", "1000")
			f.WriteData(f.stream, false, []byte(group))
			f.WriteRSTStream(f.stream, http2.ErrCodeInternal)
		}, Unreachable, []Reason{BadAnswer, ConnReset, TruncatedBody}},
		{"shorter than its length", func(f *frames) {
			f.headers(false, ":status", "200", "content-length", "1000")
			f.WriteData(f.stream, true, []byte(group))
		}, Unreachable, []Reason{TruncatedBody}},
		{"closed in the body", func(f *frames) {
			f.headers(false, ":status", "200", "content-length", "1000")
			f.WriteData(f.stream, false, []byte(group))
		}, Unreachable, []Reason{TruncatedBody, ConnReset}},
		{"goes away", func(f *frames) { f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("no\x1b[31m")) }, Unreachable, []Reason{BadAnswer, ConnReset}},
		{"frame too long", func(f *frames) {
			again(func() error { return f.WriteRawFrame(http2.FrameData, 0, f.stream, make([]byte, 1<<20)) })
		}, Unreachable, []Reason{BadAnswer, TooMuchTraffic}},
		{"no status", func(f *frames) { f.headers(true, "x-a", "b") }, Unreachable, []Reason{BadAnswer}},
		{"silence", func(f *frames) { <-f.gone }, Unreachable, []Reason{Timeout}},
	} {
		t.Run(h.name, func(t *testing.T) {
			srv := serveHTTP2(t, ca, h.handle)
			timeout := patience(h.reasons...)
			client := New(Settings{Policy: loopback, Resolver: siteTest, Roots: ca.Roots(), Timeout: timeout})
			got, cost := costOf(func() Outcome {
				return client.Look(context.Background(), Request{Origin: secureOrigin(srv)})
			})
			if got.State != h.state || !slices.Contains(h.reasons, got.Reason) {
				t.Errorf("%s %s (%s), want %s %v", got.State, got.Reason, got.Detail, h.state, h.reasons)
			}
			withinBounds(t, got, cost, srv, timeout)
		})
	}
	backToBaseline(t, before)
}
