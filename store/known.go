package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Tags lists the tags of the watched sites in order.
func (s *Store) Tags(ctx context.Context) ([]string, error) {
	return s.listed(ctx, "tags", `SELECT members FROM sets WHERE id IN (SELECT tags_id FROM standings WHERE sites <> 0)`)
}

// HasTag reports whether a site has a tag, watched or not. It is fast but for
// a tag that watched sites no longer have: then all sites are looked through.
func (s *Store) HasTag(ctx context.Context, tag string) (has bool, err error) {
	const with = " IN (SELECT id FROM sets WHERE {{find}}(members, $1) > 0)"
	err = s.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM standings WHERE sites <> 0 AND tags_id`+with+`)
		OR EXISTS (SELECT 1 FROM sites WHERE tags_id`+with+`)`, joinSet([]string{tag})).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("tag %q: %w", tag, err)
	}
	return has, nil
}

// HasAgent reports whether an agent, in any case, is watched or is in a change,
// be it only named by a policy.
func (s *Store) HasAgent(ctx context.Context, token string) (has bool, err error) {
	token = strings.ToLower(token)
	err = s.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM watched_agents WHERE token = $1)
		OR EXISTS (SELECT 1 FROM sets WHERE {{find}}(lower(members), $2) > 0 AND (
			EXISTS (SELECT 1 FROM changes WHERE agents_id > 0 AND agents_id = sets.id) OR
			EXISTS (SELECT 1 FROM standings WHERE sites <> 0 AND agents_id = sets.id)))`, token, joinSet([]string{token})).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("agent %q: %w", token, err)
	}
	return has, nil
}

// OwedReceivers lists the receivers with pending or dead deliveries in order,
// configured or not.
func (s *Store) OwedReceivers(ctx context.Context) ([]string, error) {
	return s.listed(ctx, "receivers", `SELECT DISTINCT receiver FROM deliveries WHERE status = 'pending'
		UNION SELECT DISTINCT receiver FROM deliveries WHERE status = 'dead'`)
}

// listed gives what a query finds, lists taken apart, each once and in order.
func (s *Store) listed(ctx context.Context, what, query string) (list []string, err error) {
	rows, err := s.Query(ctx, query)
	if err == nil {
		err = each(rows, func(scan Scan) error {
			var text string
			err := scan(&text)
			list = append(list, splitSet(text)...)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
