package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// evidenceFile serves a bundle that proves what a site answered at a time.
func (s *Server) evidenceFile(w http.ResponseWriter, r *http.Request) {
	data, name, err := s.evidenceOf(r)
	if err != nil {
		s.fail(w, err, "evidence")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = w.Write(data) // the client may be gone
}

func (s *Server) evidenceOf(r *http.Request) (data []byte, name string, err error) {
	if s.deps.Evidence == nil {
		return nil, "", &apiError{http.StatusNotImplemented, "not_implemented", "Evidence is not wired."}
	}
	at, err := timeOf(r.URL.Query().Get("at"))
	if err != nil {
		return nil, "", err
	}
	site, err := s.findSite(r.Context(), r.PathValue("host"), r.URL.Query().Get("scheme"))
	if err != nil {
		return nil, "", err
	}
	data, err = s.deps.Evidence(r.Context(), site.Origin, at)
	_, host, _ := strings.Cut(site.Origin, "://")
	return data, strings.NewReplacer(":", "_", "[", "", "]", "").Replace(host) + ".evidence", err
}

// heads streams where the chains of all sites stood at a time.
func (s *Server) heads(w http.ResponseWriter, r *http.Request) {
	at, err := timeOf(r.URL.Query().Get("at"))
	if err == nil && s.deps.Heads == nil {
		err = &apiError{http.StatusNotImplemented, "not_implemented", "Heads are not wired."}
	}
	if err != nil {
		s.fail(w, err, "heads")
		return
	}
	if at.IsZero() {
		at = dayOf(s.deps.Now())
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err := s.deps.Heads(r.Context(), at, unhurried(w)); err != nil && r.Context().Err() == nil {
		s.deps.Log.Error("heads failed", "err", err)
		panic(http.ErrAbortHandler) // half a list must not look like a whole one
	}
}

// timeOf reads a query's time; "" is the zero time.
func timeOf(text string) (time.Time, error) {
	var m moment
	if text == "" {
		return m.Time, nil
	}
	if err := m.UnmarshalText([]byte(text)); err != nil {
		return m.Time, badRequest("at: " + err.Error() + ".")
	}
	return m.UTC(), nil
}

// fail answers with an error of the API.
func (s *Server) fail(w http.ResponseWriter, err error, what string) {
	e, ours := asAPIError(err)
	if ours {
		s.deps.Log.Error(what+" failed", "err", err)
	}
	writeAPIError(w, e)
}

// evidencePath is where the evidence of a site's last answer is, "" when none
// is made here.
func (s *Server) evidencePath(origin string) string {
	if s.deps.Evidence == nil {
		return ""
	}
	host, query, _ := strings.Cut(hostPath(origin), "?")
	path := s.prefix + apiPath + "/sites/" + host + "/evidence"
	if query != "" {
		path += "?" + query
	}
	return path
}
