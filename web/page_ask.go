package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// maxPaste is how large a pasted robots.txt may be, as the form sends it:
// every octet of it may be escaped.
const maxPaste = 3*robots.DefaultMaxBytes + 64<<10

type askPage struct {
	Site, Agent, Path, Text string
	Agents                  []string
	Problem                 string
	Answer                  *askAnswer
}

type askAnswer struct {
	Agent, Path string
	Allowed     bool
	Why         string
	Rule        string
	Line        int
	Access      diff.Access
	State       fetch.State
	ObservedAt  time.Time
	Stale       bool
	File        *fileView
}

// ask explains one verdict: for a watched site, or for a pasted file.
func (s *Server) ask(r *http.Request) (view, error) {
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(nil, r.Body, maxPaste)
	}
	if err := r.ParseForm(); err != nil {
		return view{}, &apiError{http.StatusRequestEntityTooLarge, "too_large", "That is more than a robots.txt may be: 1 MiB is read."}
	}
	p := askPage{Site: strings.TrimSpace(r.Form.Get("site")), Agent: strings.TrimSpace(r.Form.Get("agent")),
		Path: strings.TrimSpace(r.Form.Get("path")), Text: r.Form.Get("text"), Agents: s.tokens()}
	v := view{Name: "ask", Title: "Ask", Section: "/ask"}
	var err error
	switch {
	case p.Agent == "" || p.Site == "" && p.Text == "":
		if r.Method == http.MethodPost {
			p.Problem = "Name a crawler, and a site or a robots.txt."
		}
	case agents.CheckToken(p.Agent) != nil:
		p.Problem = "Crawler: " + agents.CheckToken(p.Agent).Error() + "."
	case p.Path != "" && !strings.HasPrefix(p.Path, "/"):
		p.Problem = "A path begins with /, like /news?page=2."
	case p.Text != "":
		p.Answer = s.explain([]byte(strings.ReplaceAll(p.Text, "\r\n", "\n")), p.Agent, p.Path)
	default:
		p.Answer, err = s.explainSite(r, p)
	}
	if err != nil {
		e, ours := asAPIError(err)
		if ours {
			return view{}, err
		}
		p.Problem = e.Message
	}
	if len(p.Text) > fileBytes {
		p.Text = "" // sent back it would only weigh
	}
	v.Data = p
	return v, nil
}

// explain judges a file by itself.
func (s *Server) explain(text []byte, agent, path string) *askAnswer {
	if path == "" {
		path = "/"
	}
	rules := diff.NewInput(text).Rules(s.agent(agent))
	level, _ := diff.AccessOf(rules)
	d := rules.Decide(path)
	a := &askAnswer{Agent: s.agent(agent).Token, Path: path, Allowed: d.Allowed, Access: diff.Access{Level: level, Source: rules.Source}}
	if d.Rule != nil {
		a.Rule, a.Line = d.Rule.Text, d.Rule.Line
	}
	a.Why = why(rules, d, path)
	a.File = showFile(text, s.remarks(text), a.Line, "")
	return a
}

// explainSite judges a watched site as it stands.
func (s *Server) explainSite(r *http.Request, p askPage) (*askAnswer, error) {
	site, err := s.findSite(r.Context(), p.Site, "")
	if err != nil {
		return nil, err
	}
	text, err := s.lastPolicy(r.Context(), site)
	if err != nil {
		return nil, err
	}
	path := p.Path
	if path == "" {
		path = "/"
	}
	agent := s.agent(p.Agent)
	now := s.deps.Now()
	g := watcher.Gate(site, text, agent, path, now, s.deps.Judge.Settings().Semantics)
	a := &askAnswer{Agent: agent.Token, Path: path, Allowed: g.Allowed, Access: diff.Access{Level: g.Access, Source: g.Source},
		State: g.State, ObservedAt: g.ObservedAt, Stale: g.Stale}
	if g.Rule != nil && g.Line != nil {
		a.Rule, a.Line = *g.Rule, *g.Line
	}
	switch {
	case g.Source == robots.SourceStatus && g.Access == diff.Unknown:
		a.Why = "Nothing is known of this site yet."
	case g.Source == robots.SourceStatus:
		a.Why = fmt.Sprintf("The HTTP answer decides, not a rule: %s.", stateText(site.State))
	default:
		rules := diff.NewInput(text).Rules(agent)
		a.Why = why(rules, rules.Decide(path), path)
	}
	if text != nil {
		a.File = showFile(text, s.remarks(text), a.Line, "")
	}
	return a, nil
}

// why words a verdict.
func why(rules *robots.Rules, d robots.Decision, path string) string {
	var group string
	switch rules.Source {
	case robots.SourceNamed:
		group = fmt.Sprintf("The group for %s applies (%s)", shown(rules.Token), linesWords(rules.GroupLines))
	case robots.SourceWildcard:
		group = fmt.Sprintf("No group names it, so the * group applies (%s)", linesWords(rules.GroupLines))
	default:
		return "No group applies to it, so everything is allowed."
	}
	switch {
	case d.Rule != nil && d.Allowed:
		return group + ", and the longest rule that matches allows the path."
	case d.Rule != nil:
		return group + ", and the longest rule that matches disallows the path."
	case robots.NormalizePath(path) == "/robots.txt":
		return group + ", and /robots.txt itself may always be fetched."
	case len(rules.Rules) == 0:
		return group + "; it has no rules, so everything is allowed."
	}
	return group + ", and none of its rules matches the path, so it is allowed."
}

func linesWords(lines []int) string {
	var w []string
	for _, l := range lines {
		w = append(w, itoa(l))
	}
	if len(w) == 1 {
		return "line " + w[0]
	}
	return "lines " + strings.Join(w, ", ")
}
