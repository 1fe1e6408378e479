package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// record notes an answer in the outcome. It returns the URL that the answer
// redirects to, or "".
func (l *look) record(h hop, a answer, x *exchange) (redirect string, err error) {
	o := &l.out
	o.Status, o.FinalURL = a.status, h.url
	o.RetryAfter = retryAfter(a.header, l.client.now())
	o.Vendor = vendor(a.header)
	o.Headers = evidence(a.header)

	switch {
	case a.status == http.StatusNotModified && l.conditional(h):
		l.keepValidators(a.header)
		o.NotModified = true
		l.end(Policy, NoReason, "")
		return "", nil
	case isRedirect(a.status):
		location := a.header.Get("Location")
		if location == "" {
			l.fail(BadRedirect, fmt.Sprintf("status %d without a Location", a.status))
		}
		return location, nil
	case a.status >= 200 && a.status <= 299:
		return "", l.recordBody(a, x)
	}
	state, reason := classify(a.status)
	l.end(state, reason, statusDetail(a.status))
	if wantsBrowser(a.status) {
		// The text only improves the reason; its errors do not matter.
		x.raw, _ = readUpTo(a.body, x.raw[:0], challengePeek)
		isChallenge := challengeHeader(a.header)
		_ = l.client.decoders.with(a.header, x.raw, challengePeek, func(d decoded) {
			isChallenge = isChallenge || challengePage(d.data)
		})
		if isChallenge {
			o.Reason = Challenge
			o.Detail = statusDetail(a.status) + ", a page that wants to see a browser"
		}
	}
	return "", nil
}

// challengePeek is how much of an error page is looked at.
const challengePeek = 16 << 10

func wantsBrowser(status int) bool {
	return status == 401 || status == 403 || status == 429 || status == 503
}

// recordBody reads the body of a 2xx and decides what it is.
func (l *look) recordBody(a answer, x *exchange) error {
	max := l.client.set.MaxBytes
	raw, err := readUpTo(a.body, x.raw[:0], max+1)
	x.raw = raw
	if err != nil {
		return bodyError(err)
	}
	if part := partial(a.status, a.header); part != "" {
		l.fail(TruncatedBody, part)
		return nil
	}
	err = l.client.decoders.with(a.header, raw, max, func(d decoded) {
		if d.bomb {
			l.end(NotRobots, Bomb, fmt.Sprintf("%d octets of %s unpack to more than %d", len(raw), a.header.Get("Content-Encoding"), max))
			return
		}
		l.recordText(a.header, d, x)
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		l.fail(TruncatedBody, err.Error())
	} else if err != nil {
		l.fail(BadEncoding, err.Error())
	}
	return nil
}

// recordText decides what a decoded body is and keeps a robots.txt.
func (l *look) recordText(h http.Header, d decoded, x *exchange) {
	o := &l.out
	o.Bytes, o.Truncated = int64(len(d.data)), d.more
	kind := sniff(h, d.data)
	l.end(kind.state(), kind.reason, kind.detail)
	if o.State != Policy {
		return
	}
	if d.plain && len(d.lines) > maxPooledBody {
		o.Body, x.raw = d.lines, nil // large: hand it over instead of copying
	} else {
		o.Body = append(make([]byte, 0, len(d.lines)), d.lines...)
	}
	l.keepValidators(h)
}

func (l *look) keepValidators(h http.Header) {
	if v := h.Get("Etag"); validator(v) {
		l.out.ETag = v
	}
	if v := h.Get("Last-Modified"); validator(v) {
		l.out.Modified = v
	}
}

// partial says why a 206 is not the whole file, or "".
func partial(status int, h http.Header) string {
	if status != http.StatusPartialContent {
		return ""
	}
	v := h.Get("Content-Range")
	var first, last, size int64
	if _, err := fmt.Sscanf(v, "bytes %d-%d/%d", &first, &last, &size); err == nil && first == 0 && last == size-1 {
		return ""
	}
	return fmt.Sprintf("status 206 with a part of the file that was not asked for (Content-Range %q)", v)
}

// readUpTo appends at most max octets of r to b.
func readUpTo(r io.Reader, b []byte, max int64) ([]byte, error) {
	for int64(len(b)) < max {
		if len(b) == cap(b) {
			b = slices.Grow(b, 4<<10)
		}
		room := b[len(b):min(int64(cap(b)), max)]
		n, err := r.Read(room)
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// classify is the state that a status other than 2xx and redirects stands for
// (RFC 9309, 2.3.1; 429 is about load, not about a missing file).
func classify(status int) (State, Reason) {
	switch {
	case status == 401 || status == 403:
		return Denied, httpReason(status)
	case status == 304:
		return Unreachable, UnaskedNoChange
	case status >= 400 && status <= 499 && status != 429:
		return Absent, httpReason(status)
	}
	return Unreachable, httpReason(status)
}

func statusDetail(status int) string {
	text := http.StatusText(status)
	if text == "" {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("status %d %s", status, text)
}

// maxRetryAfter keeps an absurd wish from overflowing; how much of it is
// granted is the caller's business.
const maxRetryAfter = 30 * 24 * time.Hour

// retryAfter reads the header in seconds or as a date (RFC 9110, 10.2.3). A
// date is measured against the server's own clock where it tells it.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// evidenceNames are the headers worth keeping: what the answer is, how old,
// and who gave it.
var evidenceNames = []string{
	"Content-Type", "Content-Encoding", "Last-Modified", "Etag", "Cache-Control",
	"Age", "Retry-After", "Location", "Server", "Via", "Cf-Mitigated", "Cf-Ray",
	"X-Amzn-Waf-Action", "X-Cache", "X-Served-By", "X-Robots-Tag",
}

const maxEvidence = 256 // characters of one header value

func evidence(h http.Header) []Header {
	out := make([]Header, 0, 8)
	for _, name := range evidenceNames {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			out = append(out, Header{name, visible.Short(v[0], maxEvidence)})
		}
	}
	return out
}
