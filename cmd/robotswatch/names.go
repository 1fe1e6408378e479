package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// namesShown bounds how many names an error lists.
const namesShown = 20

// known is the site, tag and agent that the flags name, the first as an
// origin, the last as a token; an error says which of them is unknown here: an
// empty answer would look like "nothing found". watched: only watched sites do.
func (l *library) known(ctx context.Context, q *queryFlags, watched bool) (err error) {
	if q.site != "" {
		if q.site, err = l.knownSite(ctx, q.site, watched); err != nil {
			return fmt.Errorf("--site: %w", err)
		}
	}
	if q.tag != "" {
		if err := l.knownTag(ctx, q.tag); err != nil {
			return err
		}
	}
	if q.agent != "" {
		if q.agent, err = agents.ParseToken(q.agent); err != nil {
			return fmt.Errorf("--agent: %w", err)
		}
	}
	return nil
}

func (l *library) knownSite(ctx context.Context, text string, watched bool) (string, error) {
	origin, err := l.origin(ctx, text)
	if err != nil {
		return "", err
	}
	site, err := l.store.SiteByOrigin(ctx, origin)
	switch {
	case errors.Is(err, watcher.ErrNotFound):
		return "", fmt.Errorf("%s is not in the store; sites come in when the daemon runs with them configured", origin)
	case err != nil:
		return "", err
	case watched && site.Left:
		return "", fmt.Errorf("%s is not in the configuration, so it is not watched; changes, export and access --at TIME tell of its past", origin)
	}
	return origin, nil
}

func (l *library) knownTag(ctx context.Context, tag string) error {
	has, err := l.store.HasTag(ctx, tag)
	if err != nil || has {
		return err
	}
	list, err := l.store.Tags(ctx)
	if err != nil {
		return err
	}
	return fmt.Errorf("--tag %q: no site has it; there are: %s", tag, someNames(list))
}

// knownAgent reports a token that nothing here ever met: not the catalogue, not
// the lists of agents to watch, no change.
func knownAgent(ctx context.Context, s *store.Store, judge *watcher.Judge, token string) error {
	watch, err := judge.Watch(watcher.SiteConfig{})
	if err != nil {
		return err
	}
	if _, ok := judge.Settings().Catalogue.Lookup(token); ok || watch.Has(token) || token == diff.Everyone {
		return nil
	}
	has, err := s.HasAgent(ctx, token)
	if err == nil && !has {
		err = fmt.Errorf("--agent %q: unknown to the catalogue, watched on no site and touched by no change; robotswatch agents lists the catalogue", token)
	}
	return err
}

// knownReceiver reports a receiver that is not configured and that nothing is
// owed to either.
func knownReceiver(ctx context.Context, s *store.Store, cfg *config.Config, name string) error {
	list, err := s.OwedReceivers(ctx)
	if err != nil {
		return err
	}
	for _, r := range cfg.Receivers {
		list = append(list, r.Name)
	}
	slices.Sort(list)
	return knownName("--receiver", name, slices.Compact(list))
}

// knownName reports a name that is not on a list.
func knownName(flag, name string, list []string) error {
	if slices.Contains(list, name) {
		return nil
	}
	return fmt.Errorf("%s %q: there is none of that name; there are: %s", flag, name, someNames(list))
}

func someNames(list []string) string {
	switch n := len(list); {
	case n == 0:
		return "none"
	case n > namesShown:
		return strings.Join(list[:namesShown], ", ") + fmt.Sprintf(" and %d more", n-namesShown)
	}
	return strings.Join(list, ", ")
}
