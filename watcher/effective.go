package watcher

import (
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
)

// UnreachableLimit is how long an unreachable site blocks everyone; after it
// the last good policy may be used again (RFC 9309, 2.3.1.4, "for example 30
// days").
const UnreachableLimit = 30 * 24 * time.Hour

// Semantics are the two questions that RFC 9309 leaves to the reader.
type Semantics struct {
	DeniedBlocks  bool // 401 and 403 block everyone instead of nobody
	AllowAfter30d bool // after UnreachableLimit allow, instead of the last good policy
}

// AgentOf is a crawler of the catalogue as a comparison sees it: read as RFC
// 9309 says, with a note where its operator reads otherwise.
func AgentOf(a agents.Agent) diff.Agent {
	return diff.Agent{Token: a.Token, Fallbacks: a.Fallbacks, Operator: robots.Reading(a.Reading)}
}

// AgentNamed is a crawler by its token: as the catalogue has it, else by the
// token alone.
func AgentNamed(c *agents.Catalogue, token string) diff.Agent {
	if a, ok := c.Lookup(token); ok {
		return AgentOf(a)
	}
	return diff.Agent{Token: token}
}

// Profile is the access that a readable answer gives each agent; text is the
// policy, nil when there is none. Without an answer it is unknown.
func Profile(v Version, text []byte, list []diff.Agent) []AgentAccess {
	return profileOf(v, diff.NewInput(text), list)
}

func profileOf(v Version, in *diff.Input, list []diff.Agent) []AgentAccess {
	profile := make([]AgentAccess, len(list))
	for i, a := range list {
		profile[i] = AgentAccess{Agent: a.Token, Access: v.access()}
	}
	if v.State == fetch.Policy {
		for i, g := range in.Grants(list) {
			profile[i].Access = g.Access
		}
	}
	return profile
}

// access that follows from a version without looking at rules.
func (v Version) access() diff.Access {
	if v.State == fetch.Absent {
		return diff.Access{Level: diff.Allowed, Source: robots.SourceStatus}
	}
	return diff.Access{Level: diff.Unknown, Source: robots.SourceStatus}
}

func accessOf(rules *robots.Rules) diff.Access {
	level, _ := diff.AccessOf(rules)
	return diff.Access{Level: level, Source: rules.Source}
}

// Aged reports whether the site has been unreachable for so long that it no
// longer blocks everyone.
func (s *Site) Aged(now time.Time) bool {
	return s.State == fetch.Unreachable && now.Sub(s.StateSince) >= UnreachableLimit
}

// Effective is the access of an agent in a confirmed state, when the last
// readable answer gives it last (its zero value: there was none). aged is
// Site.Aged.
func (sem Semantics) Effective(state fetch.State, aged bool, last diff.Access) diff.Access {
	if last.Level == "" {
		last = Version{}.access()
	}
	allowed := diff.Access{Level: diff.Allowed, Source: robots.SourceStatus}
	blocked := diff.Access{Level: diff.Blocked, Source: robots.SourceStatus}
	switch {
	case state == fetch.Absent:
		return allowed
	case state == fetch.Policy, state == fetch.NotRobots:
		return last
	case !sem.blocks(state) && state == fetch.Denied:
		return allowed
	case sem.blocks(state) && !aged:
		return blocked
	case aged && (sem.AllowAfter30d || last.Level == diff.Unknown):
		return allowed
	case aged:
		return last
	}
	return Version{}.access()
}

// blocks reports whether a state, once confirmed, blocks every agent.
func (sem Semantics) blocks(state fetch.State) bool {
	return state == fetch.Unreachable || state == fetch.Denied && sem.DeniedBlocks
}

// effective takes into account that a first unreachable answer blocks nobody
// before it is confirmed.
func (s *Site) effective(last diff.Access, now time.Time, sem Semantics) diff.Access {
	if s.unsure() {
		return Version{}.access()
	}
	return sem.Effective(s.State, s.Aged(now), last)
}

// unsure: nothing is known of the access on this site.
func (s *Site) unsure() bool {
	return !known(s.State) || s.Memory.Tentative && s.State == fetch.Unreachable
}

// Effective is the access that holds now for the agents watched on a site,
// its state taken into account.
func Effective(s Site, watched []diff.Agent, now time.Time, sem Semantics) []AgentAccess {
	last := make(map[string]diff.Access, len(s.Profile))
	for _, p := range s.Profile {
		last[p.Agent] = p.Access
	}
	list := make([]AgentAccess, len(watched))
	for i, a := range watched {
		list[i] = AgentAccess{Agent: a.Token, Access: s.effective(last[a.Token], now, sem)}
	}
	return list
}

// Permission answers: may an agent fetch a path of a site?
type Permission struct {
	Allowed    bool          `json:"allowed"` // false while nothing is known
	Access     diff.Level    `json:"access"`
	State      fetch.State   `json:"state"`
	Source     robots.Source `json:"source"`
	Rule       *string       `json:"rule"` // that decided; null when none did
	Line       *int          `json:"line"`
	ObservedAt time.Time     `json:"observed_at"` // when the answer that decides was last seen
	Stale      bool          `json:"stale"`       // that is more than MaxGap ago
}

// Seen is when the answer was last seen that decides an access of this source,
// zero for never, and whether that is longer before now than RFC 9309 (2.4)
// lets a crawler rely on it.
func (s Site) Seen(source robots.Source, now time.Time) (at time.Time, stale bool) {
	at = s.LastCheckAt
	if source != robots.SourceStatus || s.State.Readable() {
		at = s.ReadableAt
	}
	return at, at.IsZero() || now.Sub(at) > MaxGap
}

// Gate decides whether an agent may fetch a path with query ("/a?b=c"). text
// is the last good policy of the site, nil when it has none.
func Gate(s Site, text []byte, agent diff.Agent, path string, now time.Time, sem Semantics) Permission {
	p := Permission{State: s.State}
	if !known(p.State) {
		p.State = fetch.Pending
	}
	last := s.version().access()
	var rules *robots.Rules
	if s.Readable == fetch.Policy {
		rules = diff.NewInput(text).Rules(agent)
		last = accessOf(rules)
	}
	access := s.effective(last, now, sem)
	p.Access, p.Source = access.Level, access.Source
	p.Allowed = access.Level == diff.Allowed
	switch {
	case access.Source != robots.SourceStatus: // the rules decide
		d := rules.Decide(path)
		p.Allowed = d.Allowed
		if d.Rule != nil {
			p.Rule, p.Line = &d.Rule.Text, &d.Rule.Line
		}
	case access.Level == diff.Blocked && robots.NormalizePath(path) == "/robots.txt":
		p.Allowed = true // RFC 9309, 2.2.2: always
	}
	p.ObservedAt, p.Stale = s.Seen(p.Source, now)
	return p
}
