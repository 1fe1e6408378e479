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
	"unicode"
	"unicode/utf8"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
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
	Chart   bool   // loads the charting library
	Feed    string // query of the feed that belongs to the page, with "?"
	Data    any
}

// frame is what the layout sees.
type frame struct {
	view
	Version string
}

// section is an entry of the navigation.
type section struct{ Path, Name string }

func sections() []section {
	return []section{{"/", "Overview"}, {"/sites", "Sites"}, {"/agents", "Crawlers"}, {"/signals", "Preferences"}, {"/changes", "Changes"}, {"/ask", "Ask"}, {"/deliveries", "Deliveries"}}
}

type errorPage struct{ Title, Message string }

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
			v = view{Name: "error", Title: http.StatusText(e.status), Data: errorPage{http.StatusText(e.status), e.Message}}
		}
		var b bytes.Buffer
		if err := s.pages[v.Name].ExecuteTemplate(&b, "layout", frame{v, s.set.Version}); err != nil {
			s.deps.Log.Error("page not rendered", "path", r.URL.Path, "err", err)
			http.Error(w, "This page could not be rendered; the log says why.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		// What was asked is sent back here and there, whatever its octets.
		_, _ = w.Write(bytes.Map(inPages, b.Bytes())) // the client may be gone
	}
}

// inPages replaces in pages what no text has: control characters, and those
// that turn the direction of others. Octets that are no UTF-8 come as
// utf8.RuneError.
func inPages(r rune) rune {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return r
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return utf8.RuneError
	}
	return r
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

// assets serves style sheets and scripts. Their addresses carry the version
// of the program, so browsers may keep them.
func (s *Server) assets() http.Handler {
	files := http.FileServerFS(assetFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=86400")
		files.ServeHTTP(w, r)
	})
}

func (s *Server) funcs() template.FuncMap {
	return template.FuncMap{
		"sections":   sections,
		"url":        func(path string) string { return s.prefix + path },
		"asset":      func(name string) string { return s.prefix + "/assets/" + name + "?v=" + url.QueryEscape(s.set.Version) },
		"path":       url.PathEscape,
		"host":       func(origin string) string { return shown(displayHost(origin)) },
		"sites":      s.sitePath,
		"text":       shown,
		"when":       func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"stamp":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":        func(t time.Time) string { return t.UTC().Format("2 Jan 2006") },
		"isoday":     func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"ago":        func(t time.Time) string { return ago(s.deps.Now().Sub(t)) },
		"number":     number,
		"plural":     plural,
		"isAre":      isAre,
		"octets":     octets,
		"join":       func(list []string) string { return strings.Join(list, ", ") },
		"words":      func(code string) string { return strings.ReplaceAll(code, "_", " ") },
		"deref":      func(p *string) string { return *p },
		"seconds":    diff.DelayWords,
		"signalName": signalName, "scopeText": scopeText,
		"less":       func(list []diff.SignalChange) int { return len(list) - 1 },
		"sourceText": robots.Source.Words, "stateText": stateText, "kindText": kindText, "causeText": causeText,
		"reasonText": reasonText, "saysStatus": saysStatus,
	}
}

// reasonText is a reason in words: HTTP 404, tls expired.
func reasonText(r fetch.Reason) string {
	if status, ok := strings.CutPrefix(string(r), "http_"); ok {
		return "HTTP " + shown(status)
	}
	return shown(strings.ReplaceAll(string(r), "_", " "))
}

func stateText(s fetch.State) string {
	switch s {
	case fetch.NotRobots:
		return "not a robots.txt"
	case fetch.Absent:
		return "no robots.txt"
	case fetch.Policy:
		return "robots.txt"
	case fetch.Pending:
		return "not looked at yet"
	}
	return string(s)
}

func kindText(k watcher.Kind) string {
	switch k {
	case watcher.KindSignal:
		return "preference"
	case watcher.KindCrawlDelay:
		return "crawl delay"
	}
	return string(k)
}

func causeText(c watcher.Cause) string {
	switch c {
	case watcher.CauseRules:
		return "the rules changed"
	case watcher.CauseStatus:
		return "the HTTP answer changed"
	case watcher.CauseRedirect:
		return "the address redirects elsewhere"
	case watcher.CauseAgentList:
		return "the list of watched crawlers changed"
	}
	return string(c)
}

// displayHost is an origin as people say it: without https://.
func displayHost(origin string) string { return strings.TrimPrefix(origin, "https://") }

// sitePath is the address of a site's page.
func (s *Server) sitePath(origin string) string { return s.prefix + "/sites/" + hostPath(origin) }

// hostPath names a site in page and API paths: {host} and, for http, the
// query that says so.
func hostPath(origin string) string {
	scheme, host, _ := strings.Cut(origin, "://")
	p := url.PathEscape(host)
	if scheme == "http" {
		p += "?scheme=http"
	}
	return p
}

// option is an entry of a select box.
type option struct {
	Value, Label string
	Chosen       bool
}

// options makes a select box out of value, label, value, label, ...
func options(chosen string, pairs ...string) []option {
	var out []option
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, option{pairs[i], pairs[i+1], pairs[i] == chosen})
	}
	return out
}

// pager links to the next page and back to the first.
type pager struct{ First, Next string }

// pageLinks keeps the filters of a request and moves its cursor.
func (s *Server) pageLinks(r *http.Request, next string) pager {
	link := func(cursor string) string {
		q := r.URL.Query()
		q.Del("cursor")
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		if len(q) == 0 {
			return s.prefix + r.URL.Path
		}
		return s.prefix + r.URL.Path + "?" + q.Encode()
	}
	var p pager
	if r.URL.Query().Get("cursor") != "" {
		p.First = link("")
	}
	if next != "" {
		p.Next = link(next)
	}
	return p
}
