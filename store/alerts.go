package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/robotswatch/robotswatch/notify"
)

// keepAlerts remembers alerts that began and forgets those that ended.
func keepAlerts(ctx context.Context, tx *Tx, receiver string, list []notify.Alert) error {
	for _, a := range list {
		if !a.Until.IsZero() {
			if _, err := tx.Exec(ctx, `DELETE FROM alerts WHERE receiver = $1 AND name = $2`, receiver, a.Key); err != nil {
				return err
			}
			continue
		}
		data, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO alerts (receiver, name, site, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (receiver, name) DO UPDATE SET site = excluded.site, data = excluded.data`,
			receiver, a.Key, a.Site, string(data)); err != nil {
			return err
		}
	}
	return nil
}

// Alerts implements notify.Outbox.
func (s *Store) Alerts(ctx context.Context, receiver string, keys []string, after string, n int, now time.Time) ([]notify.Alert, error) {
	c := &conditions{}
	c.add("a.receiver = $%d AND a.name > $%d", receiver, after)
	if keys != nil {
		in := &conditions{args: c.args}
		for _, k := range keys {
			in.add("a.name = $%d", k)
		}
		c.where, c.args = append(c.where, "("+in.or()+")"), in.args
	}
	rows, err := s.Query(ctx, `SELECT a.data, (SELECT count(*) FROM sites WHERE origin = a.site AND active = 1)
		FROM alerts a WHERE `+c.sql()+fmt.Sprintf(` ORDER BY a.name LIMIT %d`, n), c.args...)
	if err != nil {
		return nil, err
	}
	var list []notify.Alert
	err = each(rows, func(scan Scan) error {
		var data string
		var active int
		if err := scan(&data, &active); err != nil {
			return err
		}
		var a notify.Alert
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return fmt.Errorf("alert: %w: %w", ErrCorrupt, err)
		}
		if active == 0 {
			a.Until = now
		}
		list = append(list, a)
		return nil
	})
	return list, err
}
