package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// AccessSince tells for sites, by their ID, when the level of an agent's
// access last changed by what the site said; those where it never did are
// left out.
func (s *Store) AccessSince(ctx context.Context, sites []int64, agent string) (map[int64]time.Time, error) {
	since := map[int64]time.Time{}
	if len(sites) == 0 {
		return since, nil
	}
	marks, args := placeholders(sites)
	rows, err := s.Query(ctx, "SELECT site_id, "+changeColumns+" FROM changes WHERE "+accessOfSites+" ("+marks+")", args...)
	if err != nil {
		return nil, fmt.Errorf("access since: %w", err)
	}
	err = each(rows, func(scan Scan) error {
		var id int64
		var r changeRow
		if err := r.scan(scan, &id); err != nil {
			return err
		}
		c, err := r.change()
		if err == nil && c.At.After(since[id]) && relevels(&c, agent) {
			since[id] = c.At
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("access since: %w", err)
	}
	return since, nil
}

// accessOfSites selects the access events of some sites. Written so, no index
// of kinds is used: it would lead through the events of all sites.
const accessOfSites = "(kind || '') = 'access' AND site_id IN"

// FirstSeen tells for sites, by their ID, when it was first read what they
// want. Looks that failed before that saw nothing of it.
func (s *Store) FirstSeen(ctx context.Context, sites []int64) (map[int64]time.Time, error) {
	first := map[int64]time.Time{}
	if len(sites) == 0 {
		return first, nil
	}
	marks, args := placeholders(sites)
	rows, err := s.Query(ctx, "SELECT site_id, MIN(at) FROM observations WHERE site_id IN ("+marks+") AND state IN ('p', 'a') GROUP BY site_id", args...)
	if err != nil {
		return nil, fmt.Errorf("first seen: %w", err)
	}
	err = each(rows, func(scan Scan) error {
		var id, at int64
		err := scan(&id, &at)
		first[id] = fromMillis(at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("first seen: %w", err)
	}
	return first, nil
}

// placeholders gives $1, $2, ... and the arguments for keys.
func placeholders(keys []int64) (marks string, args []any) {
	m := make([]string, len(keys))
	for i, k := range keys {
		m[i] = fmt.Sprintf("$%d", i+1)
		args = append(args, k)
	}
	return strings.Join(m, ", "), args
}

// relevels reports whether a change alters the level of an agent's access.
func relevels(c *watcher.Change, agent string) bool {
	for i := range c.Agents {
		if a := &c.Agents[i]; strings.EqualFold(a.Agent, agent) {
			return a.Before.Level != a.After.Level
		}
	}
	return false
}

// Owed lists up to limit deliveries that are dead, or pending, oldest first.
func (s *Store) Owed(ctx context.Context, status notify.Status, limit int) ([]notify.Delivery, error) {
	which := "deliveries.status = 'dead'" // written out: partial indexes need it
	if status == notify.StatusPending {
		which = "deliveries.status = 'pending'"
	}
	rows, err := s.Query(ctx, `SELECT deliveries.id, deliveries.receiver, deliveries.group_key, deliveries.created_at, deliveries.next_at,
			deliveries.attempts, deliveries.last_error, deliveries.receipt, `+changeColumns+`
		FROM deliveries JOIN changes ON changes.id = deliveries.change_id
		WHERE `+which+" ORDER BY deliveries.id LIMIT $1", limit)
	if err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	var list []notify.Delivery
	err = each(rows, func(scan Scan) error {
		var d notify.Delivery
		var created, next int64
		var r changeRow
		if err := r.scan(scan, &d.ID, &d.Receiver, &d.GroupKey, &created, &next, &d.Attempts, &d.LastError, &d.Receipt); err != nil {
			return err
		}
		d.CreatedAt, d.NextAt = fromMillis(created), fromMillis(next)
		var err error
		d.Change, err = r.change()
		list = append(list, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	return list, nil
}
