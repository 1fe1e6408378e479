package store

import (
	"context"

	"github.com/robotswatch/robotswatch/watcher"
)

// recordChanges writes events, and a delivery for each receiver that wants one.
func (r *recording) recordChanges(ctx context.Context) error {
	var changes, deliveries [][]any
	for _, o := range r.kept {
		for i := range o.changes {
			p := &o.changes[i]
			row, err := r.s.changeArgs(ctx, r.tx, o.Lease.Site.ID, p, r.bodies)
			if err != nil {
				return err
			}
			changes = append(changes, row)
			clock := r.s.clock(o.Site.LastCheckAt)
			for _, name := range o.Changes[i].Receivers {
				deliveries = append(deliveries, []any{name, p.key, o.Lease.Site.ID, o.Changes[i].GroupKey, clock, clock})
			}
		}
	}
	if err := insertChanges(ctx, r.tx, changes); err != nil {
		return err
	}
	if len(deliveries) == 0 {
		return nil
	}
	if err := r.tx.lockOutbox(ctx); err != nil {
		return err
	}
	_, err := r.tx.InsertMany(ctx, "INSERT INTO deliveries (receiver, change_id, site_id, group_key, created_at, next_at) VALUES ",
		"(?, ?, ?, ?, COALESCE(CAST(? AS BIGINT), {{now}}), COALESCE(CAST(? AS BIGINT), {{now}}))",
		" ON CONFLICT (receiver, change_id) DO NOTHING", deliveries)
	return err
}

func insertChanges(ctx context.Context, tx *Tx, rows [][]any) error {
	_, err := tx.InsertMany(ctx, `INSERT INTO changes (id, site_id, kind, severity, watched, backfill, agents_id,
		before_id, after_id, data) VALUES `, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", " ON CONFLICT (id) DO NOTHING", rows)
	return err
}

func (s *Store) changeArgs(ctx context.Context, tx *Tx, siteID int64, p *packedChange, bodies map[watcher.Hash]int64) ([]any, error) {
	set, err := s.setID(ctx, tx, p.agents)
	if err != nil {
		return nil, err
	}
	return []any{p.key, siteID, string(p.Kind), int64(p.Severity.Rank()), toInt(p.Watched), toInt(p.Backfilled), set,
		bodies[p.before], bodies[p.after], p.data}, nil
}
