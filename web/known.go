package web

import (
	"context"
	"strconv"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

// known reports a tag that no site has, and an agent that nothing here ever
// met: not the catalogue, not the lists of agents to watch, no change. An empty
// list would look like "nothing found" where a name is misspelled. "" is none.
func (s *Server) known(ctx context.Context, tag, agent string) error {
	if tag != "" {
		if has, err := s.deps.Store.HasTag(ctx, tag); err != nil || !has {
			return orNotFound(err, "No site has the tag "+strconv.Quote(tag)+".")
		}
	}
	if agent == "" || agent == diff.Everyone {
		return nil
	}
	set := s.deps.Judge.Settings()
	watch, err := s.deps.Judge.Watch(watcher.SiteConfig{})
	if err != nil {
		return err
	}
	if _, ok := set.Catalogue.Lookup(agent); ok || watch.Has(agent) {
		return nil
	}
	if has, err := s.deps.Store.HasAgent(ctx, agent); err != nil || !has {
		return orNotFound(err, "The agent "+strconv.Quote(agent)+" is unknown to the catalogue, watched on no site and touched by no change.")
	}
	return nil
}

func orNotFound(err error, message string) error {
	if err != nil {
		return err
	}
	return notFound(message)
}
