package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// view is a page ready to be rendered: which template, and what it shows.
type view struct {
	Name    string // template file without extension
	Title   string
	Section string // entry of the navigation that is current
	Data    any
}

// frame is what the layout sees.
type frame struct {
	view
	Version string
	Now     time.Time
}

// page turns a function that collects data into a handler: errors become
// error pages, rendering happens before the first byte is sent.
func (s *Server) page(collect func(*http.Request) (view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := collect(r)
		status := http.StatusOK
		if err != nil {
			e, ours := asAPIError(err)
			if ours && !errors.Is(err, context.Canceled) {
				s.deps.Log.Error("page failed", "path", r.URL.Path, "err", err)
			}
			status = e.status
			v = view{Name: "error", Title: http.StatusText(e.status), Data: e.Message}
		}
		var b bytes.Buffer
		if err := s.pages[v.Name].ExecuteTemplate(&b, "layout", frame{v, s.set.Version, s.deps.Now().UTC()}); err != nil {
			s.deps.Log.Error("page not rendered", "path", r.URL.Path, "err", err)
			http.Error(w, "This page could not be rendered; the log says why.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = b.WriteTo(w) // the client may be gone
	}
}

// parsePages reads every template once, each page with the layout and the
// shared parts.
func (s *Server) parsePages() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(s.funcs()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("shared templates: %w", err)
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, n := range names {
		t, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if pages[strings.TrimSuffix(strings.TrimPrefix(n, "templates/"), ".html")], err = t.ParseFS(templateFiles, n); err != nil {
			return nil, fmt.Errorf("template %s: %w", n, err)
		}
	}
	return pages, nil
}

// assets serves style sheets and scripts; their address carries the version,
// so they may be kept.
func (s *Server) assets() http.Handler {
	files := http.FileServerFS(assetFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=3600")
		files.ServeHTTP(w, r)
	})
}

func (s *Server) funcs() template.FuncMap {
	return template.FuncMap{
		"url":   func(path string) string { return s.prefix + path },
		"host":  displayHost,
		"sites": s.sitePath,
		"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006") },
		"ago":   func(t time.Time) string { return ago(s.deps.Now().Sub(t)) },
	}
}

// displayHost is an origin as people say it: without https://.
func displayHost(origin string) string { return strings.TrimPrefix(origin, "https://") }

// sitePath is the address of a site's page.
func (s *Server) sitePath(origin string) string {
	scheme, host, _ := strings.Cut(origin, "://")
	p := s.prefix + "/sites/" + url.PathEscape(host)
	if scheme == "http" {
		p += "?scheme=http"
	}
	return p
}

// ago words a span of time the way a person would.
func ago(d time.Duration) string {
	n, unit := 0, ""
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		n, unit = int(d/time.Minute), "minute"
	case d < 48*time.Hour:
		n, unit = int(d/time.Hour), "hour"
	case d < 60*24*time.Hour:
		n, unit = int(d/(24*time.Hour)), "day"
	case d < 2*365*24*time.Hour:
		n, unit = int(d/(30*24*time.Hour)), "month"
	default:
		n, unit = int(d/(365*24*time.Hour)), "year"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s ago", n, unit)
}
