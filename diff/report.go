package diff

import "github.com/robotswatch/robotswatch/robots"

// Level is how much of a site an agent may fetch, proven over all paths.
type Level string

const (
	Allowed    Level = "allowed"    // no path is disallowed
	Partial    Level = "partial"    // some paths are disallowed, an ordinary path is allowed
	Restricted Level = "restricted" // an ordinary path is disallowed, some paths are allowed
	Blocked    Level = "blocked"    // every path is disallowed, /robots.txt aside
	Unknown    Level = "unknown"    // never observed yet
)

// Access is an agent's effective access and where it comes from.
type Access struct {
	Level  Level         `json:"access"`
	Source robots.Source `json:"source"`
}

// Direction of a change of access.
type Direction string

const (
	Same      Direction = ""          // no path changed its verdict
	Tightened Direction = "tightened" // only newly disallowed paths
	Loosened  Direction = "loosened"  // only newly allowed paths
	Mixed     Direction = "mixed"     // both
)

// Agent is whom a question is about.
type Agent struct {
	Token     string         // as it is to be shown: "GPTBot"
	Fallbacks []string       // tokens its operator documents to be tried next, before "*"
	Reading   robots.Reading // "" is RFC 9309
	Operator  robots.Reading // how its operator reads, when that differs from Reading: compared for a note
}

// Entry is one deciding rule that really has effect, with a shortest path on
// which old and new disagree.
type Entry struct {
	Example string  `json:"example"`
	Rule    *string `json:"rule"` // deciding rule in the file on whose side the path is disallowed; null when none decides
	Line    *int    `json:"line"`
	// AllowedBy is the rule that allows the example in the other file, ""
	// when none matches.
	AllowedBy   string `json:"allowed_by,omitempty"`
	AllowedLine int    `json:"allowed_by_line,omitempty"`
}

// NoEffect is a rule that was added or removed and changed no verdict.
type NoEffect struct {
	Added       bool   `json:"added"` // else removed
	Rule        string `json:"rule"`
	Line        int    `json:"line"` // in the file that has the rule
	CoveredBy   string `json:"covered_by,omitempty"`
	CoveredLine int    `json:"covered_by_line,omitempty"`
	// CoveredInOther: the covering rule stands in the other file than Rule;
	// it took its place, or was there before.
	CoveredInOther bool `json:"covered_in_other_file,omitempty"`
}

// AgentChange is what an edit means for one agent.
type AgentChange struct {
	Agent           string     `json:"agent"`
	Direction       Direction  `json:"direction"` // "" when only level or source differ
	Proven          bool       `json:"proven"`    // false: the search gave up at its stated limit
	Before          Access     `json:"before"`
	After           Access     `json:"after"`
	NewlyDisallowed []Entry    `json:"newly_disallowed"` // never null
	NewlyAllowed    []Entry    `json:"newly_allowed"`    // never null
	NoEffect        []NoEffect `json:"no_effect,omitempty"`
	Note            string     `json:"note,omitempty"` // e.g. where the operator's own reading disagrees
}

// SignalChange is a preference line that changed. Before or After is "" when
// the line is not there.
type SignalChange struct {
	Scope  string `json:"scope"` // "*", a token, or "" file-wide
	Name   string `json:"name"`
	Path   string `json:"path,omitempty"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// CrawlDelayChange is a change of an agent's effective crawl delay, seconds.
type CrawlDelayChange struct {
	Agent  string   `json:"agent"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
}

// SitemapsChange lists added and removed sitemap URLs. Never null.
type SitemapsChange struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// TextStat counts changed lines.
type TextStat struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Schema of Report.
const Schema = "robotswatch.diff/v1"

// Report is what an edit means, for everyone asked about.
type Report struct {
	Schema      string             `json:"schema"`
	Equivalent  bool               `json:"equivalent"` // no access, signal, crawl-delay or sitemap change, all proven
	Agents      []AgentChange      `json:"agents"`     // only those whose access, source or path set changed
	Signals     []SignalChange     `json:"signals"`
	CrawlDelays []CrawlDelayChange `json:"crawl_delays"`
	Sitemaps    SitemapsChange     `json:"sitemaps"`
	Text        TextStat           `json:"text"`
	Compared    int                `json:"agents_compared"`     // how many were asked about
	NoEffect    []NoEffect         `json:"no_effect,omitempty"` // of agents that are not listed
	Notes       []string           `json:"notes,omitempty"`     // about agents that are not listed
}
