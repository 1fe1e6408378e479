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

// AgentOf is a crawler of the catalogue as a comparison sees it.
func AgentOf(a agents.Agent) diff.Agent {
	return diff.Agent{Token: a.Token, Fallbacks: a.Fallbacks, Reading: robots.Reading(a.Reading)}
}

// Profile is the access that a readable answer gives each agent; text is the
// policy, nil when there is none.
func Profile(v Version, text []byte, list []diff.Agent) []AgentAccess {
	if !v.known() {
		return nil
	}
	profile := make([]AgentAccess, len(list))
	in := diff.NewInput(text)
	for i, a := range list {
		access := diff.Access{Level: diff.Allowed, Source: robots.SourceStatus}
		if v.State == fetch.Policy {
			rules := in.Rules(a)
			access.Source = rules.Source
			access.Level, _ = diff.AccessOf(rules)
		}
		profile[i] = AgentAccess{Agent: a.Token, Access: access}
	}
	return profile
}

// ruling says what decides on a site at a moment.
type ruling uint8

const (
	byVersion ruling = iota // the last readable answer
	blocksAll
	allowsAll
	notKnown
)

func (s *Site) ruling(now time.Time, sem Semantics) ruling {
	switch s.State {
	case fetch.Policy, fetch.Absent, fetch.NotRobots:
	case fetch.Denied:
		if sem.DeniedBlocks {
			return blocksAll
		}
		return allowsAll
	case fetch.Unreachable:
		switch {
		case s.Memory.Tentative:
			return notKnown // blocks once it is confirmed
		case now.Sub(s.StateSince) < UnreachableLimit:
			return blocksAll
		case sem.AllowAfter30d || s.Readable == "":
			return allowsAll
		}
	default:
		return notKnown
	}
	switch {
	case s.Readable == fetch.Absent, s.Readable == "" && s.State == fetch.Absent:
		return allowsAll
	case s.Readable == "":
		return notKnown
	}
	return byVersion
}

// Effective is the access that holds now for the agents watched on a site,
// its state taken into account.
func Effective(s Site, watched []diff.Agent, now time.Time, sem Semantics) []AgentAccess {
	rule := s.ruling(now, sem)
	known := make(map[string]diff.Access, len(s.Profile))
	for _, p := range s.Profile {
		known[p.Agent] = p.Access
	}
	list := make([]AgentAccess, len(watched))
	for i, a := range watched {
		list[i] = AgentAccess{Agent: a.Token, Access: rule.access(known[a.Token])}
	}
	return list
}

func (r ruling) access(byRules diff.Access) diff.Access {
	switch {
	case r == blocksAll:
		return diff.Access{Level: diff.Blocked, Source: robots.SourceStatus}
	case r == allowsAll:
		return diff.Access{Level: diff.Allowed, Source: robots.SourceStatus}
	case r == byVersion && byRules.Level != "":
		return byRules
	}
	return diff.Access{Level: diff.Unknown, Source: robots.SourceStatus}
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
	// Stale: that is more than 24 hours ago, the longest that RFC 9309 (2.4)
	// lets a crawler rely on it.
	Stale bool `json:"stale"`
}

// Gate decides whether an agent may fetch a path with query ("/a?b=c"). text
// is the last good policy of the site, nil when it has none.
func Gate(s Site, text []byte, agent diff.Agent, path string, now time.Time, sem Semantics) Permission {
	p := Permission{State: s.State, ObservedAt: s.LastCheckAt}
	if p.State == "" {
		p.State = fetch.Pending
	}
	rule := s.ruling(now, sem)
	if rule == byVersion {
		p.ObservedAt = s.ReadableAt
		p.decide(diff.NewInput(text).Rules(agent), path)
	} else {
		access := rule.access(diff.Access{})
		p.Access, p.Source = access.Level, access.Source
		p.Allowed = rule == allowsAll || rule == blocksAll && isRobotsTxt(path)
	}
	p.Stale = p.ObservedAt.IsZero() || now.Sub(p.ObservedAt) > MaxGap
	return p
}

func (p *Permission) decide(rules *robots.Rules, path string) {
	p.Access, _ = diff.AccessOf(rules)
	p.Source = rules.Source
	d := rules.Decide(path)
	p.Allowed = d.Allowed
	if d.Rule != nil {
		p.Rule, p.Line = &d.Rule.Text, &d.Rule.Line
	}
}

// isRobotsTxt: /robots.txt itself is always allowed (RFC 9309, 2.2.2).
func isRobotsTxt(path string) bool { return robots.NormalizePath(path) == "/robots.txt" }
