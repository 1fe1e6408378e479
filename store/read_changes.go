package store

import (
	"context"
	"fmt"
)

// A page of changes is found either by walking from the newest one until it
// is full, or by picking the changes that match and sorting them. The first
// is quick where many match, the second where few do; which one it is, a
// count that stops early tells.
const (
	fewChanges = 5000
	fewSites   = 2000

	setsWith       = "(SELECT id FROM sets WHERE {{find}}(members, $%[1]d) > 0)"
	sitesWithTag   = "SELECT id FROM sites WHERE tags_id <> 0 AND tags_id IN " + setsWith
	changesOfAgent = "SELECT id FROM changes WHERE agents_id IN " + setsWith
	changesOfTag   = "SELECT id FROM changes WHERE site_id IN (" + sitesWithTag + ")"
)

// agentCondition selects changes that touch an agent. In it and in
// tagCondition the sign keeps an index of the column out of a walk.
func agentCondition(few bool) string {
	if few {
		return "changes.id IN (" + changesOfAgent + ")"
	}
	return "+changes.agents_id IN " + setsWith
}

// tagCondition selects changes of sites with a tag.
func tagCondition(few bool) string {
	if few {
		return "changes.id IN (" + changesOfTag + ")"
	}
	return "EXISTS (SELECT 1 FROM sites WHERE sites.id = changes.site_id AND +sites.tags_id IN " + setsWith + ")"
}

// byAgent chooses the condition for an agent (lower case).
func (s *Store) byAgent(ctx context.Context, agent string) (condition string, err error) {
	few, err := s.atMost(ctx, fewChanges, changesOfAgent, agent)
	return agentCondition(few), err
}

// byTag chooses the condition for a tag.
func (s *Store) byTag(ctx context.Context, tag string) (condition string, err error) {
	few, err := s.atMost(ctx, fewSites, sitesWithTag, tag)
	if few && err == nil {
		few, err = s.atMost(ctx, fewChanges, changesOfTag, tag)
	}
	return tagCondition(few), err
}

// atMost reports whether a query has no more than n rows, without reading
// many more.
func (s *Store) atMost(ctx context.Context, n int, query, member string) (bool, error) {
	var count int
	err := s.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM ("+query+" LIMIT %[2]d) AS found", 1, n+1), joinSet([]string{member})).Scan(&count)
	return count <= n, err
}
