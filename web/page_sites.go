package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// siteSignals is how many statements about use a row of a list shows.
const siteSignals = 3

type sitesPage struct {
	Lede, Heading                     string
	Search, Tag, Agent, Signal        string
	Agents, Accesses, Sources, States []option
	Filtered                          bool
	Rows                              []siteRow
	CSV                               string
	Pager                             pager
	Short                             bool // more were looked at than is shown, and there are more
}

type siteRow struct {
	watcher.Site
	Tags    []string
	Overdue bool
	Share   share       // of the watched agents by access
	Words   string      // who is blocked
	Says    []string    // about use, in a few words each
	Unsaid  int         // statements that are not shown
	Access  diff.Access // of the agent asked about
	Since   time.Time   // how long that has been so
	First   bool        // since then at least: it was so at the first look
}

// readSiteFilters reads the filters that pages take from the query.
func readSiteFilters(q url.Values) (SiteFilters, error) {
	f := SiteFilters{Search: q.Get("search"), Tag: q.Get("tag"), State: fetch.State(q.Get("state")), Agent: q.Get("agent"), Signal: q.Get("signal"),
		Access: diff.Level(q.Get("access")), Source: robots.Source(q.Get("source")), Overdue: q.Get("overdue") != "", Unstable: q.Get("unstable") != ""}
	if f.Agent == "" {
		f.Access, f.Source = "", "" // the form sends them all the same
	}
	switch f.State {
	case "", fetch.Policy, fetch.Absent, fetch.Denied, fetch.Unreachable, fetch.NotRobots, fetch.Pending:
	default:
		return f, badRequest("There is no such state; there are policy, absent, denied, unreachable, not_robots and pending.")
	}
	switch f.Access {
	case "", diff.Allowed, diff.Partial, diff.Restricted, diff.Blocked, diff.Unknown:
	default:
		return f, badRequest("There is no such access; there are allowed, partial, restricted, blocked and unknown.")
	}
	switch f.Source {
	case "", robots.SourceNamed, robots.SourceWildcard, robots.SourceDefault, robots.SourceStatus:
	default:
		return f, badRequest("Access is decided by named, wildcard, default or status.")
	}
	return f, nil
}

func (s *Server) sitesPage(r *http.Request) (view, error) {
	q := r.URL.Query()
	filters, err := readSiteFilters(q)
	if err != nil {
		return view{}, err
	}
	f, err := s.siteFilter(filters, q.Get("cursor"), pageEntries)
	if err != nil {
		return view{}, err
	}
	page, err := s.deps.Store.SitePage(r.Context(), f)
	if err != nil {
		return view{}, err
	}
	live, err := s.tallyNow(r.Context(), "")
	if err != nil {
		return view{}, err
	}
	p := sitesPage{Lede: plural(live.Sites, "site") + " " + isAre(live.Sites) + " watched.", Heading: "All sites", Search: f.Search, Tag: f.Tag, Agent: f.Agent, Signal: f.Signal, Pager: s.pageLinks(r, page.Next)}
	p.Short = page.Next != "" && len(page.Sites) < pageEntries
	p.Agents = s.agentOptions(f.Agent)
	p.Accesses = options(string(f.Access), "", "any", "blocked", "blocked", "restricted", "restricted", "partial", "partial", "allowed", "allowed", "unknown", "unknown")
	p.Sources = options(string(f.Source), "", "anything", "named", "its own group", "wildcard", "the * group", "default", "no group", "status", "the HTTP answer")
	p.States = options(string(f.State), "", "any", "policy", stateText(fetch.Policy), "absent", stateText(fetch.Absent), "denied", "denied", "unreachable", "unreachable", "not_robots", stateText(fetch.NotRobots), "pending", stateText(fetch.Pending))
	params := url.Values{}
	for _, k := range []string{"search", "tag", "state", "agent", "access", "source", "signal", "unstable", "overdue"} {
		if v := q.Get(k); v != "" {
			params.Set(k, v)
		}
	}
	if p.Filtered = len(params) > 0; p.Filtered {
		p.Heading = "Matching sites"
	}
	if f.Agent == "" {
		params.Del("access")
		params.Del("source")
	}
	if filters.Overdue {
		params.Set("overdue", "true")
	}
	if filters.Unstable {
		params.Set("unstable", "true")
	}
	params.Set("format", "csv")
	params.Set("limit", itoa(maxPage))
	p.CSV = s.prefix + apiPath + "/sites?" + params.Encode()
	if p.Rows, err = s.siteRows(r, page.Sites, f.Agent); err != nil {
		return view{}, err
	}
	feed := ""
	if f.Tag != "" {
		feed = "?tag=" + url.QueryEscape(f.Tag)
	}
	return view{Name: "sites", Title: "Sites", Section: "/sites", Feed: feed, Data: p}, nil
}

