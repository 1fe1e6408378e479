package agents

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// version of catalogue.tsv: the day on which it was last gone through.
const version = "2026-11-30"

//go:embed catalogue.tsv
var catalogueTSV string

// columns of catalogue.tsv. Lists are separated by spaces.
var columns = []string{
	"token", "operator", "category", "groups", "honours_robots", "doc_url", "source", "as_of",
	"superseded_by", "fallbacks", "reading", "note",
}

// retiredAlone in the column superseded_by marks a token that is retired
// without a successor.
const retiredAlone = "-"

// Load reads the embedded catalogue.
func Load() (*Catalogue, error) {
	entries, err := parse(catalogueTSV)
	if err != nil {
		return nil, fmt.Errorf("agent catalogue %s: %w", version, err)
	}
	c := &Catalogue{Version: version, Agents: entries, byToken: make(map[string]int, len(entries))}
	for i, a := range entries {
		key := strings.ToLower(a.Token)
		if _, dup := c.byToken[key]; dup {
			return nil, fmt.Errorf("agent catalogue %s: %s is listed twice", version, a.Token)
		}
		c.byToken[key] = i
	}
	return c, nil
}

func parse(tsv string) ([]Agent, error) {
	var entries []Agent
	header := false
	number := 0
	for line := range strings.Lines(tsv) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if !header {
			if !slices.Equal(fields, columns) {
				return nil, fmt.Errorf("line %d: columns are %q, want %q", number, fields, columns)
			}
			header = true
			continue
		}
		if len(fields) != len(columns) {
			return nil, fmt.Errorf("line %d: %d columns, want %d", number, len(fields), len(columns))
		}
		a := entry(fields)
		if err := CheckToken(a.Token); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		entries = append(entries, a)
	}
	return entries, nil
}

func entry(f []string) Agent {
	a := Agent{
		Token: f[0], Operator: f[1], Category: f[2], Honours: f[4], DocURL: f[5], Source: f[6], AsOf: f[7],
		Retired: f[8] != "", Fallbacks: list(f[9]), Reading: f[10], Note: f[11],
	}
	for _, g := range list(f[3]) {
		a.Groups = append(a.Groups, "@"+g)
	}
	a.Groups = append(a.Groups, GroupAll)
	if f[8] != retiredAlone {
		a.SupersededBy = list(f[8])
	}
	return a
}

// list is nil for an empty cell.
func list(cell string) []string {
	if cell == "" {
		return nil
	}
	return strings.Fields(cell)
}
