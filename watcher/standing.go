package watcher

import (
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

// Standing counts active sites that have everything in common which access
// depends on.
type Standing struct {
	State     fetch.State
	Aged      bool          // unreachable for longer than UnreachableLimit
	Tentative bool          // the state is a first answer, not confirmed yet
	Unstable  bool          // Site.Unstable
	Profile   []AgentAccess // shared: read only; empty when the site never was read
	Signals   []string      // shared: as Site.Signals
	Agents    []string      // shared: as configured for the site; empty is the default watch list
	Sites     int
}

// StandingMove is a change of such a number on a day: Sites more, or fewer
// where it is negative.
type StandingMove struct {
	Day time.Time // its first instant, UTC
	Standing
}

// AgentMove is how the number of sites that stand in one way to an agent
// changed on a day: Sites more, or fewer where it is negative.
type AgentMove struct {
	Day    time.Time // its first instant, UTC
	Agent  string
	Access diff.Access
	Tags   []string // of the sites; not told when it is read
	Sites  int
}

// Site is one that stands so at a moment, with no more in it than what access
// depends on: what Effective says of it holds for all of them.
func (st Standing) Site(now time.Time) Site {
	s := Site{
		Config: SiteConfig{Agents: st.Agents}, State: st.State, StateSince: now, Profile: st.Profile,
		Memory: Memory{Tentative: st.Tentative},
	}
	if st.Aged {
		s.StateSince = now.Add(-UnreachableLimit)
	}
	if len(st.Profile) > 0 {
		s.Readable = fetch.Policy // the profile of an absent file says allowed for all, as its state would
	}
	return s
}
