package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/robotswatch/robotswatch/watcher"
)

// origins reads what a person or a path gives for a site, "example.com",
// "example.com:8443" or "http://example.com/", and gives the origins it can
// mean, the likelier one first. scheme is "http", "https" or "" for either.
func origins(text, scheme string) ([]string, error) {
	bad := badRequest("A site is written like example.com, example.com:8443 or https://example.com, not " + strconv.Quote(text) + ".")
	text = strings.TrimSpace(text)
	if s, rest, ok := strings.Cut(text, "://"); ok {
		if scheme != "" && !strings.EqualFold(s, scheme) {
			return nil, badRequest("The site and the scheme contradict each other.")
		}
		scheme, text = strings.ToLower(s), rest
	}
	u, err := url.Parse("//" + text)
	if err != nil || u.Host == "" || u.User != nil || (scheme != "" && scheme != "http" && scheme != "https") {
		return nil, bad
	}
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.String()
	} else if host, err = idna.Lookup.ToASCII(host); err != nil || host == "" {
		// Names with underscores exist, although registries refuse them.
		if host = strings.ToLower(u.Hostname()); strings.ContainsFunc(host, func(r rune) bool { return r > 126 || r <= ' ' }) {
			return nil, bad
		}
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, bad
		}
	}
	schemes := []string{"https", "http"}
	if scheme != "" {
		schemes = []string{scheme}
	}
	var out []string
	for _, s := range schemes {
		h := host
		if strings.Contains(h, ":") {
			h = "[" + h + "]"
		}
		if port != "" && !(s == "https" && port == "443") && !(s == "http" && port == "80") {
			h = net.JoinHostPort(host, port)
		}
		out = append(out, s+"://"+h)
	}
	return out, nil
}

// findSite gives the watched site that a text means: https where both schemes
// are watched.
func (s *Server) findSite(ctx context.Context, text, scheme string) (watcher.Site, error) {
	candidates, err := origins(text, scheme)
	if err != nil {
		return watcher.Site{}, err
	}
	for _, o := range candidates {
		site, err := s.deps.Store.SiteByOrigin(ctx, o)
		if !errors.Is(err, watcher.ErrNotFound) {
			return site, err
		}
	}
	return watcher.Site{}, notFound(displayHost(candidates[0]) + " is not among the sites that are watched here.")
}

// external is the full address of a path of ours, "" when no external URL is
// configured.
func (s *Server) external(path string) string {
	if s.base == nil {
		return ""
	}
	return s.base.Scheme + "://" + s.base.Host + s.prefix + path
}
