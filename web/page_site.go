package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/lint"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	siteChanges  = 8   // changes shown on a site's page
	siteTimeline = 40  // answers shown on it at once
	siteSitemaps = 10  // sitemaps shown on it
	siteVersions = 100 // versions offered for comparison
)

type sitePage struct {
	Site                        watcher.Site
	Lede                        string
	Overdue                     bool
	HTTP                        bool
	Access                      []accessGroup
	Answer                      *watcher.Observation
	Signals                     []robots.Signal
	Sitemaps                    []string
	MoreSitemaps                int
	Changes                     []watcher.Change
	Timeline                    []timelineEntry
	OlderLink                   string
	Versions                    []version
	ComparePath                 string
	BeforeOptions, AfterOptions []option
	File                        *fileView
	NoFile                      string
	Evidence                    string // where a bundle about the answer is
}

// accessGroup is agents with the same access, by the same line.
type accessGroup struct {
	Agents []string
	Access diff.Access
	Rule   string
	Line   int
	More   int // further rules
}

type timelineEntry struct {
	watcher.Observation
	Words string
	Span  string
}

// version is a policy that a site once had.
type version struct {
	Hash watcher.Hash
	At   time.Time // first seen
}

func (s *Server) sitePage(r *http.Request) (view, error) {
	ctx := r.Context()
	site, err := s.findSite(ctx, r.PathValue("host"), r.URL.Query().Get("scheme"))
	if err != nil {
		return view{}, err
	}
	p := sitePage{Site: site, Overdue: s.overdue(site), HTTP: strings.HasPrefix(site.Origin, "http://")}
	if !site.StateSince.IsZero() && site.State != fetch.Pending {
		p.Lede = "since " + site.StateSince.UTC().Format("2 Jan 2006") + "."
	}
	text, err := s.lastPolicy(ctx, site)
	if err != nil {
		return view{}, err
	}
	if p.Access, err = s.accessGroups(site, text); err != nil {
		return view{}, err
	}
	if p.Changes, err = s.latest(ctx, watcher.ChangeFilter{Site: site.Origin, Limit: siteChanges}); err != nil {
		return view{}, err
	}
	if err := s.timeline(r, &p); err != nil {
		return view{}, err
	}
	s.siteFile(&p, text)
	return view{Name: "site", Title: displayHost(site.Origin), Section: "/sites", Feed: "?site=" + url.QueryEscape(site.Origin), Data: p}, nil
}

// accessGroups gives the watched agents' access, the strictest first, and
// where rules decide the rule for an ordinary path, or else the first that
// disallows something.
func (s *Server) accessGroups(site watcher.Site, text []byte) ([]accessGroup, error) {
	access, err := s.effective(site)
	if err != nil {
		return nil, err
	}
	in := diff.NewInput(text)
	var groups []accessGroup
	for _, a := range access {
		g := accessGroup{Access: a.Access}
		if text != nil && (a.Source == robots.SourceNamed || a.Source == robots.SourceWildcard) {
			g.decidedBy(in.Rules(s.agent(a.Agent)))
		}
		i := slices.IndexFunc(groups, func(o accessGroup) bool {
			return o.Access == g.Access && o.Rule == g.Rule && o.Line == g.Line && o.More == g.More
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, g)
		}
		groups[i].Agents = append(groups[i].Agents, a.Agent)
	}
	slices.SortStableFunc(groups, func(a, b accessGroup) int { return strictness(b.Access.Level) - strictness(a.Access.Level) })
	return groups, nil
}

func (g *accessGroup) decidedBy(rules *robots.Rules) {
	if rule := diff.Telling(rules); rule != nil {
		g.Rule, g.Line, g.More = rule.Text, rule.Line, len(rules.Rules)-1
	}
}

