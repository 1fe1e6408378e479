package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/robotswatch/robotswatch/internal/secret"
)

// NormalizeOrigin brings what people write for a site to the one form that
// is used everywhere: scheme://host or scheme://host:port, lower case,
// punycode, default port left out. A bare host means https. A path other than
// "/" and "/robots.txt" is an error, since a site is a whole origin.
func NormalizeOrigin(s string) (string, error) {
	if isPlainHost(s) {
		return "https://" + s, nil
	}
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "https", s
	}
	scheme = strings.ToLower(scheme)
	if scheme != "https" && scheme != "http" {
		return "", fmt.Errorf("%q has the scheme %q; allowed are https and http", s, scheme)
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(authority, "@") {
		return "", fmt.Errorf("%q has a user name; a site is a scheme and a host, such as https://example.com", redactUser(s))
	}
	host, port, err := splitPort(authority)
	if err == nil {
		host, err = normalizeHost(host)
	}
	if err != nil {
		return "", fmt.Errorf("%q is not a site: %w", s, err)
	}
	origin := scheme + "://" + host
	if port != "" && !(scheme == "https" && port == "443" || scheme == "http" && port == "80") {
		origin += ":" + port
	}
	if path != "" && path != "/" && path != "/robots.txt" {
		return "", fmt.Errorf("%q has a path, but a site is a whole origin; write %s", s, origin)
	}
	return origin, nil
}

// isPlainHost recognises what most lines of most lists are, so that a million
// of them cost little: a host in lower case that needs no further treatment.
func isPlainHost(s string) bool {
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	label := 0 // octets in this label
	last := 0  // where this label starts
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '-':
			if label == 0 || i+1 == len(s) || s[i+1] == '.' || label >= 2 && s[i-1] == '-' {
				return false // edge of a label, or "--" as in punycode
			}
		case c == '.':
			if label == 0 || i+1 == len(s) {
				return false
			}
			label, last = 0, i+1
			continue
		default:
			return false
		}
		if label++; label > 63 {
			return false
		}
	}
	return s[last] > '9' // a number could be half an IP address
}

// splitPort is tolerant of an empty port.
func splitPort(authority string) (host, port string, err error) {
	host = authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			return "", "", errors.New("an IPv6 address stands in brackets, such as https://[2001:db8::1]")
		}
	}
	if port == "" {
		return host, "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", "", fmt.Errorf("the port %q is not a number from 1 to 65535", port)
	}
	return host, strconv.FormatUint(n, 10), nil
}

// hosts maps names for look-up, but leaves underscores alone: they are no
// part of a registered name, yet common in names below one; so are hyphens in
// places that the rules keep free.
func hosts() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.VerifyDNSLength(true),
		idna.CheckHyphens(false), idna.BidiRule())
}

func normalizeHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		a, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil || !a.Is6() || a.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "", fmt.Errorf("%q is not an IPv6 address", host)
		}
		return "[" + a.String() + "]", nil
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" {
		return "", errors.New("there is no host")
	}
	// What is in its one form already needs no tables of names.
	if isPlainHost(host) {
		return host, nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return a.String(), nil
	}
	return mapHost(host)
}

// mapHost brings any host name or IPv4 address to its one form.
func mapHost(host string) (string, error) {
	ascii, err := hosts().ToASCII(host)
	if err == nil {
		// Not every name that is made is one that may be: broken UTF-8.
		_, err = hosts().ToASCII(ascii)
	}
	if err != nil {
		return "", fmt.Errorf("the host name %q cannot exist (%s)", host, strings.TrimPrefix(err.Error(), "idna: "))
	}
	if strings.HasPrefix(ascii, ".") || strings.HasSuffix(ascii, ".") || strings.Contains(ascii, "..") {
		return "", fmt.Errorf("the host name %q has an empty part between dots", host)
	}
	for _, r := range ascii {
		if !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_') {
			return "", fmt.Errorf("%q cannot stand in a host name", r)
		}
	}
	last := ascii[strings.LastIndexByte(ascii, '.')+1:]
	if last[0] >= '0' && last[0] <= '9' && strings.Trim(last, "0123456789abcdefx") == "" {
		if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
			a, err := netip.ParseAddr(ascii)
			if err != nil {
				return "", fmt.Errorf("%q is neither a host name nor an IPv4 address, such as 192.0.2.1", host)
			}
			return a.String(), nil
		}
	}
	return ascii, nil
}

// redactUser keeps passwords that someone wrote into a site out of messages.
func redactUser(s string) string {
	at := strings.LastIndexByte(s, '@')
	start := 0
	if i := strings.Index(s, "://"); i >= 0 {
		start = i + 3
	}
	if at < start {
		return s
	}
	return s[:start] + secret.Mask + s[at:]
}

// checkURL reads an absolute URL of one of the schemes.
func checkURL(s string, schemes ...string) (*url.URL, error) {
	example := schemes[0] + "://example.com"
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("not a URL; write such as %q", example)
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme {
			return u, nil
		}
	}
	return nil, fmt.Errorf("the scheme %q cannot be used here; allowed are %s", u.Scheme, strings.Join(schemes, ", "))
}
