package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
)

// Capture is an answer that somebody else received and kept: in an archive.
type Capture struct {
	Origin  string
	At      time.Time
	Status  int    // of HTTP; 0: nothing was answered
	Error   string // why there is no body, in the words of whoever captured it
	Header  http.Header
	Body    []byte // as it was sent, or already decoded; nil: not kept
	Cut     bool   // whoever captured it kept only the beginning of the body
	Address netip.AddrPort

	// What a look of ours found, where the capture is one of those; State is ""
	// otherwise. A body is then one that was taken for robots.txt.
	State    State
	Reason   Reason
	Detail   string
	FinalURL string // "" is the site's own /robots.txt
}

// Captures reads captures as a look reads what it receives. It is safe for
// concurrent use.
type Captures struct {
	max      int64
	decoders decoders
}

// NewCaptures reads bodies up to max octets, decoded.
func NewCaptures(max int64) *Captures { return &Captures{max: max, decoders: newDecoders()} }

// ErrNoBody is that a capture of a success neither has a body nor says why.
var ErrNoBody = errors.New("a success without a body that does not say why")

// ErrRedirect is that a capture is a redirect: what it leads to was captured
// elsewhere, if at all.
var ErrRedirect = errors.New("a redirect without what it leads to")

// Outcome judges a capture. The error says why it tells nothing about its
// site.
func (c *Captures) Outcome(in Capture) (Outcome, error) {
	out := Outcome{At: in.At, Status: in.Status, Address: in.Address, Vendor: vendor(in.Header), Headers: evidence(in.Header)}
	if in.Status != 0 {
		out.FinalURL = in.Origin + "/robots.txt"
	}
	if in.State != "" {
		return c.judged(in, out)
	}
	l := look{out: out}
	switch success := in.Status >= 200 && in.Status <= 299; {
	case in.Status < 0 || in.Status > 999:
		return out, fmt.Errorf("status %d: want 100 to 599, or 0 when nothing was answered", in.Status)
	case in.Status == 0:
		l.endAs(Unreachable, in.Error, NetworkError)
	case success && in.Body != nil:
		c.readBody(&l, in)
	case success && in.Error == "":
		return out, ErrNoBody
	case success && slices.Contains(broken, Reason(in.Error)):
		l.endAs(Unreachable, in.Error, "")
	case success:
		l.endAs(NotRobots, in.Error, HTML)
	case Reason(in.Error) == TooManyRedirects || Reason(in.Error) == RedirectLoop:
		l.endAs(Absent, in.Error, "")
	case isRedirect(in.Status):
		return out, ErrRedirect
	default:
		state, reason := classify(in.Status)
		l.end(state, reason, statusDetail(in.Status))
		if Reason(in.Error) == Challenge || in.Body != nil && wantsBrowser(in.Status) && challengePage(in.Body) {
			l.out.Reason = Challenge
		}
	}
	return l.out, nil
}

// judged takes over what a look of ours found.
func (c *Captures) judged(in Capture, out Outcome) (Outcome, error) {
	l := look{out: out}
	if in.FinalURL != "" && in.Status != 0 {
		l.out.FinalURL = visible.Short(in.FinalURL, maxCapturedURL)
	}
	switch in.State {
	case Policy:
		if in.Body == nil {
			return l.out, ErrNoBody
		}
		if int64(len(in.Body)) > c.max {
			in.Body, in.Cut = in.Body[:c.max], true
			in.Body, _ = robots.Cut(in.Body, max(len(in.Body)-1, 0))
		}
		l.out.Body, l.out.Bytes, l.out.Truncated = bytes.Clone(in.Body), int64(len(in.Body)), in.Cut
	case Absent, Denied, Unreachable, NotRobots:
	default:
		return l.out, fmt.Errorf("state %.40q is not known", in.State)
	}
	if in.Reason != NoReason && !isReason(string(in.Reason)) {
		return l.out, fmt.Errorf("reason %.40q is not one", in.Reason)
	}
	l.end(in.State, in.Reason, visible.Short(in.Detail, maxEvidence))
	return l.out, nil
}

// maxCapturedURL is how long an address can be that is taken from a capture.
const maxCapturedURL = 2048

// broken are the reasons for which a success is none.
var broken = []Reason{TruncatedBody, BadEncoding, BadAnswer, TooMuchTraffic, HeaderTooLarge, Timeout, ConnReset}

// endAs takes the words of a capture as reason where they are one word.
func (l *look) endAs(s State, words string, otherwise Reason) {
	if isReason(words) {
		l.end(s, Reason(words), "")
		return
	}
	l.end(s, otherwise, visible.Short(words, maxEvidence))
}

// maxReason is how long a reason can be that is taken from a capture.
const maxReason = 40

func isReason(s string) bool {
	return s != "" && len(s) <= maxReason && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

func (c *Captures) readBody(l *look, in Capture) {
	err := c.decoders.with(in.Header, in.Body, c.max, func(d decoded) {
		if d.bomb {
			l.end(NotRobots, Bomb, fmt.Sprintf("%d octets unpack to more than %d", len(in.Body), c.max))
			return
		}
		if in.Cut {
			d.lines, _ = robots.Cut(d.data, max(len(d.data)-1, 0))
			d.more = true
		}
		o := &l.out
		o.Bytes, o.Truncated = int64(len(d.data)), d.more
		kind := sniff(in.Header, d.data)
		l.end(kind.state(), kind.reason, kind.detail)
		if o.State == Policy {
			o.Body = append(make([]byte, 0, len(d.lines)), d.lines...)
		}
	})
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		l.end(Unreachable, TruncatedBody, err.Error())
	case err != nil:
		l.end(Unreachable, BadEncoding, err.Error())
	}
}
