package web

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

type comparePage struct {
	Origin        string
	Before, After string
	Meaning       meaning
	Nothing       string
	Text          diffView
}

// meaning is what an edit means, as the template of the same name shows it.
type meaning struct {
	Groups         []changeGroup
	Signals        []diff.SignalChange
	CrawlDelays    []diff.CrawlDelayChange
	Added, Removed []string
	NoEffect       []diff.NoEffect
}

// changeGroup is agents for whom an edit means the same.
type changeGroup struct {
	Agents []string
	diff.AgentChange
}

func (m meaning) empty() bool {
	return len(m.Groups)+len(m.Signals)+len(m.CrawlDelays)+len(m.Added)+len(m.Removed) == 0
}

// alike groups agents by what an edit means for them, in order of the first.
func alike(changes []diff.AgentChange) []changeGroup {
	var groups []changeGroup
	for _, c := range changes {
		same := c
		same.Agent = ""
		i := slices.IndexFunc(groups, func(g changeGroup) bool { return reflect.DeepEqual(g.AgentChange, same) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, changeGroup{AgentChange: same})
		}
		groups[i].Agents = append(groups[i].Agents, c.Agent)
	}
	return groups
}

// compare shows two versions of a site's robots.txt side by side: for every
// agent of the catalogue and every one that either version names.
func (s *Server) compare(r *http.Request) (view, error) {
	ctx := r.Context()
	site, err := s.findSite(ctx, r.PathValue("host"), r.URL.Query().Get("scheme"))
	if err != nil {
		return view{}, err
	}
	runs, err := s.deps.Store.Observations(ctx, site.Origin, time.Time{}, time.Time{}, 0)
	if err != nil {
		return view{}, err
	}
	p := comparePage{Origin: site.Origin}
	var texts [2][]byte
	for i, side := range []string{"before", "after"} {
		var words string
		if texts[i], words, err = s.versionOf(ctx, runs, r.URL.Query().Get(side)); err != nil {
			return view{}, err
		}
		if i == 0 {
			p.Before = words
		} else {
			p.After = words
		}
	}
	before, after := diff.NewInput(texts[0]), diff.NewInput(texts[1])
	list := s.catalogueAgents()
	list = append(list, diff.Named(before, after, list)...)
	rep := diff.Files(before, after, list)
	p.Meaning = meaning{alike(rep.Agents), rep.Signals, rep.CrawlDelays, rep.Sitemaps.Added, rep.Sitemaps.Removed, rep.NoEffect}
	if p.Meaning.empty() {
		p.Nothing = "Both mean the same for every crawler, over all paths."
	}
	p.Text = showDiff(diff.Text(texts[0], texts[1]))
	return view{Name: "compare", Title: "Two versions of " + displayHost(site.Origin), Section: "/sites", Data: p}, nil
}

func (s *Server) catalogueAgents() []diff.Agent {
	var out []diff.Agent
	for _, a := range s.deps.Judge.Settings().Catalogue.Agents {
		out = append(out, watcher.AgentOf(a))
	}
	return out
}

// versionOf finds a version among what the site answered: only those are
// shown here, whatever else the store keeps.
func (s *Server) versionOf(ctx context.Context, runs []watcher.Observation, sha string) ([]byte, string, error) {
	h, err := parseHash(sha)
	if err != nil {
		return nil, "", err
	}
	for _, v := range versions(runs) {
		if v.Hash == h {
			text, err := s.deps.Store.Body(ctx, h)
			return text, "first seen " + v.At.UTC().Format("2 Jan 2006 15:04"), err
		}
	}
	return nil, "", notFound("The site has never had this version.")
}

func parseHash(text string) (h watcher.Hash, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(h) {
		return h, badRequest("A version is named by its SHA-256 in hex.")
	}
	return watcher.Hash(b), nil
}

// bodyText gives the text of a version by its hash in hex; known is false
// where there is none to show.
func (s *Server) bodyText(ctx context.Context, sha string) (text []byte, known bool, err error) {
	if sha == "" {
		return nil, false, nil
	}
	h, err := parseHash(sha)
	if err != nil {
		return nil, false, fmt.Errorf("stored hash %q: %w", sha, err)
	}
	text, err = s.deps.Store.Body(ctx, h)
	if errors.Is(err, watcher.ErrNotFound) {
		return nil, false, nil
	}
	return text, err == nil, err
}
