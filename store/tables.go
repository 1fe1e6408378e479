package store

import (
	"fmt"
	"strings"
)

// table is one table as it is copied and compared: row by row in the order of
// its key, so that a copy can go on where it was interrupted.
type table struct {
	name    string
	key     []string
	columns []string // the key's first
	id      bool     // the key is generated
	wide    bool     // rows may be large
}

// pageRows is how many rows are read at once, and written in a transaction.
func (t table) pageRows() int {
	if t.wide {
		return 50
	}
	return 1000
}

// tables in an order in which each refers to earlier ones only; facts and
// daemons are about a store itself. A test keeps the list complete.
var tables = []table{
	{name: "sets", key: []string{"id"}, id: true, columns: []string{"members"}},
	{name: "profiles", key: []string{"id"}, id: true, columns: []string{"data"}},
	{name: "bodies", key: []string{"id"}, id: true, wide: true, columns: []string{"sha256", "size", "seen_at", "data"}},
	{name: "sites", key: []string{"id"}, id: true, columns: []string{"origin", "active", "tags_id", "agents_id", "schedule", "state", "reason",
		"state_since", "readable", "readable_at", "body_id", "profile_id", "phase", "memory", "observed_at", "last_check_at", "last_change_at",
		"next_check_at", "lease_until", "lease_token"}},
	{name: "observations", key: []string{"site_id", "at"}, columns: []string{"last_at", "state", "reason", "detail", "status", "final_url",
		"body_id", "bytes", "truncated", "backfill", "evidence", "seq", "link"}},
	{name: "chains", key: []string{"site_id", "archive"}, columns: []string{"dropped", "dropped_link", "dropped_last_at", "length", "head"}},
	{name: "changes", key: []string{"id"}, columns: []string{"site_id", "kind", "severity", "watched", "backfill", "agents_id", "before_id", "after_id", "data"}},
	{name: "receivers", key: []string{"name"}, columns: []string{"added_at", "state", "owner", "lease_until", "wanted_until"}},
	{name: "deliveries", key: []string{"id"}, id: true, columns: []string{"receiver", "change_id", "site_id", "group_key", "status", "created_at",
		"next_at", "attempts", "tried_at", "done_at", "last_error", "receipt"}},
	{name: "alerts", key: []string{"receiver", "name"}, columns: []string{"site", "data"}},
	{name: "expectations", key: []string{"id"}, id: true, columns: []string{"site", "agent", "until", "note"}},
	{name: "standings", key: []string{"state", "phase", "profile_id", "agents_id", "tags_id"}, columns: []string{"sites"}},
	{name: "standings_daily", key: []string{"day", "state", "phase", "profile_id", "agents_id", "tags_id"}, columns: []string{"sites"}},
	{name: "watched_agents", key: []string{"token"}, columns: []string{"until_day", "cursor"}},
	{name: "agent_past", key: []string{"token", "day", "tags_id", "access"}, columns: []string{"sites"}},
	{name: "jobs", key: []string{"name"}, columns: []string{"done_at", "lease_until"}},
}

func (t table) all() []string { return append(t.key[:len(t.key):len(t.key)], t.columns...) }

// page is the query for the first rows after a key, or, without one, for the
// first rows of all.
func (t table) page(after bool) string {
	var where string
	if after {
		where = fmt.Sprintf(" WHERE (%s) > (%s)", strings.Join(t.key, ", "), dollars(1, len(t.key)))
	}
	return fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d", strings.Join(t.all(), ", "), t.name, where, strings.Join(t.key, ", "), t.pageRows())
}

// last is the query for the greatest key.
func (t table) last() string {
	return fmt.Sprintf("SELECT %s FROM %s ORDER BY %s DESC LIMIT 1", strings.Join(t.key, ", "), t.name, strings.Join(t.key, " DESC, "))
}

// insert is the statement for some rows. Those that are there already stay: a
// commit whose answer never came may have happened.
func (t table) insert(rows int) string {
	n := len(t.all())
	values := make([]string, rows)
	for i := range values {
		values[i] = "(" + dollars(i*n+1, n) + ")"
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s ON CONFLICT DO NOTHING", t.name, strings.Join(t.all(), ", "), strings.Join(values, ", "))
}

func dollars(first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(list, ", ")
}
