package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// Look fetches the robots.txt of one site and never fails: whatever happens is
// an Outcome. It takes at most Settings.Timeout, plus waiting for a turn at an
// address, which is bounded by the same time again. When the context ends
// first, the outcome's reason is Canceled: see Reason.Ours.
func (c *Client) Look(ctx context.Context, req Request) Outcome {
	return c.look(req).outcome(ctx)
}

func (c *Client) look(req Request) *look {
	return &look{client: c, req: req, out: Outcome{At: c.now()}}
}

func (l *look) outcome(ctx context.Context) Outcome {
	start := time.Now()
	l.deadline = start.Add(l.client.set.Timeout)
	l.run(ctx)
	l.out.Took = time.Since(start)
	l.out.Detail = visible.Short(l.out.Detail, maxDetail)
	return l.out
}

// maxDetail bounds Outcome.Detail, in characters.
const maxDetail = 400

// look is one look in progress.
type look struct {
	client   *Client
	req      Request
	deadline time.Time // moves on while waiting for a turn
	waited   time.Duration
	seen     []string // URLs asked so far
	port     uint16   // the site's own
	http2    bool     // offered, since HTTP/1.1 alone was refused
	out      Outcome
}

func (l *look) run(ctx context.Context) {
	h, err := firstHop(l.req)
	if err != nil {
		l.fail(BadOrigin, err.Error())
		return
	}
	l.port = h.port
	for {
		l.seen = append(l.seen, h.url)
		next, err := l.ask(ctx, h)
		if errors.Is(err, errWantsHTTP2) {
			l.http2 = true
			next, err = l.ask(ctx, h)
		}
		if err != nil {
			l.failed(ctx, h, err)
			return
		}
		if next == "" {
			return
		}
		if l.out.Redirects == l.client.set.MaxRedirects {
			l.end(Absent, TooManyRedirects, fmt.Sprintf("more than %d redirects, the last to %s", l.client.set.MaxRedirects, next))
			return
		}
		l.out.Redirects++
		h, err = h.follow(next, l.port)
		if err != nil {
			var no *redirectError
			errors.As(err, &no)
			l.fail(no.reason, no.Error())
			return
		}
		for _, u := range l.seen {
			if u == h.url {
				l.end(Absent, RedirectLoop, "redirected back to "+u)
				return
			}
		}
	}
}

// failed turns an error of a hop into the outcome.
func (l *look) failed(ctx context.Context, h hop, err error) {
	if ctx.Err() != nil {
		l.fail(Canceled, "the look was called off: "+context.Cause(ctx).Error())
		return
	}
	reason, detail := explain(err)
	if l.out.Redirects > 0 {
		detail += " (after a redirect to " + h.url + ")"
	}
	l.fail(reason, detail)
}

func (l *look) fail(r Reason, detail string) { l.end(Unreachable, r, detail) }

func (l *look) end(s State, r Reason, detail string) {
	l.out.State, l.out.Reason, l.out.Detail = s, r, detail
}

// hop is one URL to ask, taken apart.
type hop struct {
	url    string // as recorded: no user, no fragment
	parsed *url.URL
	https  bool
	host   string     // name or address without brackets, as dialed and verified
	addr   netip.Addr // when host is an address
	port   uint16
	header string // Host header
	target string // path and query for the request line
}

const robotsPath = "/robots.txt"

// firstHop is the robots.txt of a site written scheme://host[:port], or the
// URL that is asked for instead.
func firstHop(req Request) (hop, error) {
	raw := req.Origin
	if req.URL != "" {
		raw = req.URL
	}
	u, err := url.Parse(raw)
	if err != nil {
		return hop{}, fmt.Errorf("site %q is not a URL: %w", raw, err)
	}
	if req.URL == "" {
		u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: robotsPath}
	}
	return newHop(u)
}

func newHop(u *url.URL) (hop, error) {
	h := hop{parsed: u}
	switch strings.ToLower(u.Scheme) {
	case "https":
		h.https, h.port = true, 443
	case "http":
		h.port = 80
	default:
		return hop{}, &redirectError{RedirectScheme, fmt.Sprintf("scheme %q is not http or https", u.Scheme)}
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		h.addr = a.Unmap()
	} else {
		ascii, err := asciiHost(host)
		if err != nil {
			return hop{}, &redirectError{BadRedirect, fmt.Sprintf("%q is not a host name", host)}
		}
		host = ascii
	}
	h.host = host
	if p := u.Port(); p != "" {
		n, err := parsePort(p)
		if err != nil {
			return hop{}, &redirectError{BadRedirect, err.Error()}
		}
		h.port = n
	}
	h.header = host
	if strings.Contains(host, ":") {
		h.header = "[" + host + "]"
	}
	if !(h.https && h.port == 443 || !h.https && h.port == 80) {
		h.header = fmt.Sprintf("%s:%d", h.header, h.port)
	}
	u.Host = h.header
	u.RawQuery = escapeQuery(u.RawQuery)
	if u.Path == "" {
		u.Path = "/"
	}
	h.target = u.RequestURI()
	h.url = u.String()
	return h, nil
}

// escapeQuery makes a query that net/url took as it is fit for a request line.
func escapeQuery(q string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(q); i++ {
		if c := q[i]; c <= ' ' || c >= 0x7f {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hostNames is more lenient than idna.Lookup: names with underscores exist.
var hostNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// asciiHost is a lower-case name as DNS and headers have it.
func asciiHost(host string) (string, error) {
	if plainHost(host) {
		return host, nil
	}
	ascii, err := hostNames.ToASCII(host)
	if err != nil {
		return "", err
	}
	if !plainHost(ascii) {
		return "", errNotHost
	}
	return ascii, nil
}

func plainHost(host string) bool {
	for _, b := range []byte(host) {
		if !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '.' || b == '_') {
			return false
		}
	}
	return host != ""
}

var errNotHost = errors.New("not a host name")

// firstOpenPort is the first port that no protocol has to itself. Below it a
// redirect may lead to those of HTTP and to the site's own only, so that no
// stranger makes us talk to mail servers and the like.
const firstOpenPort = 1024

// follow is the hop that a Location leads to. Its error is a *redirectError.
func (h hop) follow(location string, own uint16) (hop, error) {
	if len(location) > MaxLocation {
		return hop{}, &redirectError{BadRedirect, "the redirect's Location is too long"}
	}
	u, err := h.parsed.Parse(location)
	if err != nil {
		return hop{}, &redirectError{BadRedirect, fmt.Sprintf("redirected to %q, which is not a URL", location)}
	}
	next, err := newHop(u)
	if err != nil {
		no := err.(*redirectError)
		return hop{}, &redirectError{no.reason, fmt.Sprintf("redirected to %q: %s", location, no.detail)}
	}
	if next.port < firstOpenPort && next.port != own && next.port != 80 && next.port != 443 {
		return hop{}, &redirectError{RedirectPort, fmt.Sprintf("redirected to %q: port %d belongs to another protocol than HTTP", location, next.port)}
	}
	return next, nil
}

// redirectError says why a hop is not taken.
type redirectError struct {
	reason Reason
	detail string
}

func (e *redirectError) Error() string { return e.detail }
