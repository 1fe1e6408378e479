package watcher

import (
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
)

// SiteFilter selects sites; zero fields select all. Pages are ordered by
// origin.
type SiteFilter struct {
	Origin string // exact
	Search string // substring of the origin
	Tag    string
	State  fetch.State
	// Agent with Access and Source select by effective access.
	Agent    string
	Access   diff.Level
	Source   robots.Source
	Signal   string // a Statement that the policy makes, as text
	Unstable bool   // Site.Unstable
	// CheckedBefore selects sites that no check has finished for since then.
	CheckedBefore time.Time
	After         string // cursor: origins greater than this
	Limit         int    // 0: all
}

// SitePage is some of the sites that a filter selects.
type SitePage struct {
	Sites []Site
	Next  string // SiteFilter.After of what follows; "" at the end
}

// ChangeFilter selects changes; zero fields select all. Pages are ordered
// newest first.
type ChangeFilter struct {
	Site     string
	Agent    string // touches this agent
	Tag      string
	Kinds    []Kind
	Severity Severity // at least
	Since    time.Time
	Until    time.Time
	Before   string // cursor: ids smaller than this
	Limit    int    // 0: all
	Cosmetic bool   // include kind cosmetic when Kinds is empty
}

// ChangePage is some of the changes that a filter selects.
type ChangePage struct {
	Changes []Change
	Next    string // ChangeFilter.Before of what follows; "" at the end
}

// Tally counts sites by what holds for an agent.
type Tally struct {
	Agent  string
	Access diff.Level
	Source robots.Source
	Sites  int
}
