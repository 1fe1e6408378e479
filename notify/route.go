package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// Router says which receivers want a change. It is immutable, pure and safe
// for concurrent use.
type Router struct {
	routes []route
}

type route struct {
	name        string
	stateful    bool // shows what is the case now, so needs the end of what it showed
	minSeverity int
	kinds       []watcher.Kind
	agents      map[string]bool // lower-case tokens; nil: the watched ones
	groups      map[string]bool // of robots.txt that these agents may go by, likewise
	with        []string        // tags
	without     []string
	states      []fetch.State
}

// DefaultKinds are sent to receivers that ask for none.
func DefaultKinds() []watcher.Kind {
	return []watcher.Kind{watcher.KindAccess, watcher.KindState, watcher.KindSignal}
}

// NewRouter compiles the wishes of receivers. An unknown catalogue group is an
// error.
func NewRouter(receivers []ReceiverConfig, cat *agents.Catalogue) (*Router, error) {
	r := &Router{}
	for _, c := range receivers {
		rt := route{
			name:     c.Name,
			stateful: c.stateful(),
			kinds:    c.Kinds,
			states:   c.States,
		}
		if len(rt.kinds) == 0 {
			rt.kinds = DefaultKinds()
		}
		rt.minSeverity = c.MinSeverity.Rank()
		if c.MinSeverity == "" {
			rt.minSeverity = watcher.Warning.Rank()
		}
		for _, t := range c.Tags {
			if not, ok := strings.CutPrefix(t, "!"); ok {
				rt.without = append(rt.without, not)
			} else {
				rt.with = append(rt.with, t)
			}
		}
		if len(c.Agents) > 0 {
			list, err := cat.Expand(c.Agents)
			if err != nil {
				return nil, fmt.Errorf("receiver %q: agents: %w", c.Name, err)
			}
			rt.agents = make(map[string]bool, len(list))
			rt.groups = map[string]bool{"": true, diff.Everyone: true} // file-wide, and of those without a group
			for _, a := range list {
				rt.agents[strings.ToLower(a.Token)] = true
				for _, token := range append([]string{a.Token}, a.Fallbacks...) {
					rt.groups[strings.ToLower(token)] = true
				}
			}
		}
		r.routes = append(r.routes, rt)
	}
	return r, nil
}

// Route gives the receivers that want a change, in configured order, and the
// key of the group of changes that say the same. Backfilled and expected
// changes are wanted by nobody.
func (r *Router) Route(c watcher.Change) (receivers []string, groupKey string) {
	if c.Backfilled || c.Expected != "" {
		return nil, ""
	}
	for i := range r.routes {
		if r.routes[i].wants(c) {
			receivers = append(receivers, r.routes[i].name)
		}
	}
	if len(receivers) == 0 {
		return nil, ""
	}
	return receivers, GroupKey(c)
}

// About splits the agents of a change into those that the receiver asked for
// (the watched ones when it asked for none in particular) and the others. All
// are in the first list when it would be empty otherwise.
func (r *Router) About(receiver string, c watcher.Change) (asked, others []diff.AgentChange) {
	i := slices.IndexFunc(r.routes, func(rt route) bool { return rt.name == receiver })
	if i < 0 || r.routes[i].agents == nil {
		asked, others = c.Agents[:c.WatchedFirst], c.Agents[c.WatchedFirst:]
	} else {
		for _, a := range c.Agents {
			if r.routes[i].agents[strings.ToLower(a.Agent)] {
				asked = append(asked, a)
			} else {
				others = append(others, a)
			}
		}
	}
	if len(asked) == 0 {
		return c.Agents, nil
	}
	return asked, others
}

// Asked reports whether a receiver is to hear of an agent that is watched.
func (r *Router) Asked(receiver, agent string) bool {
	i := slices.IndexFunc(r.routes, func(rt route) bool { return rt.name == receiver })
	return i < 0 || r.routes[i].agents == nil || r.routes[i].agents[strings.ToLower(agent)]
}

func (rt *route) wants(c watcher.Change) bool {
	if !slices.Contains(rt.kinds, c.Kind) || !rt.severe(c) || !rt.tagged(c.Tags) {
		return false
	}
	if len(rt.states) > 0 && !slices.Contains(rt.states, c.State.Before) && !slices.Contains(rt.states, c.State.After) {
		return false
	}
	if rt.agents == nil {
		return c.Watched
	}
	switch c.Kind {
	case watcher.KindAccess:
		return slices.ContainsFunc(c.Agents, func(a diff.AgentChange) bool { return rt.agents[strings.ToLower(a.Agent)] })
	case watcher.KindCrawlDelay:
		return slices.ContainsFunc(c.CrawlDelays, func(d diff.CrawlDelayChange) bool { return rt.groups[strings.ToLower(d.Agent)] })
	case watcher.KindSignal:
		return slices.ContainsFunc(c.Signals, func(s diff.SignalChange) bool { return rt.groups[strings.ToLower(s.Scope)] })
	}
	return true
}

// severe also lets pass the end of an outage to a receiver that was told of
// its beginning and shows it until then.
func (rt *route) severe(c watcher.Change) bool {
	if c.Severity.Rank() >= rt.minSeverity {
		return true
	}
	return rt.stateful && c.Kind == watcher.KindState && !c.State.Before.Readable()
}

func (rt *route) tagged(tags []string) bool {
	has := func(t string) bool { return slices.Contains(tags, t) }
	if slices.ContainsFunc(rt.without, has) {
		return false
	}
	return len(rt.with) == 0 || slices.ContainsFunc(rt.with, has)
}

// GroupKey is equal for changes that say the same of different sites: kind,
// cause, states, and for each agent the direction and the levels before and
// after; the same new values for what is not about access. What names things
// of one site only (sitemaps, text) is never grouped over sites.
func GroupKey(c watcher.Change) string {
	k := make(fields, 0, 2048)
	k.put(string(c.Kind), string(c.Severity), string(c.Cause), c.Managed, c.Unstable)
	k.put(string(c.State.Before), string(c.State.After))
	list := make([]*diff.AgentChange, len(c.Agents))
	for i := range c.Agents {
		list[i] = &c.Agents[i]
	}
	slices.SortFunc(list, func(a, b *diff.AgentChange) int { return strings.Compare(a.Agent, b.Agent) })
	for _, a := range list {
		k.put(a.Agent, string(a.Direction), string(a.Before.Level), string(a.After.Level))
	}
	switch c.Kind {
	case watcher.KindState:
		k.put(string(c.Reason))
	case watcher.KindSignal:
		for _, s := range c.Signals {
			k.put(s.Scope, s.Name, s.Path, s.Before, s.After)
		}
	case watcher.KindCrawlDelay:
		for _, d := range c.CrawlDelays {
			k.put(d.Agent, diff.DelayWords(d.Before), diff.DelayWords(d.After))
		}
	case watcher.KindSitemap, watcher.KindCosmetic:
		k.put(c.Site)
	}
	sum := sha256.Sum256(k)
	return hex.EncodeToString(sum[:16])
}

// fields are written so that no two lists of them look alike.
type fields []byte

func (k *fields) put(list ...string) {
	for _, f := range list {
		*k = append(strconv.AppendInt(*k, int64(len(f)), 10), ':')
		*k = append(*k, f...)
	}
	*k = append(*k, 0)
}
