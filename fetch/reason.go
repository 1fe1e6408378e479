package fetch

import "strconv"

// Reasons. An HTTP status that decides by itself gives "http_" and the number,
// e.g. "http_404"; see httpReason.
const (
	// Policy: nothing to explain. The other reasons of a policy are remarks.
	NoReason Reason = ""

	// Absent (RFC 9309, 2.3.1.2 and 2.3.1.3).
	TooManyRedirects Reason = "too_many_redirects"
	RedirectLoop     Reason = "redirect_loop"

	// Unreachable: the way to the answer.
	DNSNotFound    Reason = "dns_not_found" // the name does not exist, or has no address
	DNSTimeout     Reason = "dns_timeout"
	DNSFailure     Reason = "dns_failure" // SERVFAIL, REFUSED, no server
	AddressRefused Reason = "address_refused"
	ConnRefused    Reason = "connection_refused"
	ConnReset      Reason = "connection_reset"
	NoRoute        Reason = "no_route"
	Timeout        Reason = "timeout"
	ProxyFailed    Reason = "proxy_failed"
	NetworkError   Reason = "network"
	NoResources    Reason = "no_resources" // this machine ran out of file descriptors, ports or memory

	// Unreachable: TLS.
	TLSExpired          Reason = "tls_expired"
	TLSNotYetValid      Reason = "tls_not_yet_valid"
	TLSWrongName        Reason = "tls_wrong_name"
	TLSSelfSigned       Reason = "tls_self_signed"
	TLSUnknownAuthority Reason = "tls_unknown_authority"
	TLSBadCertificate   Reason = "tls_bad_certificate"
	TLSNotTLS           Reason = "tls_not_tls" // something else speaks there
	TLSHandshake        Reason = "tls_handshake"

	// Unreachable: an answer that cannot be used.
	BadAnswer       Reason = "bad_answer"       // not HTTP
	HeaderTooLarge  Reason = "header_too_large" // more than MaxHeaderBytes
	TooMuchTraffic  Reason = "too_much_traffic" // more octets than an honest answer can need
	TruncatedBody   Reason = "truncated"        // ended before it was complete
	BadEncoding     Reason = "bad_encoding"     // the content encoding is broken
	BadRedirect     Reason = "bad_redirect"     // no or no usable Location
	RedirectScheme  Reason = "redirect_scheme"  // to something other than http and https
	RedirectPort    Reason = "redirect_port"    // to a port below 1024 other than 80, 443 and the site's own
	BadOrigin       Reason = "bad_origin"       // the request itself makes no sense
	UnaskedNoChange Reason = "unasked_304"      // 304, although no validators were sent

	// NotRobots; Challenge and Blocked also explain Denied and Unreachable.
	HTML         Reason = "html"
	SoftNotFound Reason = "soft_404"  // a 2xx whose text says that it is none
	Challenge    Reason = "challenge" // a page that wants to see a browser
	JSON         Reason = "json"
	XML          Reason = "xml"
	SourceCode   Reason = "source_code" // PHP and the like that was not run
	Binary       Reason = "binary"
	Bomb         Reason = "compression_bomb"

	// Not about the site at all; see Reason.Ours.
	Canceled Reason = "canceled" // our context ended
	Busy     Reason = "busy"     // no turn at the address in time
)

// Ours reports whether the look ended for a reason of our own, so that its
// outcome says nothing about the site: forget it and look again soon.
func (r Reason) Ours() bool { return r == Canceled || r == Busy }

func httpReason(status int) Reason { return Reason("http_" + strconv.Itoa(status)) }
