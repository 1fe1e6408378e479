// Package agents is the catalogue of known crawlers: product tokens, who runs
// them, what for, and whether they say that they obey robots.txt. The data
// are embedded and have a version.
package agents

import (
	"fmt"
	"slices"
	"strings"
)

// Purpose groups of the catalogue, as they are written in configuration.
// Retired tokens are in GroupAll only: files still name them, but nobody
// crawls under them.
const (
	GroupAll       = "@all"
	GroupAI        = "@ai"        // everything that feeds AI products
	GroupTraining  = "@training"  // collects training data, or an opt-out token for it
	GroupSearch    = "@search"    // builds a search index
	GroupAssistant = "@assistant" // fetches on behalf of a user or acts as an agent
)

// Groups lists all groups in the order in which they are shown.
func Groups() []string {
	return []string{GroupAI, GroupTraining, GroupSearch, GroupAssistant, GroupAll}
}

// Agent is one entry of the catalogue.
type Agent struct {
	Token        string   `json:"token"`
	Operator     string   `json:"operator"`
	Category     string   `json:"category"`          // training, search, assistant, dataset, data_provider, ads, preview, tool, other
	Groups       []string `json:"groups"`            // every group that contains it: "@ai", ..., "@all"
	Honours      string   `json:"honours_robots"`    // says the operator: yes, no, may_not; depends, disputed, unclear, undocumented
	DocURL       string   `json:"doc_url,omitempty"` //
	Source       string   `json:"source"`            // where the entry is taken from
	AsOf         string   `json:"as_of"`             // date of that source, YYYY-MM-DD
	Retired      bool     `json:"retired,omitempty"` // nobody crawls under this token any more
	SupersededBy []string `json:"superseded_by,omitempty"`
	Fallbacks    []string `json:"fallbacks,omitempty"` // tokens the operator documents to be tried before "*"
	Reading      string   `json:"reading,omitempty"`   // "google" where the operator's parser differs; "" is RFC 9309
	Note         string   `json:"note,omitempty"`
}

// In reports whether the agent belongs to a group.
func (a Agent) In(group string) bool { return slices.Contains(a.Groups, group) }

// Catalogue is immutable and safe for concurrent use.
type Catalogue struct {
	Version string // e.g. "2026-11-30"
	Agents  []Agent

	byToken map[string]int // lower-case token to index in Agents
}

// Lookup finds an agent by token, in any case.
func (c *Catalogue) Lookup(token string) (Agent, bool) {
	i, ok := c.byToken[strings.ToLower(token)]
	if !ok {
		return Agent{}, false
	}
	return c.Agents[i], true
}

// Check reports what is wrong with one entry of a list of agents: a group
// that does not exist, or something that no User-agent line can name. A token
// that the catalogue does not know is fine.
func (c *Catalogue) Check(entry string) error {
	if strings.HasPrefix(entry, "@") {
		if !slices.Contains(Groups(), entry) {
			return fmt.Errorf("%q is not a group of agents; groups are %s", entry, strings.Join(Groups(), ", "))
		}
		return nil
	}
	return CheckToken(entry)
}

// Expand turns a list of groups and tokens into agents without duplicates, in
// catalogue order, then tokens that the catalogue does not know, as given.
// An entry that Check refuses is an error.
func (c *Catalogue) Expand(list []string) ([]Agent, error) {
	wanted := make([]bool, len(c.Agents))
	var unknown []Agent
	for _, entry := range list {
		if err := c.Check(entry); err != nil {
			return nil, err
		}
		if i, ok := c.byToken[strings.ToLower(entry)]; ok {
			wanted[i] = true
			continue
		}
		if strings.HasPrefix(entry, "@") {
			for i, a := range c.Agents {
				wanted[i] = wanted[i] || a.In(entry)
			}
			continue
		}
		known := func(a Agent) bool { return strings.EqualFold(a.Token, entry) }
		if !slices.ContainsFunc(unknown, known) {
			unknown = append(unknown, Agent{Token: entry})
		}
	}
	out := make([]Agent, 0, len(list)+len(unknown))
	for i, a := range c.Agents {
		if wanted[i] {
			out = append(out, a)
		}
	}
	return append(out, unknown...), nil
}

// CheckToken reports why a text cannot be a product token. RFC 9309 (2.2.1)
// lists letters, "_" and "-"; digits and dots occur in real ones and are
// taken too.
func CheckToken(token string) error {
	if token == "" {
		return fmt.Errorf("an agent is empty; give a product token such as GPTBot, or a group such as %s", GroupAI)
	}
	if token == "*" {
		return fmt.Errorf("\"*\" is not an agent; any name that no robots.txt mentions is treated as \"*\" says")
	}
	for _, r := range token {
		if !isTokenRune(r) {
			return fmt.Errorf("%q is not a product token: %q cannot stand in one; write it as in a User-agent line, letters, digits, \"-\", \"_\" and \".\" only", token, r)
		}
	}
	return nil
}

func isTokenRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.'
}

// ParseToken reads how people name an agent: a product token, with white space
// round it or a version behind it ("GPTBot/1.1"), or "*" for any other one.
func ParseToken(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "*" {
		return s, nil
	}
	token, version, _ := strings.Cut(s, "/")
	if strings.ContainsFunc(version, func(r rune) bool { return !isTokenRune(r) }) {
		return "", fmt.Errorf("%q is not a product token; give the token alone, such as GPTBot", s)
	}
	if err := CheckToken(token); err != nil {
		return "", err
	}
	return token, nil
}
