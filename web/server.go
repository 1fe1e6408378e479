package web

import (
	"context"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/watcher"
)

// Store is what pages and API read. Every method that finds nothing by name
// answers watcher.ErrNotFound; lists are empty then.
type Store interface {
	Sites(ctx context.Context, f watcher.SiteFilter) ([]watcher.Site, error)
	Changes(ctx context.Context, f watcher.ChangeFilter) ([]watcher.Change, error)
}

// Settings are plain values from the configuration.
type Settings struct {
	Version     string   // of the program, shown at the foot of pages
	ExternalURL string   // as the outside reaches us, perhaps with a path; "" when not configured
	Hosts       []string // further host names that may stand in a Host header
	ReadToken   string   // when set, the API asks for it (or for the admin token)
	AdminToken  string   // when set, whatever changes something asks for it
	Watched     []string // tokens of the default watch list, in order of display
}

// Deps are the rooms a Server speaks to. Store is required; an endpoint whose
// function is nil answers 501.
type Deps struct {
	Store     Store
	Catalogue *agents.Catalogue
	Metrics   http.Handler                                   // GET /metrics
	Ready     func(context.Context) error                    // nil error: ready
	Reload    func(context.Context) error                    // POST /-/reload
	Check     func(ctx context.Context, origin string) error // makes a site due now
	Log       *slog.Logger                                   // nil: slog.Default()
	Now       func() time.Time                               // nil: time.Now
}

// Server is the whole HTTP face of the daemon. Make it with New.
type Server struct {
	set     Settings
	deps    Deps
	prefix  string // path of the external URL without a trailing slash
	base    *url.URL
	handler http.Handler
	pages   map[string]*template.Template
}

// New builds the server. The error says which setting is wrong.
func New(set Settings, deps Deps) (*Server, error) {
	if deps.Log == nil {
		deps.Log = slog.Default()
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Catalogue == nil {
		deps.Catalogue = &agents.Catalogue{}
	}
	s := &Server{set: set, deps: deps}
	if set.ExternalURL != "" {
		u, err := url.Parse(set.ExternalURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, fmt.Errorf("external URL %q: want something like https://robotswatch.example.org/path", set.ExternalURL)
		}
		s.base, s.prefix = u, strings.TrimRight(u.Path, "/")
	}
	var err error
	if s.pages, err = s.parsePages(); err != nil {
		return nil, err
	}
	s.handler = s.guard(s.routes())
	return s, nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page(s.overview))
	mux.Handle("GET /assets/", s.assets())
	s.operations(mux)
	mux.HandleFunc("/", s.page(func(*http.Request) (view, error) { return view{}, notFound("There is no such page.") }))
	return mux
}

// operations registers what Prometheus and service managers ask.
func (s *Server) operations(mux *http.ServeMux) {
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if s.deps.Metrics == nil {
			http.Error(w, "metrics are not wired", http.StatusNotImplemented)
			return
		}
		s.deps.Metrics.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "robotswatch is healthy.")
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, r *http.Request) {
		if s.deps.Ready != nil {
			if err := s.deps.Ready(r.Context()); err != nil {
				http.Error(w, "robotswatch is not ready: "+err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "robotswatch is ready.")
	})
	mux.HandleFunc("POST /-/reload", func(w http.ResponseWriter, r *http.Request) {
		if !s.mayAdminister(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="robotswatch admin"`)
			http.Error(w, "the admin token is needed", http.StatusUnauthorized)
			return
		}
		if s.deps.Reload == nil {
			http.Error(w, "reload is not wired", http.StatusNotImplemented)
			return
		}
		if err := s.deps.Reload(r.Context()); err != nil {
			http.Error(w, "the configuration was not reloaded, the old one is in force: "+err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "The configuration was reloaded.")
	})
}
