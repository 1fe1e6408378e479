package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// SiteEntry is a site in a list.
type SiteEntry struct {
	Site       string        `json:"site" doc:"Origin" example:"https://example.com"`
	Tags       []string      `json:"tags" nullable:"false"`
	State      fetch.State   `json:"state" enum:"policy,absent,denied,unreachable,not_robots,pending"`
	Reason     fetch.Reason  `json:"reason" doc:"Why the last answer has its state"`
	StateSince *time.Time    `json:"state_since"`
	LastCheck  *time.Time    `json:"last_check_at"`
	LastChange *time.Time    `json:"last_change_at"`
	NextCheck  *time.Time    `json:"next_check_at"`
	Overdue    bool          `json:"overdue" doc:"No check finished in 24 hours"`
	Unstable   bool          `json:"unstable" doc:"Its answers go back and forth, and have not settled yet"`
	Watched    bool          `json:"watched" doc:"False: it left the configuration, and is looked at no more; this is how it stood"`
	Agents     []AgentAccess `json:"agents" nullable:"false" doc:"Effective access of the watched agents"`
	Signals    []string      `json:"signals" nullable:"false" doc:"What the last good policy states about use, reduced to what can be counted" example:"content-signal ai-train=no for *"`
}

// AgentAccess is the effective access of one agent.
type AgentAccess struct {
	Agent  string        `json:"agent"`
	Access diff.Level    `json:"access" enum:"allowed,partial,restricted,blocked,unknown"`
	Source robots.Source `json:"source" enum:"named,wildcard,default,status"`
}

func (SiteEntry) csvHeader() []string {
	return []string{"site", "tags", "state", "reason", "state_since", "last_check_at", "last_change_at", "next_check_at", "overdue", "unstable", "watched", "blocked", "restricted", "partial", "signals"}
}

func (e SiteEntry) csvCells() []string {
	by := map[diff.Level][]string{}
	for _, a := range e.Agents {
		by[a.Access] = append(by[a.Access], a.Agent)
	}
	return []string{e.Site, strings.Join(e.Tags, " "), string(e.State), string(e.Reason), csvTime(e.StateSince), csvTime(e.LastCheck),
		csvTime(e.LastChange), csvTime(e.NextCheck), strconv.FormatBool(e.Overdue), strconv.FormatBool(e.Unstable), strconv.FormatBool(e.Watched),
		strings.Join(by[diff.Blocked], " "), strings.Join(by[diff.Restricted], " "), strings.Join(by[diff.Partial], " "), strings.Join(e.Signals, "; ")}
}

func csvTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

// siteDetail is everything about one site but its history.
type siteDetail struct {
	SiteEntry
	Schedule   string     `json:"schedule" doc:"Empty: the default one"`
	ReadableAt *time.Time `json:"readable_at" doc:"When the last readable answer was last seen"`
	Answer     *answer    `json:"answer,omitempty" doc:"What the server answered last; left out before the first look"`
	Policy     *policy    `json:"policy,omitempty" doc:"The last good robots.txt; left out when there was none"`
}

