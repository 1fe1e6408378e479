package fetch

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"
)

// replay is a connection on which a server has said all it will say.
type replay struct {
	net.Conn
	r io.Reader
}

func (c replay) Read(p []byte) (int, error)  { return c.r.Read(p) }
func (c replay) Write(p []byte) (int, error) { return len(p), nil }

// FuzzAnswer takes the input for what a server answers.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		withLength(ok200+"ETag: \"a\"\r\n", group),
		ok200 + "Transfer-Encoding: chunked\r\n\r\n1b\r\n" + group + "\r\n0\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nETag: \"b\"\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: https://user:pass@example.com:443/a?b c#d\r\n\r\n",
		"HTTP/1.1 503 Down\r\nRetry-After: Mon, 30 Nov 2026 09:10:00 GMT\r\n\r\n<title>Just a moment...</title>",
		"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.0 403 No\r\n\r\n",
		ok200 + "Content-Encoding: br\r\n\r\n\x0b\x02\x80hello\x03",
		ok200 + "Content-Encoding: zstd\r\n\r\n\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00",
		ok200 + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00",
		"HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-1/9\r\n\r\nab",
	} {
		f.Add([]byte(seed))
	}
	const max = 4 << 10
	c := New(Settings{MaxBytes: max})
	h, err := firstHop(Request{Origin: "https://example.com"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		l := c.look(Request{Origin: "https://example.com", ETag: `"a"`})
		x := c.exchange()
		next := ""
		a, err := l.askHTTP1(replay{r: bytes.NewReader(answer)}, h, x)
		if err == nil {
			next, err = l.record(h, a, x)
		}
		c.done(x)
		if err != nil {
			l.failed(context.Background(), h, err)
		}
		if next != "" && l.out.State == "" {
			to, err := h.follow(next, h.port)
			if err == nil && (to.parsed.User != nil || !printableASCII(to.target) || !printableASCII(to.header)) {
				t.Errorf("%q leads to %q at %q", next, to.target, to.header)
			}
			return
		}
		checkOutcome(t, l.out, max)
	})
}

func printableASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(b byte) bool { return b <= ' ' || b >= 0x7f })
}

// checkOutcome is what holds for every outcome.
func checkOutcome(t *testing.T, o Outcome, max int) {
	t.Helper()
	if !slices.Contains([]State{Policy, Absent, Denied, Unreachable, NotRobots}, o.State) {
		t.Errorf("state %q", o.State)
	}
	if o.State != Policy && (o.Reason == NoReason || o.Body != nil || o.NotModified || o.ETag != "") {
		t.Errorf("not a policy, but %+v", o)
	}
	if o.State == Policy && (o.Body == nil) != o.NotModified {
		t.Errorf("body %v, not modified %v", o.Body, o.NotModified)
	}
	if len(o.Body) > max {
		t.Errorf("a body of %d octets", len(o.Body))
	}
	if o.RetryAfter < 0 || o.RetryAfter > maxRetryAfter {
		t.Errorf("retry after %v", o.RetryAfter)
	}
	texts := []string{o.Detail, o.Vendor, o.TLSSubject}
	for _, e := range o.Headers {
		texts = append(texts, e.Value)
	}
	for _, s := range texts {
		if !utf8.ValidString(s) || slices.ContainsFunc([]rune(s), unicode.IsControl) {
			t.Errorf("%q cannot be printed", s)
		}
	}
	if !validator(o.ETag) && o.ETag != "" || !validator(o.Modified) && o.Modified != "" {
		t.Errorf("validators %q %q", o.ETag, o.Modified)
	}
}

// FuzzSniff: any body is something, and a file stays one whatever follows.
func FuzzSniff(f *testing.F) {
	for _, seed := range []string{group, "<html><title>Not Found</title>", "{}", "\xff\xfeA\x00", "\x00", "<!doctype html>\n<pre>\nUser-agent: *\nDisallow: /"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		k := sniff(http.Header{}, body)
		if k.reason != NoReason && k.detail == "" {
			t.Errorf("%s without a word", k.reason)
		}
		if got := sniff(http.Header{}, append([]byte("User-agent: *\n"), body...)); got.reason != NoReason {
			t.Errorf("behind a record: %s", got.reason)
		}
	})
}
