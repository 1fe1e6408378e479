package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

// pageEntries is how many entries a list on a page has.
const pageEntries = 50

type changesPage struct {
	Site, Agent, Tag, Since, Until string
	Agents                         []string
	Kinds, Severities              []option
	Heading                        string
	Filtered                       bool
	Changes                        []watcher.Change
	Feed, CSV                      string
	Pager                          pager
	Short                          bool // more were looked at than is shown, and there are more
}

func kinds() []watcher.Kind {
	return []watcher.Kind{watcher.KindAccess, watcher.KindState, watcher.KindSignal, watcher.KindCrawlDelay, watcher.KindSitemap, watcher.KindCosmetic}
}

// changeFilter reads the filters that pages and feeds take from the query.
func (s *Server) changeFilter(r *http.Request) (watcher.ChangeFilter, error) {
	q := r.URL.Query()
	f := watcher.ChangeFilter{Agent: q.Get("agent"), Tag: q.Get("tag"), Before: q.Get("cursor")}
	if err := changeCursor(f.Before); err != nil {
		return f, err
	}
	for k := range strings.SplitSeq(q.Get("kind"), ",") {
		if k == "" {
			continue
		}
		if !slices.Contains(kinds(), watcher.Kind(k)) {
			return f, badRequest("There is no such kind of change; there are access, state, signal, crawl_delay, sitemap and cosmetic.")
		}
		f.Kinds = append(f.Kinds, watcher.Kind(k))
	}
	switch v := watcher.Severity(q.Get("severity")); v {
	case "", watcher.Info, watcher.Warning, watcher.Critical:
		f.Severity = v
	default:
		return f, badRequest("A severity is info, warning or critical.")
	}
	for _, t := range []struct {
		key string
		to  *time.Time
	}{{"since", &f.Since}, {"until", &f.Until}} {
		if v := q.Get(t.key); v != "" {
			var m moment
			if err := m.UnmarshalText([]byte(v)); err != nil {
				return f, badRequest(t.key + ": " + err.Error() + ".")
			}
			*t.to = m.Time
		}
	}
	if v := q.Get("site"); v != "" {
		site, err := s.findSite(r.Context(), v, "")
		if err != nil {
			return f, err
		}
		f.Site = site.Origin
	}
	return f, nil
}

func (s *Server) changesPage(r *http.Request) (view, error) {
	f, err := s.changeFilter(r)
	if err != nil {
		return view{}, err
	}
	f.Limit = pageEntries
	page, err := s.deps.Store.ChangePage(r.Context(), f)
	if err != nil {
		return view{}, err
	}
	q := r.URL.Query()
	p := changesPage{
		Site: displayHost(f.Site), Agent: f.Agent, Tag: f.Tag, Since: dateOf(f.Since), Until: dateOf(f.Until), Agents: s.tokens(),
		Kinds:      options(q.Get("kind"), "", "any", "access", "access", "state", "state", "signal", "preference", "crawl_delay", "crawl delay", "sitemap", "sitemap", "cosmetic", "cosmetic"),
		Severities: options(q.Get("severity"), "", "info", "warning", "warning", "critical", "critical"),
		Heading:    "Latest changes", Changes: page.Changes, Pager: s.pageLinks(r, page.Next), Short: page.Next != "" && len(page.Changes) < pageEntries,
	}
	filters := url.Values{}
	for _, k := range []string{"site", "agent", "tag", "kind", "severity", "since", "until"} {
		if v := q.Get(k); v != "" {
			filters.Set(k, v)
		}
	}
	if p.Filtered = len(filters) > 0; p.Filtered {
		p.Heading = "Matching changes"
	}
	feed := ""
	if p.Filtered {
		feed = "?" + filters.Encode()
	}
	p.Feed = s.prefix + "/feed.atom" + feed
	filters.Set("format", "csv")
	filters.Set("limit", itoa(maxPage))
	p.CSV = s.prefix + apiPath + "/changes?" + filters.Encode()
	return view{Name: "changes", Title: "Changes", Section: "/changes", Feed: feed, Data: p}, nil
}

func dateOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// tokens are the agents of the catalogue, for suggestions.
func (s *Server) tokens() []string {
	var out []string
	for _, a := range s.deps.Judge.Settings().Catalogue.Agents {
		out = append(out, a.Token)
	}
	return out
}

type changePage struct {
	Change    watcher.Change
	Reason    string
	Meaning   meaning
	Nothing   string
	TextKnown bool
	TextWhy   string
	Text      diffView
	Compare   string
}

func (s *Server) changePage(r *http.Request) (view, error) {
	c, err := s.deps.Store.ChangeByID(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	p := changePage{Change: c, Reason: reasonText(c.Reason),
		Meaning: meaning{Groups: alike(c.Agents), Signals: c.Signals, CrawlDelays: c.CrawlDelays}}
	if c.Sitemaps != nil {
		p.Meaning.Added, p.Meaning.Removed = c.Sitemaps.Added, c.Sitemaps.Removed
	}
	if p.Meaning.empty() && c.Kind == watcher.KindCosmetic {
		p.Nothing = "Nothing: the text changed, and no crawler may fetch anything more or less than before."
	}
	before, knewBefore, err := s.bodyText(r.Context(), c.BeforeSHA256)
	if err != nil {
		return view{}, err
	}
	after, knewAfter, err := s.bodyText(r.Context(), c.AfterSHA256)
	if err != nil {
		return view{}, err
	}
	switch {
	case !knewBefore && !knewAfter:
		p.TextWhy = "No robots.txt belongs to this change."
	case c.BeforeSHA256 == c.AfterSHA256:
		p.TextWhy = "The text did not change."
	case c.BeforeSHA256 != "" && !knewBefore, c.AfterSHA256 != "" && !knewAfter:
		p.TextWhy = "One of both versions is no longer kept."
	default:
		p.TextKnown, p.Text = true, showDiff(diff.Text(before, after))
	}
	if p.TextKnown && knewBefore && knewAfter {
		base, query, _ := strings.Cut(s.sitePath(c.Site), "?")
		if query != "" {
			query += "&"
		}
		p.Compare = base + "/compare?" + query + "before=" + c.BeforeSHA256 + "&after=" + c.AfterSHA256
	}
	return view{Name: "change", Title: c.Summary + " on " + displayHost(c.Site), Section: "/changes", Feed: "?site=" + url.QueryEscape(c.Site), Data: p}, nil
}