// answer is a run of equal answers as seen.
type answer struct {
	At        time.Time    `json:"at" doc:"First seen"`
	LastAt    time.Time    `json:"last_at" doc:"Last seen"`
	State     fetch.State  `json:"state" enum:"policy,absent,denied,unreachable,not_robots"`
	Reason    fetch.Reason `json:"reason"`
	Detail    string       `json:"detail"`
	Status    int          `json:"status" doc:"0: nothing was answered"`
	FinalURL  string       `json:"final_url"`
	SHA256    string       `json:"sha256"`
	Bytes     int64        `json:"bytes"`
	Truncated bool         `json:"truncated"`
	Vendor    string       `json:"vendor" doc:"The edge that answered, where headers give it away"`
	Headers   []header     `json:"headers" nullable:"false"`
	Backfill  bool         `json:"backfilled"`
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func showAnswer(o watcher.Observation) answer {
	a := answer{At: o.At.UTC(), LastAt: o.LastAt.UTC(), State: o.State, Reason: o.Reason, Detail: o.Detail, Status: o.Status,
		FinalURL: o.FinalURL, SHA256: o.Body.String(), Bytes: o.Bytes, Truncated: o.Truncated, Vendor: o.Evidence.Vendor,
		Headers: []header{}, Backfill: o.Backfill}
	for _, h := range o.Evidence.Headers {
		a.Headers = append(a.Headers, header{h.Name, h.Value})
	}
	return a
}

func (answer) csvHeader() []string {
	return []string{"at", "last_at", "state", "reason", "detail", "status", "final_url", "sha256", "bytes", "truncated", "backfilled"}
}

func (a answer) csvCells() []string {
	return []string{a.At.Format(time.RFC3339), a.LastAt.Format(time.RFC3339), string(a.State), string(a.Reason), a.Detail, itoa(a.Status),
		a.FinalURL, a.SHA256, strconv.FormatInt(a.Bytes, 10), strconv.FormatBool(a.Truncated), strconv.FormatBool(a.Backfill)}
}

// policy is what a robots.txt says beside its rules.
type policy struct {
	SHA256   string    `json:"sha256"`
	Bytes    int       `json:"bytes"`
	Lines    int       `json:"lines"`
	Sitemaps []string  `json:"sitemaps" nullable:"false"`
	Signals  []signal  `json:"signals" nullable:"false"`
	Warnings []warning `json:"warnings" nullable:"false"`
}

// signal is a preference about use.
type signal struct {
	Scope string `json:"scope" doc:"Token of the group it stands in, * or empty for the whole file"`
	Name  string `json:"name"`
	Path  string `json:"path"`
	Value string `json:"value"`
	Line  int    `json:"line"`
}

// warning is what the author probably did not mean; line 0 is the whole file.
type warning struct {
	Line int    `json:"line"`
	Code string `json:"code"`
	Text string `json:"text"`
}

func (s *Server) showPolicy(h watcher.Hash, text []byte) *policy {
	f := robots.Parse(text, robots.Options{})
	p := &policy{SHA256: h.String(), Bytes: len(text), Lines: f.Lines, Sitemaps: []string{}, Signals: []signal{}, Warnings: []warning{}}
	for _, m := range f.Sitemaps {
		p.Sitemaps = append(p.Sitemaps, m.URL)
	}
	for _, g := range f.Signals {
		p.Signals = append(p.Signals, signal{g.Scope, g.Name, g.Path, g.Value, g.Line})
	}
	for _, w := range s.findings(text) {
		p.Warnings = append(p.Warnings, warning{w.Line, w.Code, w.Reason})
	}
	return p
}

func (s *Server) siteEntry(site watcher.Site) (SiteEntry, error) {
	access, err := s.effective(site)
	if err != nil {
		return SiteEntry{}, err
	}
	e := SiteEntry{Site: site.Origin, Tags: site.Config.Tags, State: site.State, Reason: site.Reason, StateSince: never(site.StateSince),
		LastCheck: never(site.LastCheckAt), LastChange: never(site.LastChangeAt), NextCheck: never(site.NextCheckAt),
		Overdue: s.overdue(site), Unstable: site.Unstable(), Watched: !site.Left, Agents: make([]AgentAccess, len(access)), Signals: site.Signals}
	if e.Signals == nil {
		e.Signals = []string{}
	}
	if e.Tags == nil {
		e.Tags = []string{}
	}
	if e.State == "" {
		e.State = fetch.Pending
	}
	for i, a := range access {
		e.Agents[i] = AgentAccess{a.Agent, a.Level, a.Source}
	}
	return e, nil
}

// SiteFilters are the parameters that select sites.
type SiteFilters struct {
	Search   string        `query:"search" maxLength:"200" doc:"Part of the host name"`
	Tag      string        `query:"tag" maxLength:"100"`
	State    fetch.State   `query:"state" enum:"policy,absent,denied,unreachable,not_robots,pending"`
	Agent    string        `query:"agent" maxLength:"100" doc:"With access and source: sites where that holds for this agent"`
	Access   diff.Level    `query:"access" enum:"allowed,partial,restricted,blocked,unknown"`
	Source   robots.Source `query:"source" enum:"named,wildcard,default,status"`
	Signal   string        `query:"signal" maxLength:"200" doc:"Sites whose policy states this, such as content-signal ai-train=no for *"`
	Unstable bool          `query:"unstable" doc:"Only sites whose answers go back and forth"`
	Overdue  bool          `query:"overdue" doc:"Only sites that no check has finished for in 24 hours"`
}

func (s *Server) siteFilter(f SiteFilters, after string, limit int) (watcher.SiteFilter, error) {
	if f.Agent == "" && (f.Access != "" || f.Source != "") {
		return watcher.SiteFilter{}, badRequest("access and source need an agent.")
	}
	if _, ok := watcher.ParseStatement(f.Signal); f.Signal != "" && !ok {
		return watcher.SiteFilter{}, noSuchSignal()
	}
	if err := originCursor(after); err != nil {
		return watcher.SiteFilter{}, err
	}
	w := watcher.SiteFilter{Search: f.Search, Signal: f.Signal, Unstable: f.Unstable, Tag: f.Tag, State: f.State, Agent: f.Agent, Access: f.Access, Source: f.Source, After: after, Limit: limit}
	if f.Overdue {
		w.CheckedBefore = s.deps.Now().Add(-watcher.MaxGap)
	}
	return w, nil
}

// HostInput names a site in a path.
type HostInput struct {
	Host   string `path:"host" maxLength:"300" doc:"Host or host:port" example:"example.com"`
	Scheme string `query:"scheme" enum:"https,http" doc:"Where both are watched; without it https is meant then"`
}

func (s *Server) apiSites(api huma.API) {
	operation(s, api, huma.Operation{
		OperationID: "list-sites", Method: http.MethodGet, Path: "/sites", Tags: []string{"sites"}, Summary: "Sites, by origin",
	}, func(ctx context.Context, in *struct {
		Paging
		SiteFilters
	}) (*listOutput[SiteEntry], error) {
		f, err := s.siteFilter(in.SiteFilters, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		if err := s.known(ctx, f.Tag, f.Agent); err != nil {
			return nil, err
		}
		page, err := s.deps.Store.SitePage(ctx, f)
		if err != nil {
			return nil, err
		}
		out := &listOutput[SiteEntry]{Body: list[SiteEntry]{Data: make([]SiteEntry, len(page.Sites)), NextCursor: page.Next}}
		for i, site := range page.Sites {
			if out.Body.Data[i], err = s.siteEntry(site); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	operation(s, api, huma.Operation{
		OperationID: "get-site", Method: http.MethodGet, Path: "/sites/{host}", Tags: []string{"sites"}, Summary: "One site as it stands",
	}, func(ctx context.Context, in *HostInput) (*struct{ Body siteDetail }, error) {
		site, err := s.findSite(ctx, in.Host, in.Scheme)
		if err != nil {
			return nil, err
		}
		d, err := s.siteDetail(ctx, site)
		return &struct{ Body siteDetail }{d}, err
	})
	operation(s, api, huma.Operation{
		OperationID: "list-answers", Method: http.MethodGet, Path: "/sites/{host}/answers", Tags: []string{"sites"},
		Summary: "What a site answered, newest first, equal answers as one",
	}, func(ctx context.Context, in *struct {
		HostInput
		Paging
	}) (*listOutput[answer], error) {
		site, err := s.findSite(ctx, in.Host, in.Scheme)
		if err != nil {
			return nil, err
		}
		before, err := timeCursor(in.Cursor)
		if err != nil {
			return nil, err
		}
		runs, err := s.deps.Store.Observations(ctx, site.Origin, time.Time{}, before, in.Limit+1)
		if err != nil {
			return nil, err
		}
		return listOf(runs, in.Limit, func(o watcher.Observation) string { return strconv.FormatInt(o.At.UnixMilli(), 10) }, showAnswer), nil
	})
	operation(s, api, huma.Operation{
		OperationID: "check-site", Method: http.MethodPost, Path: "/sites/{host}/check", Tags: []string{"sites"},
		Summary: "Look at a site now", Description: "Needs the admin token where one is configured. A site is looked at once a minute at most.",
		Security: []map[string][]string{{"token": {}}},
	}, s.checkSite)
}

func (s *Server) siteDetail(ctx context.Context, site watcher.Site) (siteDetail, error) {
	e, err := s.siteEntry(site)
	if err != nil {
		return siteDetail{}, err
	}
	d := siteDetail{SiteEntry: e, Schedule: site.Config.Schedule, ReadableAt: never(site.ReadableAt)}
	runs, err := s.deps.Store.Observations(ctx, site.Origin, time.Time{}, time.Time{}, 1)
	if err != nil {
		return siteDetail{}, err
	}
	if len(runs) > 0 {
		a := showAnswer(runs[0])
		d.Answer = &a
	}
	text, err := s.lastPolicy(ctx, site)
	if err != nil {
		return siteDetail{}, err
	}
	if text != nil {
		d.Policy = s.showPolicy(site.Body, text)
	}
	return d, nil
}

// checkSite looks at a site out of turn and answers how it stands then.
func (s *Server) checkSite(ctx context.Context, in *HostInput) (*struct{ Body siteDetail }, error) {
	if !isAdmin(ctx) {
		return nil, adminOnly()
	}
	if s.deps.Check == nil {
		return nil, &apiError{http.StatusNotImplemented, "not_implemented", "This server does not look at sites itself."}
	}
	site, err := s.findSite(ctx, in.Host, in.Scheme)
	if err != nil {
		return nil, err
	}
	if !s.checks.allow(site.Origin, s.deps.Now()) {
		return nil, &apiError{http.StatusTooManyRequests, "rate_limited", "This site was looked at on request a moment ago; once a minute is enough."}
	}
	if err := s.deps.Check(ctx, site.Origin); err != nil {
		return nil, err
	}
	if site, err = s.deps.Store.SiteByOrigin(ctx, site.Origin); err != nil {
		return nil, err
	}
	d, err := s.siteDetail(ctx, site)
	return &struct{ Body siteDetail }{d}, err
}