// timeline fills in what was answered when, and the versions among it.
func (s *Server) timeline(r *http.Request, p *sitePage) error {
	before, err := timeCursor(r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	runs, err := s.deps.Store.Observations(r.Context(), p.Site.Origin, time.Time{}, time.Time{}, siteVersions)
	if err != nil {
		return err
	}
	if len(runs) > 0 {
		p.Answer = &runs[0]
		p.Evidence = s.evidencePath(p.Site.Origin)
	}
	p.Versions = versions(runs)
	p.ComparePath = s.prefix + "/sites/" + url.PathEscape(strings.TrimPrefix(strings.TrimPrefix(p.Site.Origin, "https://"), "http://")) + "/compare"
	for i, v := range p.Versions {
		o := option{v.Hash.String(), v.At.UTC().Format("2006-01-02 15:04") + " · " + v.Hash.String()[:8], i == 1}
		p.BeforeOptions = append(p.BeforeOptions, o)
		o.Chosen = i == 0
		p.AfterOptions = append(p.AfterOptions, o)
	}
	if !before.IsZero() {
		if runs, err = s.deps.Store.Observations(r.Context(), p.Site.Origin, time.Time{}, before, siteTimeline+1); err != nil {
			return err
		}
	}
	for i, o := range runs {
		if i == siteTimeline {
			q := r.URL.Query()
			q.Set("cursor", itoa(int(runs[i-1].At.UnixMilli())))
			p.OlderLink = s.prefix + r.URL.Path + "?" + q.Encode()
			break
		}
		p.Timeline = append(p.Timeline, timelineEntry{o, answerWords(o), spanWords(o)})
	}
	return nil
}

// versions lists distinct policies, the newest first.
func versions(runs []watcher.Observation) []version {
	var out []version
	seen := map[watcher.Hash]int{}
	for _, o := range runs {
		if o.Body.IsZero() {
			continue
		}
		if i, ok := seen[o.Body]; ok {
			out[i].At = o.At
			continue
		}
		seen[o.Body] = len(out)
		out = append(out, version{o.Body, o.At})
	}
	return out
}

func answerWords(o watcher.Observation) string {
	var words []string
	if o.Status != 0 {
		words = append(words, fmt.Sprintf("HTTP %d", o.Status))
	}
	if o.Reason != "" && !saysStatus(o) {
		words = append(words, reasonText(o.Reason))
	}
	if !o.Body.IsZero() {
		words = append(words, octets(o.Bytes)+", "+o.Body.String()[:8])
	}
	return shown(strings.Join(words, ", "))
}

// saysStatus reports whether the reason says no more than the status.
func saysStatus(o watcher.Observation) bool {
	return o.Reason == fetch.Reason(fmt.Sprintf("http_%d", o.Status))
}

func spanWords(o watcher.Observation) string {
	d := o.LastAt.Sub(o.At)
	switch {
	case d < time.Minute:
		return "seen once"
	case d < 2*time.Hour:
		return "for " + plural(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return "for " + plural(int(d/time.Hour), "hour")
	}
	return "for " + plural(int(d/(24*time.Hour)), "day")
}

// siteFile shows the last good policy with remarks in place.
func (s *Server) siteFile(p *sitePage, text []byte) {
	switch {
	case text == nil && p.Site.Readable == fetch.Absent:
		p.NoFile = "The site has none."
		return
	case text == nil && len(p.Versions) > 0:
		p.NoFile = "No look of ours has read one yet; the versions above are from archives."
		return
	case text == nil:
		p.NoFile = "None has been seen yet."
		return
	}
	f := robots.Parse(text, robots.Options{})
	p.Signals = f.Signals
	for i, m := range f.Sitemaps {
		if i == siteSitemaps {
			p.MoreSitemaps = len(f.Sitemaps) - i
			break
		}
		p.Sitemaps = append(p.Sitemaps, m.URL)
	}
	p.File = showFile(text, s.remarks(text), 0, s.prefix+apiPath+"/sites/"+strings.Replace(hostPath(p.Site.Origin), "?", "/robots.txt?", 1))
	if !strings.Contains(p.File.Raw, "/robots.txt") {
		p.File.Raw += "/robots.txt"
	}
	if p.Site.State != fetch.Policy {
		p.File.Intro = "The last good one, as seen until " + p.Site.ReadableAt.UTC().Format("2 Jan 2006 15:04") + "."
	}
}

// remarks are what the author of a file probably did not mean, by line; line
// 0 is the file as a whole.
func (s *Server) remarks(text []byte) map[int][]string {
	by := map[int][]string{}
	for _, f := range s.findings(text) {
		by[f.Line] = append(by[f.Line], shown(f.Reason))
	}
	return by
}

func (s *Server) findings(text []byte) []lint.Finding {
	list, _ := lint.File(text, lint.Options{Catalogue: s.deps.Judge.Settings().Catalogue})
	return list
}

// rawFile serves the last good policy as it came, as plain text that no
// browser may interpret.
func (s *Server) rawFile(w http.ResponseWriter, r *http.Request) {
	site, err := s.findSite(r.Context(), r.PathValue("host"), r.URL.Query().Get("scheme"))
	var text []byte
	if err == nil {
		text, err = s.lastPolicy(r.Context(), site)
	}
	if err == nil && text == nil {
		err = notFound("No robots.txt of this site is known.")
	}
	if err != nil {
		e, ours := asAPIError(err)
		if ours {
			s.deps.Log.Error("raw file failed", "err", err)
		}
		writeAPIError(w, e)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = w.Write(text) // the client may be gone
}
