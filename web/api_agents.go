package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/robotswatch/robotswatch/agents"
)

// agentEntry is a crawler of the catalogue with the numbers of now.
type agentEntry struct {
	agents.Agent
	Watched bool         `json:"watched" doc:"By default; sites may have their own list"`
	Sites   *LevelCounts `json:"sites,omitempty" doc:"Numbers of sites by effective access; left out for an agent that is watched nowhere"`
}

// LevelCounts are numbers of sites by access.
type LevelCounts struct {
	Allowed    int `json:"allowed"`
	Partial    int `json:"partial"`
	Restricted int `json:"restricted"`
	Blocked    int `json:"blocked"`
	Unknown    int `json:"unknown"`
}

func (l LevelCounts) cells() []string {
	return []string{itoa(l.Allowed), itoa(l.Partial), itoa(l.Restricted), itoa(l.Blocked), itoa(l.Unknown)}
}

// by gives the counts of one kind of source, of all with a negative one.
func (c *counts) by(source int) LevelCounts {
	n := func(level int) int {
		if source < 0 {
			return c.level(level)
		}
		return c[level][source]
	}
	return LevelCounts{n(iAllowed), n(iPartial), n(iRestricted), n(iBlocked), n(iUnknown)}
}

func (agentEntry) csvHeader() []string {
	return []string{"token", "operator", "category", "honours_robots", "doc_url", "watched", "allowed", "partial", "restricted", "blocked", "unknown"}
}

func (a agentEntry) csvCells() []string {
	watched, sites := "false", []string{"", "", "", "", ""}
	if a.Watched {
		watched = "true"
	}
	if a.Sites != nil {
		sites = a.Sites.cells()
	}
	return append([]string{a.Token, a.Operator, a.Category, a.Honours, a.DocURL, watched}, sites...)
}

func (s *Server) apiAgents(api huma.API) {
	operation(s, api, huma.Operation{
		OperationID: "list-agents", Method: http.MethodGet, Path: "/agents", Tags: []string{"agents"},
		Summary: "The catalogue of crawlers with the numbers of now",
	}, func(ctx context.Context, in *struct {
		Paging
		Group string `query:"group" enum:"@ai,@training,@search,@assistant,@all" default:"@all"`
		Tag   string `query:"tag" maxLength:"100" doc:"Count only sites with this tag"`
	}) (*listOutput[agentEntry], error) {
		if err := s.known(ctx, in.Tag, ""); err != nil {
			return nil, err
		}
		entries, err := s.agentEntries(ctx, in.Group, in.Tag)
		if err != nil {
			return nil, err
		}
		start := 0
		if in.Cursor != "" {
			if start = 1 + slices.IndexFunc(entries, func(e agentEntry) bool { return e.Token == in.Cursor }); start == 0 {
				return nil, badCursor()
			}
		}
		return listOf(entries[start:], in.Limit, func(a agentEntry) string { return a.Token }, func(a agentEntry) agentEntry { return a }), nil
	})
}

// agentEntries lists the catalogue, then watched agents that it lacks.
func (s *Server) agentEntries(ctx context.Context, group, tag string) ([]agentEntry, error) {
	live, err := s.tallyNow(ctx, tag)
	if err != nil {
		return nil, err
	}
	watched, err := s.watched()
	if err != nil {
		return nil, err
	}
	catalogue := s.deps.Judge.Settings().Catalogue
	list := catalogue.Agents
	for _, token := range watched {
		if _, ok := catalogue.Lookup(token); !ok {
			list = append(list[:len(list):len(list)], agents.Agent{Token: token, Groups: []string{agents.GroupAll}})
		}
	}
	var out []agentEntry
	for _, a := range list {
		if !a.In(group) {
			continue
		}
		e := agentEntry{Agent: a, Watched: containsFold(watched, a.Token)}
		if c := live.Agents[lower(a.Token)]; c != nil {
			n := c.by(-1)
			e.Sites = &n
		}
		out = append(out, e)
	}
	return out, nil
}

func containsFold(list []string, token string) bool {
	for _, t := range list {
		if strings.EqualFold(t, token) {
			return true
		}
	}
	return false
}
