// Package fetch looks at one site once: a polite, bounded request for its
// robots.txt, whose result is an Outcome with a named state, never just an
// error. Sites, redirects and bodies are hostile input.
package fetch

import (
	"net/netip"
	"time"
)

// State of a site: what its server answered, apart from what that means for
// an agent (RFC 9309, 2.3.1).
type State string

const (
	Policy      State = "policy"      // 2xx with a robots.txt
	Absent      State = "absent"      // 4xx other than 401, 403, 429; too many redirects; redirect loop
	Denied      State = "denied"      // 401, 403
	Unreachable State = "unreachable" // 5xx, 429, network, DNS, TLS, timeout, truncated transfer
	NotRobots   State = "not_robots"  // 2xx, but HTML, a challenge page or binary data
	Pending     State = "pending"     // not checked yet; never the state of an Outcome
)

// Readable reports whether the state says what the site wants.
func (s State) Readable() bool { return s == Policy || s == Absent }

// Reason names why an answer has its state, e.g. "http_503", "dns", "timeout",
// "tls_expired", "html", "challenge". Constants in reason.go.
type Reason string

// Header is one response header worth keeping.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Outcome is what one look at a site found. It is a fact: nothing in it
// depends on agents or settings of meaning.
type Outcome struct {
	At          time.Time     // when the look began
	Took        time.Duration //
	State       State
	Reason      Reason        // "" for a plain policy
	Detail      string        // for people; no secrets, control characters shown
	Status      int           // last HTTP status, 0 when nothing was answered
	FinalURL    string        // after redirects; "" when nothing was answered
	Redirects   int           //
	NotModified bool          // 304: the policy is the one whose validators were sent
	Body        []byte        // Policy and not NotModified only; at most max_bytes
	Truncated   bool          // the file goes on beyond max_bytes
	Bytes       int64         // octets received, decoded
	ETag        string        //
	Modified    string        // Last-Modified as sent
	RetryAfter  time.Duration // asked for by the server, 0 none
	Vendor      string        // of the edge that answered, where headers give it away: "cloudflare"
	Address     netip.AddrPort
	Headers     []Header // the few that matter as evidence
	TLSSubject  string
}

// Request is one look to be done.
type Request struct {
	Origin   string // https://example.com
	URL      string // asked instead of the site's /robots.txt; "" is that
	ETag     string // validators of the last good answer; both "" for a full GET
	Modified string
	FinalURL string // that they came from; "" is the site's own /robots.txt
}
