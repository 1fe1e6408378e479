// Package agents is the catalogue of known crawlers: product tokens, who runs
// them, what for, and whether they say that they obey robots.txt. The data
// are embedded and have a version.
package agents

// Purpose groups of the catalogue, as they are written in configuration.
const (
	GroupAll       = "@all"
	GroupAI        = "@ai"        // everything that feeds AI products
	GroupTraining  = "@training"  // collects training data, or an opt-out token for it
	GroupSearch    = "@search"    // builds a search index
	GroupAssistant = "@assistant" // fetches on behalf of a user or acts as an agent
)

// Agent is one entry of the catalogue.
type Agent struct {
	Token        string   `json:"token"`
	Operator     string   `json:"operator"`
	Category     string   `json:"category"`          // training, search, assistant, dataset, data_provider, ads, preview, tool, other
	Groups       []string `json:"groups"`            // "@ai", ...
	Honours      string   `json:"honours_robots"`    // yes, no, may_not, unclear, undocumented, ...
	DocURL       string   `json:"doc_url,omitempty"` //
	Source       string   `json:"source"`            // where the entry is taken from
	AsOf         string   `json:"as_of"`             // date of that source, YYYY-MM-DD
	SupersededBy []string `json:"superseded_by,omitempty"`
	Fallbacks    []string `json:"fallbacks,omitempty"` // tokens the operator documents to be tried before "*"
	Reading      string   `json:"reading,omitempty"`   // "google" where the operator's parser differs; "" is RFC 9309
	Note         string   `json:"note,omitempty"`
}

// Catalogue is immutable and safe for concurrent use.
type Catalogue struct {
	Version string // e.g. "2026-11-30"
	Agents  []Agent
}

// Load reads the embedded catalogue.
func Load() (*Catalogue, error) { return &Catalogue{}, nil }

// Lookup finds an agent by token, in any case.
func (c *Catalogue) Lookup(token string) (Agent, bool) { return Agent{}, false }

// Expand turns a list of groups and tokens into agents without duplicates, in
// catalogue order, then tokens that the catalogue does not know, as given.
// An unknown group is an error that names the allowed ones.
func (c *Catalogue) Expand(list []string) ([]Agent, error) { return nil, nil }
