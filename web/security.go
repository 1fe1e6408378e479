package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// contentPolicy lets a page load what the binary carries and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard wraps every answer: headers, the path prefix, host names, requests
// forged by other sites.
func (s *Server) guard(next http.Handler) http.Handler {
	forged := http.NewCrossOriginProtection()
	forged.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusForbidden, "cross_origin", "This request was started by another site.")
	}))
	protected := forged.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", contentPolicy)
		r = s.withoutPrefix(r)
		if !machinePath(r.URL.Path) && !s.knownHost(r.Host) {
			s.refuse(w, r, http.StatusMisdirectedRequest, "unknown_host",
				"This server does not answer for the host name asked for. Set external_url to the address it is reached at.")
			return
		}
		if !machinePath(r.URL.Path) && !s.clients.allow(clientOf(r), s.deps.Now()) {
			w.Header().Set("Retry-After", "1")
			s.refuse(w, r, http.StatusTooManyRequests, "rate_limited", "Too many requests; wait a second.")
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// adminKey marks the context of a request that may change something.
type adminKey struct{}

func isAdmin(ctx context.Context) bool { return ctx.Value(adminKey{}) != nil }

// authorised lets only clients with a token use the API, where one is
// configured.
func (s *Server) authorised(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.mayRead(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="robotswatch"`)
			writeAPIError(w, &apiError{http.StatusUnauthorized, "unauthorized", "A token is needed: Authorization: Bearer TOKEN, or X-Robotswatch-Token."})
			return
		}
		if s.mayAdminister(r) {
			r = r.WithContext(context.WithValue(r.Context(), adminKey{}, true))
		}
		next.ServeHTTP(w, inFormat(r))
	})
}

// machinePath reports the paths that scrapers and probes ask by whatever name
// their service discovery gives; they carry nothing a page could steal
// through a rebound name.
func machinePath(p string) bool {
	return p == "/metrics" || p == "/-/healthy" || p == "/-/ready"
}

// withoutPrefix strips the path of the external URL, so that proxies may
// forward with or without it.
func (s *Server) withoutPrefix(r *http.Request) *http.Request {
	if s.prefix == "" || (r.URL.Path != s.prefix && !strings.HasPrefix(r.URL.Path, s.prefix+"/")) {
		return r
	}
	r2 := r.Clone(r.Context())
	r2.URL.Path = "/" + strings.TrimLeft(strings.TrimPrefix(r.URL.Path, s.prefix), "/")
	if r.URL.RawPath != "" {
		r2.URL.RawPath = "/" + strings.TrimLeft(strings.TrimPrefix(r.URL.RawPath, s.prefix), "/")
	}
	return r2
}

// knownHost keeps other people's names from being pointed at us (DNS
// rebinding): only localhost, address literals and configured names pass.
func (s *Server) knownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if s.base != nil && strings.EqualFold(host, s.base.Hostname()) {
		return true
	}
	return slices.ContainsFunc(s.set.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// refuse answers before routing, in the form the path promises.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		writeAPIError(w, &apiError{status: status, Code: code, Message: message})
		return
	}
	http.Error(w, message, status)
}

// token is the secret a client shows: as a bearer token, or in a header of
// its own where a proxy or web_config needs Authorization for itself.
func token(r *http.Request) string {
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return t
	}
	return r.Header.Get("X-Robotswatch-Token")
}

func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return b != "" && subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// mayAdminister reports whether the client may change something.
func (s *Server) mayAdminister(r *http.Request) bool {
	return s.set.AdminToken == "" || sameSecret(token(r), s.set.AdminToken)
}

// mayRead reports whether the client may use the API.
func (s *Server) mayRead(r *http.Request) bool {
	if s.set.ReadToken == "" && s.set.AdminToken == "" {
		return true
	}
	// An admin token alone guards what changes something, and nothing else.
	return s.set.ReadToken == "" || sameSecret(token(r), s.set.ReadToken) || sameSecret(token(r), s.set.AdminToken)
}
