package dataset

import (
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

// Schemas of the tables. A column may be added under the same name; a change
// of meaning gets a new number.
const (
	ObservationsSchema = "robotswatch.observations/v1"
	PoliciesSchema     = "robotswatch.policies/v1"
	ChangesSchema      = watcher.ChangeSchema
)

// Origin of a row: what it was derived with. Rows differ when these do.
type Origin struct {
	Catalogue string `json:"catalogue" parquet:"catalogue,dict"` // version of the catalogue of agents
	Engine    string `json:"engine" parquet:"engine,dict"`       // version of robotswatch
}

// Observation is a run of equal answers of one site.
type Observation struct {
	Schema     string    `json:"schema" parquet:"schema,dict"`
	Site       string    `json:"site" parquet:"site,dict"`
	FirstAt    time.Time `json:"first_at" parquet:"first_at,timestamp(millisecond)"`
	LastAt     time.Time `json:"last_at" parquet:"last_at,timestamp(millisecond)"`
	State      string    `json:"state" parquet:"state,dict"`
	Reason     string    `json:"reason" parquet:"reason,dict"`
	Detail     string    `json:"detail" parquet:"detail,dict"`
	Status     int32     `json:"status" parquet:"status"`
	FinalURL   string    `json:"final_url" parquet:"final_url,dict"`
	SHA256     string    `json:"sha256" parquet:"sha256,dict"` // "" when there is no policy
	Bytes      int64     `json:"bytes" parquet:"bytes"`
	Truncated  bool      `json:"truncated" parquet:"truncated"`
	Backfilled bool      `json:"backfilled" parquet:"backfilled"`
	Captures   int32     `json:"captures" parquet:"captures"` // of a backfilled run; 0: seen live, not counted
	Vendor     string    `json:"vendor" parquet:"vendor,dict"`
	Address    string    `json:"address" parquet:"address,dict"`
	TLSSubject string    `json:"tls_subject" parquet:"tls_subject,dict"`
	Headers    []header  `json:"headers" parquet:"headers,list"`
	Origin
}

type header struct {
	Name  string `json:"name" parquet:"name,dict"`
	Value string `json:"value" parquet:"value,dict"`
}

// ObservationRow is a run as a row.
func ObservationRow(site string, o watcher.Observation, from Origin) Observation {
	headers := make([]header, len(o.Evidence.Headers))
	for i, h := range o.Evidence.Headers {
		headers[i] = header(h)
	}
	return Observation{
		Schema: ObservationsSchema, Site: site, FirstAt: o.At, LastAt: o.LastAt, State: string(o.State), Reason: string(o.Reason),
		Detail: o.Detail, Status: int32(o.Status), FinalURL: o.FinalURL, SHA256: o.Body.String(), Bytes: o.Bytes, Truncated: o.Truncated,
		Backfilled: o.Backfill, Captures: int32(o.Looks), Vendor: o.Evidence.Vendor, Address: o.Evidence.Address,
		TLSSubject: o.Evidence.TLSSubject, Headers: headers, Origin: from,
	}
}

// Policy is a time in which an agent had one access to a site.
type Policy struct {
	Schema    string     `json:"schema" parquet:"schema,dict"`
	Site      string     `json:"site" parquet:"site,dict"`
	Agent     string     `json:"agent" parquet:"agent,dict"`
	ValidFrom time.Time  `json:"valid_from" parquet:"valid_from,timestamp(millisecond)"`
	ValidTo   *time.Time `json:"valid_to" parquet:"valid_to,optional,timestamp(millisecond)"` // null: goes on
	Access    string     `json:"access" parquet:"access,dict"`
	Source    string     `json:"source" parquet:"source,dict"`
	State     string     `json:"state" parquet:"state,dict"`
	Rule      *string    `json:"rule" parquet:"rule,optional,dict"` // that decides an ordinary path; null: none does
	Line      *int32     `json:"line" parquet:"line,optional"`
	SHA256    string     `json:"sha256" parquet:"sha256,dict"` // of the policy at the beginning, "" for none
	Origin
}

// Change is a change event with what it was derived with. As JSON it is the
// event itself; its lists are lists in Parquet, and JSON in the cells of CSV.
type Change struct {
	watcher.Change
	Origin
}

// flatChange is a change as Parquet and CSV have it.
type flatChange struct {
	Schema       string        `json:"schema" parquet:"schema,dict"`
	ID           string        `json:"id" parquet:"id"`
	At           time.Time     `json:"at" parquet:"at,timestamp(millisecond)"`
	Site         string        `json:"site" parquet:"site,dict"`
	Tags         []string      `json:"tags" parquet:"tags,list"`
	Kind         string        `json:"kind" parquet:"kind,dict"`
	Severity     string        `json:"severity" parquet:"severity,dict"`
	Summary      string        `json:"summary" parquet:"summary,dict"`
	Agents       []agentChange `json:"agents" parquet:"agents,list"`
	StateBefore  string        `json:"state_before" parquet:"state_before,dict"`
	StateAfter   string        `json:"state_after" parquet:"state_after,dict"`
	Reason       string        `json:"reason" parquet:"reason,dict"`
	Detail       string        `json:"detail" parquet:"detail,dict"`
	Cause        string        `json:"cause" parquet:"cause,dict"`
	BeforeSHA256 string        `json:"before_sha256" parquet:"before_sha256,dict"`
	AfterSHA256  string        `json:"after_sha256" parquet:"after_sha256,dict"`
	Signals      []signal      `json:"signals" parquet:"signals,list"`
	CrawlDelays  []crawlDelay  `json:"crawl_delays" parquet:"crawl_delays,list"`
	Added        []string      `json:"sitemaps_added" parquet:"sitemaps_added,list"`
	Removed      []string      `json:"sitemaps_removed" parquet:"sitemaps_removed,list"`
	Managed      string        `json:"managed" parquet:"managed,dict"`
	Unstable     string        `json:"unstable" parquet:"unstable,dict"`
	Watched      bool          `json:"watched" parquet:"watched"`
	Expected     string        `json:"expected" parquet:"expected,dict"`
	Backfilled   bool          `json:"backfilled" parquet:"backfilled"`
	Later        []string      `json:"backfilled_agents" parquet:"backfilled_agents,list"`
	Link         string        `json:"link" parquet:"link"`
	Origin
}

type agentChange struct {
	Agent           string  `json:"agent" parquet:"agent,dict"`
	Direction       string  `json:"direction" parquet:"direction,dict"`
	Proven          bool    `json:"proven" parquet:"proven"`
	AccessBefore    string  `json:"access_before" parquet:"access_before,dict"`
	SourceBefore    string  `json:"source_before" parquet:"source_before,dict"`
	AccessAfter     string  `json:"access_after" parquet:"access_after,dict"`
	SourceAfter     string  `json:"source_after" parquet:"source_after,dict"`
	NewlyDisallowed []entry `json:"newly_disallowed" parquet:"newly_disallowed,list"`
	NewlyAllowed    []entry `json:"newly_allowed" parquet:"newly_allowed,list"`
}

type entry struct {
	Example string  `json:"example" parquet:"example,dict"`
	Rule    *string `json:"rule" parquet:"rule,optional,dict"`
	Line    *int32  `json:"line" parquet:"line,optional"`
}

type signal struct {
	Scope  string `json:"scope" parquet:"scope,dict"`
	Name   string `json:"name" parquet:"name,dict"`
	Path   string `json:"path" parquet:"path,dict"`
	Before string `json:"before" parquet:"before,dict"`
	After  string `json:"after" parquet:"after,dict"`
}

type crawlDelay struct {
	Agent  string   `json:"agent" parquet:"agent,dict"`
	Before *float64 `json:"before" parquet:"before,optional"`
	After  *float64 `json:"after" parquet:"after,optional"`
}

// flatten gives the row that Parquet and CSV have.
func (c Change) flatten() flatChange {
	f := flatChange{
		Schema: c.Schema, ID: c.ID, At: c.At, Site: c.Site, Tags: c.Tags, Kind: string(c.Kind), Severity: string(c.Severity), Summary: c.Summary,
		StateBefore: string(c.State.Before), StateAfter: string(c.State.After), Reason: string(c.Reason), Detail: c.Detail, Cause: string(c.Cause),
		BeforeSHA256: c.BeforeSHA256, AfterSHA256: c.AfterSHA256, Managed: c.Managed, Unstable: c.Unstable, Watched: c.Watched,
		Expected: c.Expected, Backfilled: c.Backfilled, Link: c.Link, Origin: c.Origin,
		Later: append([]string{}, c.BackfilledAgents...), Agents: []agentChange{}, Signals: []signal{}, CrawlDelays: []crawlDelay{}, Added: []string{}, Removed: []string{},
	}
	for _, a := range c.Agents {
		f.Agents = append(f.Agents, agentChange{
			Agent: a.Agent, Direction: string(a.Direction), Proven: a.Proven,
			AccessBefore: string(a.Before.Level), SourceBefore: string(a.Before.Source),
			AccessAfter: string(a.After.Level), SourceAfter: string(a.After.Source),
			NewlyDisallowed: entries(a.NewlyDisallowed), NewlyAllowed: entries(a.NewlyAllowed),
		})
	}
	for _, s := range c.Signals {
		f.Signals = append(f.Signals, signal(s))
	}
	for _, d := range c.CrawlDelays {
		f.CrawlDelays = append(f.CrawlDelays, crawlDelay(d))
	}
	if s := c.Sitemaps; s != nil {
		f.Added, f.Removed = append(f.Added, s.Added...), append(f.Removed, s.Removed...)
	}
	return f
}

func entries(list []diff.Entry) []entry {
	rows := make([]entry, len(list))
	for i, e := range list {
		rows[i] = entry{e.Example, e.Rule, line32(e.Line)}
	}
	return rows
}

func line32(n *int) *int32 {
	if n == nil {
		return nil
	}
	m := int32(*n)
	return &m
}
