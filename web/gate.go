package web

import (
	"context"
	"strings"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/watcher"
)

// gate answers the questions of one request. It remembers sites and files
// between them: a pipeline asks many things about the same site.
type gate struct {
	s     *Server
	sites map[string]found
	texts map[watcher.Hash][]byte
	size  int // octets of texts
}

// found is what a text for a site leads to.
type found struct {
	site watcher.Site
	err  error
}

// gateMemory is how many octets of files a gate remembers.
const gateMemory = 16 << 20

func newGate(s *Server) *gate {
	return &gate{s: s, sites: map[string]found{}, texts: map[watcher.Hash][]byte{}}
}

func (g *gate) find(ctx context.Context, text string) (watcher.Site, error) {
	f, ok := g.sites[text]
	if !ok {
		f.site, f.err = g.s.findSite(ctx, text, "")
		g.sites[text] = f
	}
	return f.site, f.err
}

// Body implements watcher.Bodies.
func (g *gate) Body(ctx context.Context, h watcher.Hash) ([]byte, error) {
	if text, ok := g.texts[h]; ok {
		return text, nil
	}
	text, err := g.s.deps.Store.Body(ctx, h)
	if err == nil && g.size+len(text) <= gateMemory {
		g.texts[h] = text
		g.size += len(text)
	}
	return text, err
}

// verdict answers one question.
func (g *gate) verdict(ctx context.Context, q question) (*verdict, error) {
	site, err := g.find(ctx, q.Site)
	if err != nil {
		return nil, err
	}
	path := q.Path
	if path == "" {
		path = "/"
	}
	if !strings.HasPrefix(path, "/") {
		return nil, badRequest("A path begins with /, like /news?page=2.")
	}
	token, err := agents.ParseToken(q.Agent)
	if err != nil {
		return nil, badRequest(sentence(err))
	}
	agent, now := g.s.agent(token), g.s.deps.Now()
	v := &verdict{Site: site.Origin, Watched: !site.Left, Agent: agent.Token, Path: path}
	if q.At != nil && !q.At.IsZero() {
		v.At = never(q.At.Time)
		if q.At.After(now) {
			return nil, badRequest("What will hold later nobody knows: at lies in the future.")
		}
		now = q.At.Time
		if site, err = g.s.siteAt(ctx, site, now); err != nil {
			return nil, err
		}
	}
	text, err := watcher.LastPolicy(ctx, g, site)
	if err != nil {
		return nil, err
	}
	p := watcher.Gate(site, text, agent, path, now, g.s.deps.Judge.Settings().Semantics)
	v.Allowed, v.Access, v.State, v.Source, v.Rule, v.Line = p.Allowed, p.Access, p.State, p.Source, p.Rule, p.Line
	v.ObservedAt, v.Stale = never(p.ObservedAt), p.Stale
	return v, nil
}
