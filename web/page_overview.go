package web

import (
	"fmt"
	"net/http"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	overviewSites   = 100
	overviewChanges = 20
)

type overviewData struct {
	Agents  []string
	Sites   []siteRow
	Changes []watcher.Change
}

type siteRow struct {
	watcher.Site
	Cells []diff.Access // one per agent of the page, in its order
}

func (s *Server) overview(r *http.Request) (view, error) {
	sites, err := s.deps.Store.Sites(r.Context(), watcher.SiteFilter{Limit: overviewSites})
	if err != nil {
		return view{}, fmt.Errorf("sites: %w", err)
	}
	changes, err := s.deps.Store.Changes(r.Context(), watcher.ChangeFilter{Limit: overviewChanges})
	if err != nil {
		return view{}, fmt.Errorf("changes: %w", err)
	}
	d := overviewData{Agents: s.set.Watched, Changes: changes}
	for _, site := range sites {
		row := siteRow{Site: site}
		for _, a := range d.Agents {
			row.Cells = append(row.Cells, accessOf(site.Profile, a))
		}
		d.Sites = append(d.Sites, row)
	}
	return view{Name: "overview", Title: "Overview", Section: "/", Data: d}, nil
}

// accessOf is the entry of an agent in a profile.
func accessOf(profile []watcher.AgentAccess, agent string) diff.Access {
	for _, a := range profile {
		if a.Agent == agent {
			return a.Access
		}
	}
	return diff.Access{Level: diff.Unknown}
}