func (s *Server) agentOptions(chosen string) []option {
	pairs := []string{"", "any"}
	known := chosen == ""
	for _, t := range s.tokens() {
		pairs = append(pairs, t, t)
		known = known || t == chosen
	}
	if !known {
		pairs = append(pairs, chosen, shown(chosen))
	}
	return options(chosen, pairs...)
}

// siteRows adds what holds on each site: for one agent, or for all of them in
// short.
func (s *Server) siteRows(r *http.Request, sites []watcher.Site, agent string) ([]siteRow, error) {
	rows := make([]siteRow, len(sites))
	for i, site := range sites {
		rows[i] = siteRow{Site: site, Tags: site.Config.Tags, Overdue: s.overdue(site), Says: shortSignals(site.Signals)}
		if n := len(rows[i].Says) - siteSignals; n > 0 {
			rows[i].Says, rows[i].Unsaid = rows[i].Says[:siteSignals], n
		}
		access, err := s.effective(site)
		if err != nil {
			return nil, err
		}
		var c counts
		var blocked []string
		for _, a := range access {
			c[levelIndex(a.Level)][iStatus]++
			if a.Level == diff.Blocked {
				blocked = append(blocked, a.Agent)
			}
			if strings.EqualFold(a.Agent, agent) {
				rows[i].Access = a.Access
			}
		}
		rows[i].Share, rows[i].Words = shareOf(&c), blockedWords(blocked, len(access))
	}
	if agent == "" || len(sites) == 0 {
		return rows, nil
	}
	since, err := s.since(r.Context(), sites, agent)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].Access.Level == "" {
			rows[i].Access.Level = diff.Unknown
		}
		rows[i].Since, rows[i].First = since(rows[i].Site, rows[i].Access)
	}
	return rows, nil
}

// since tells how long an agent's access to sites has been as it is; first
// means that it was so already when the site was first looked at.
func (s *Server) since(ctx context.Context, sites []watcher.Site, agent string) (func(watcher.Site, diff.Access) (t time.Time, first bool), error) {
	ids := make([]int64, len(sites))
	for i, site := range sites {
		ids[i] = site.ID
	}
	changed, err := s.deps.Store.AccessSince(ctx, ids, agent)
	if err != nil {
		return nil, fmt.Errorf("since when: %w", err)
	}
	seen, err := s.deps.Store.FirstSeen(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("since when: %w", err)
	}
	return func(site watcher.Site, a diff.Access) (time.Time, bool) {
		if a.Source == robots.SourceStatus {
			return site.StateSince, false
		}
		if t, ok := changed[site.ID]; ok {
			return t, false
		}
		return seen[site.ID], true
	}, nil
}

// blockedWords says who is blocked in a few words.
func blockedWords(blocked []string, of int) string {
	switch n := len(blocked); {
	case n == 0:
		return "none blocked"
	case n == of:
		return "all blocked"
	case n <= 3:
		return strings.Join(blocked, ", ") + " blocked"
	default:
		return strings.Join(blocked[:2], ", ") + fmt.Sprintf(" and %d more blocked", n-2)
	}
}
