package lint

import (
	"strings"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/robots"
)

// Inert is a group for an agent under whose token nobody crawls any more: its
// rules bind nobody.
type Inert struct {
	Token      string      `json:"agent"`
	Operator   string      `json:"operator"`
	Line       int         `json:"line"`       // of the first User-agent line with the token
	Access     diff.Level  `json:"access"`     // what the rules would give it
	Successors []Successor `json:"successors"` // never null; empty when there is none
}

// Successor is a token that an operator uses now.
type Successor struct {
	Agent  string        `json:"agent"`
	Access diff.Level    `json:"access"`
	Source robots.Source `json:"source"` // named when the file has a group for it
	Same   bool          `json:"same"`   // no path has another verdict than under the old token
}

// Evaded reports whether somebody may do, or is kept from, what the group for
// the old token meant otherwise.
func (i *Inert) Evaded() bool {
	for _, s := range i.Successors {
		if !s.Same {
			return true
		}
	}
	return false
}

// InertGroups finds the groups of a robots.txt that bind nobody any more, in
// the order of their lines.
func InertGroups(text []byte, catalogue *agents.Catalogue) []Inert {
	file := robots.Parse(text, robots.Options{MaxBytes: len(text)})
	seen := make(map[string]bool)
	var list []Inert
	for _, r := range file.Records {
		if r.Kind != robots.KindUserAgent {
			continue
		}
		agent, known := catalogue.Lookup(robots.Token(r.Value))
		if !known || !agent.Retired || seen[strings.ToLower(agent.Token)] {
			continue
		}
		seen[strings.ToLower(agent.Token)] = true
		old := file.Rules(agent.Token)
		level, _ := diff.AccessOf(old)
		i := Inert{Token: agent.Token, Operator: agent.Operator, Line: r.Line, Access: level, Successors: []Successor{}}
		for _, token := range agent.SupersededBy {
			tokens := []string{token}
			if a, ok := catalogue.Lookup(token); ok {
				tokens = append(tokens, a.Fallbacks...)
			}
			now := file.Rules(tokens...)
			level, _ := diff.AccessOf(now)
			change := diff.Compare(old, now)
			i.Successors = append(i.Successors, Successor{token, level, now.Source, change.Direction == diff.Same && change.Proven})
		}
		list = append(list, i)
	}
	return list
}
