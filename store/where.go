package store

import (
	"fmt"
	"strings"

	"github.com/robotswatch/robotswatch/fetch"
)

// place is where sites stand that the index sites_standing finds.
type place struct {
	state         fetch.State
	profile, tags int64
}

func (k standing) place() place { return place{k.state, k.profile, k.tags} }

// where collects conditions that all must hold, with their arguments.
type where struct {
	parts []string
	args  []any
}

func conditionsOf(parts ...string) *where { return &where{parts: parts} }

// arg makes a placeholder.
func (c *where) arg(v any) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("$%d", len(c.args))
}

// add takes a condition with one argument, at %s.
func (c *where) add(condition string, v any) {
	c.parts = append(c.parts, fmt.Sprintf(condition, c.arg(v)))
}

// in asks for one of some texts.
func (c *where) in(column string, texts []string) { oneOf(c, column, texts) }

// inKeys asks for one of some keys that are octets.
func (c *where) inKeys(column string, keys [][]byte) { oneOf(c, column, keys) }

func oneOf[T any](c *where, column string, values []T) {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = c.arg(v)
	}
	c.parts = append(c.parts, column+" IN ("+strings.Join(marks, ", ")+")")
}

// at asks for sites at one of some places.
func (c *where) at(places []place) {
	values := make([]string, len(places))
	for i, p := range places {
		values[i] = fmt.Sprintf("(%s, CAST(%s AS BIGINT), CAST(%s AS BIGINT))", c.arg(string(p.state)), c.arg(p.profile), c.arg(p.tags))
	}
	c.parts = append(c.parts, "(sites.state, sites.profile_id, sites.tags_id) IN (VALUES "+strings.Join(values, ", ")+")")
}

func (c *where) sql() string { return strings.Join(c.parts, " AND ") }
