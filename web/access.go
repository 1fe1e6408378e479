package web

import (
	"context"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

// effective is the access that holds now for the agents watched on a site.
func (s *Server) effective(site watcher.Site) ([]watcher.AgentAccess, error) {
	return s.deps.Judge.Effective(site, s.deps.Now())
}

// agent is a crawler as the catalogue knows it, or one by that token alone.
func (s *Server) agent(token string) diff.Agent {
	return watcher.AgentNamed(s.deps.Judge.Settings().Catalogue, token)
}

// lastPolicy is the text of the last good policy, nil when there is none.
func (s *Server) lastPolicy(ctx context.Context, site watcher.Site) ([]byte, error) {
	return watcher.LastPolicy(ctx, s.deps.Store, site)
}

// accessNow is the effective access of any agent, watched or not.
func (s *Server) accessNow(ctx context.Context, site watcher.Site, token string) (diff.Access, error) {
	list, err := s.effective(site)
	if err != nil {
		return diff.Access{}, err
	}
	for _, a := range list {
		if strings.EqualFold(a.Agent, token) {
			return a.Access, nil
		}
	}
	text, err := s.lastPolicy(ctx, site)
	if err != nil {
		return diff.Access{}, err
	}
	p := watcher.Gate(site, text, s.agent(token), "/", s.deps.Now(), s.deps.Judge.Settings().Semantics)
	return diff.Access{Level: p.Access, Source: p.Source}, nil
}

// overdue reports a site that no check finished for within watcher.MaxGap.
func (s *Server) overdue(site watcher.Site) bool {
	since := site.LastCheckAt
	if since.IsZero() {
		since = site.StateSince // when it was added
	}
	return s.deps.Now().Sub(since) > watcher.MaxGap
}

// asOfRuns is how far back answers are read to find out how a site stood: the
// last policy among them settles it.
const asOfRuns = 200

// siteAt is the site as it stood at a moment.
func (s *Server) siteAt(ctx context.Context, site watcher.Site, at time.Time) (watcher.Site, error) {
	runs, err := s.deps.Store.Observations(ctx, site.Origin, time.Time{}, at.Add(time.Millisecond), asOfRuns)
	if err != nil {
		return watcher.Site{}, err
	}
	return watcher.AsOf(site, runs, at, s.deps.Judge.Settings().Confirm), nil
}
