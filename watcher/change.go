package watcher

import (
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

// Kind of a change event.
type Kind string

const (
	KindAccess     Kind = "access"
	KindState      Kind = "state"
	KindSignal     Kind = "signal"
	KindCrawlDelay Kind = "crawl_delay"
	KindSitemap    Kind = "sitemap"
	KindCosmetic   Kind = "cosmetic"
)

// Severity of a change event.
type Severity string

const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Rank makes severities comparable: higher is graver. Stores keep it.
func (s Severity) Rank() int {
	switch s {
	case Critical:
		return 2
	case Warning:
		return 1
	}
	return 0
}

// Cause of a change event.
type Cause string

const (
	CauseRules     Cause = "rules"
	CauseStatus    Cause = "status"
	CauseRedirect  Cause = "redirect"
	CauseAgentList Cause = "agent_list"
)

// ChangeSchema of Change as JSON.
const ChangeSchema = "robotswatch.change/v1"

// StateChange is the state before and after; equal for changes of rules.
type StateChange struct {
	Before fetch.State `json:"before"`
	After  fetch.State `json:"after"`
}

// Change is one event: one site, one kind, one observation, all its agents.
// It marshals to what webhooks, the API and exports carry.
type Change struct {
	Schema       string                  `json:"schema"`
	ID           string                  `json:"id"` // ULID made of time, site, kind: the same however often it is derived
	At           time.Time               `json:"at"` // UTC, when the deciding answer was seen
	Site         string                  `json:"site"`
	Tags         []string                `json:"tags"`
	Kind         Kind                    `json:"kind"`
	Severity     Severity                `json:"severity"`
	Summary      string                  `json:"summary"` // "GPTBot, CCBot now blocked"
	Agents       []diff.AgentChange      `json:"agents"`  // never null; the watched ones first
	State        StateChange             `json:"state"`
	Reason       fetch.Reason            `json:"reason,omitempty"` // state events: why
	Detail       string                  `json:"detail,omitempty"`
	Cause        Cause                   `json:"cause"`
	BeforeSHA256 string                  `json:"before_sha256"`
	AfterSHA256  string                  `json:"after_sha256"`
	Signals      []diff.SignalChange     `json:"signals,omitempty"`
	CrawlDelays  []diff.CrawlDelayChange `json:"crawl_delays,omitempty"`
	Sitemaps     *diff.SitemapsChange    `json:"sitemaps,omitempty"`
	Managed      string                  `json:"managed,omitempty"`       // the change lies in a block managed by this vendor
	Unstable     string                  `json:"unstable,omitempty"`      // UnstableBegan or UnstableSettled
	WatchedFirst int                     `json:"watched_first,omitempty"` // so many of Agents, from the first, are watched on the site
	Watched      bool                    `json:"watched"`                 // touches an agent that is watched on the site, or is not about agents
	Expected     string                  `json:"expected,omitempty"`      // note of the expectation that announced it
	Backfilled   bool                    `json:"backfilled"`
	// BackfilledAgents are those of Agents whose part was derived later than
	// the event: nobody watched them then, and nobody was told of them.
	BackfilledAgents []string `json:"backfilled_agents,omitempty"`
	Link             string   `json:"link"`
}
