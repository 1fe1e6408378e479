package web

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/robotswatch/robotswatch/watcher"
)

// Settings are plain values from the configuration.
type Settings struct {
	Version     string   // of the program, shown at the foot of pages
	ExternalURL string   // as the outside reaches us, perhaps with a path; "" when not configured
	Hosts       []string // further host names that may stand in a Host header
	ReadToken   string   // when set, the API asks for it (or for the admin token)
	AdminToken  string   // when set, whatever changes something asks for it
}

// Deps are the rooms a Server speaks to. Store and Judge are required; an
// endpoint whose function is nil answers 501.
type Deps struct {
	Store   Store
	Judge   *watcher.Judge                                 // settings and catalogue in force
	Metrics http.Handler                                   // GET /metrics
	Ready   func(context.Context) error                    // nil error: ready
	Reload  func(context.Context) error                    // POST /-/reload
	Check   func(ctx context.Context, origin string) error // looks at a site now, and returns when that is recorded
	Log     *slog.Logger                                   // nil: slog.Default()

	// Evidence makes a bundle about what a site answered at a time, zero for
	// now; Heads lists where the chains of all sites stood.
	Evidence func(ctx context.Context, origin string, at time.Time) ([]byte, error)
	Heads    func(ctx context.Context, at time.Time, w io.Writer) error
	Now      func() time.Time // nil: time.Now
}

// Server is the whole HTTP face of the daemon. Make it with New; make another
// one when the configuration changes.
type Server struct {
	set     Settings
	deps    Deps
	base    *url.URL // the external URL, nil when not configured
	prefix  string   // its path without a trailing slash
	handler http.Handler
	pages   map[string]*template.Template
	numbers numbers
	clients *limiter
	checks  *limiter
}

// New builds the server. The error says which setting is wrong.
func New(set Settings, deps Deps) (*Server, error) {
	if deps.Log == nil {
		deps.Log = slog.Default()
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	s := &Server{set: set, deps: deps, clients: newLimiter(clientRate, clientBurst), checks: newLimiter(rate.Every(checkEvery), 1)}
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
	routes, err := s.routes()
	if err != nil {
		return nil, err
	}
	s.handler = s.guard(routes)
	return s, nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) routes() (http.Handler, error) {
	content := http.NewServeMux() // what has a validator
	for path, collect := range map[string]func(*http.Request) (view, error){
		"/{$}": s.overview, "/sites": s.sitesPage, "/sites/{host}": s.sitePage, "/sites/{host}/compare": s.compare,
		"/agents": s.agentsPage, "/agents/{token}": s.agentPage, "/signals": s.signalsPage, "/changes": s.changesPage, "/changes/{id}": s.changePage,
		"/ask": s.ask, "/deliveries": s.deliveries,
	} {
		content.HandleFunc("GET "+path, s.page(collect))
	}
	content.HandleFunc("POST /ask", s.page(s.ask))
	content.HandleFunc("GET /feed.atom", s.feed)
	content.HandleFunc("GET /badge/{host}/{file}", s.badge)
	content.HandleFunc("/", s.page(func(*http.Request) (view, error) { return view{}, notFound("There is no such page.") }))

	api := http.NewServeMux()
	document, err := s.api(api)
	if err != nil {
		return nil, fmt.Errorf("API: %w", err)
	}
	api.HandleFunc("GET "+apiPath+"/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document) // the client may be gone
	})
	api.HandleFunc("GET "+apiPath+"/sites/{host}/robots.txt", s.rawFile)
	api.HandleFunc("GET "+apiPath+"/sites/{host}/evidence", s.evidenceFile)

	mux := http.NewServeMux()
	mux.Handle("GET /assets/", s.assets())
	s.operations(mux)
	mux.Handle("GET "+apiPath+"/heads", s.authorised(http.HandlerFunc(s.heads))) // long: it is streamed
	mux.Handle("/api/", s.authorised(withETag(orAPIError(api))))
	mux.Handle("/", withETag(content))
	return mux, nil
}

// operations registers what Prometheus and service managers ask.
func (s *Server) operations(mux *http.ServeMux) {
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if s.deps.Metrics == nil {
			http.Error(w, "metrics are not wired", http.StatusNotImplemented)
			return
		}
		s.deps.Metrics.ServeHTTP(unhurried(w), r)
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
	reload := func(w http.ResponseWriter, r *http.Request) {
		w = unhurried(w)
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
	}
	mux.HandleFunc("POST /-/reload", reload)
	mux.HandleFunc("PUT /-/reload", reload)
	mux.HandleFunc("/-/reload", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "POST, PUT")
		http.Error(w, "POST or PUT reloads the configuration", http.StatusMethodNotAllowed)
	})
}
