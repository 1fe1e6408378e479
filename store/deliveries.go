package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/notify"
)

// DeliveryFilter selects deliveries for people; zero fields select all.
type DeliveryFilter struct {
	Receiver string
	Statuses []notify.Status
	IDs      []int64
	After    int64 // cursor: ids greater than this
	Limit    int   // 0: all
}

func (f DeliveryFilter) conditions() *conditions {
	c := &conditions{where: []string{"1 = 1"}}
	if f.Receiver != "" {
		c.add("d.receiver = $%d", f.Receiver)
	}
	if len(f.Statuses) > 0 {
		c.where = append(c.where, withStatus(f.Statuses))
	}
	if f.After != 0 {
		c.add("d.id > $%d", f.After)
	}
	if len(f.IDs) > 0 {
		in := "d.id IN ("
		for i, id := range f.IDs {
			if i > 0 {
				in += ", "
			}
			in += fmt.Sprint(id)
		}
		c.where = append(c.where, in+")")
	}
	return c
}

// withStatus selects deliveries d by status. It spells them out instead of
// binding them, and each in a query of its own: the few that are pending or dead
// among very many that were sent have indexes that know only their status.
func withStatus(list []notify.Status) string {
	if len(list) == 1 {
		return "d.status = " + quoted(list[0])
	}
	each := make([]string, len(list))
	for i, st := range list {
		each[i] = "SELECT id FROM deliveries WHERE status = " + quoted(st)
	}
	return "d.id IN (" + strings.Join(each, " UNION ALL ") + ")"
}

func quoted(st notify.Status) string { return "'" + strings.ReplaceAll(string(st), "'", "''") + "'" }

// ListDeliveries gives deliveries, oldest first.
func (s *Store) ListDeliveries(ctx context.Context, f DeliveryFilter) ([]notify.Delivery, error) {
	c := f.conditions()
	query := `SELECT ` + deliveryColumns + ` FROM deliveries d JOIN changes ON changes.id = d.change_id WHERE ` + c.sql() + ` ORDER BY d.id`
	if f.Limit > 0 {
		query += fmt.Sprintf(` LIMIT %d`, f.Limit)
	}
	return s.queryDeliveries(ctx, query, c.args...)
}

// RetryDeliveries makes pending and dead deliveries due at once, with all of
// max_age before them, and tells how many.
func (s *Store) RetryDeliveries(ctx context.Context, f DeliveryFilter, now time.Time) (n int64, err error) {
	c := f.conditions()
	set := &conditions{args: c.args}
	set.add("created_at = $%d", toMillis(now))
	set.add("next_at = $%d", toMillis(now))
	err = s.Write(ctx, func(tx *Tx) (err error) {
		n, err = tx.Exec(ctx, `UPDATE deliveries SET status = 'pending', attempts = 0, tried_at = 0, done_at = 0, `+
			set.where[0]+`, `+set.where[1]+` WHERE status <> 'sent' AND id IN (SELECT d.id FROM deliveries d WHERE `+c.sql()+`)`, set.args...)
		return err
	})
	return n, err
}

// DropDeliveries deletes pending and dead deliveries, and tells how many.
func (s *Store) DropDeliveries(ctx context.Context, f DeliveryFilter) (n int64, err error) {
	c := f.conditions()
	err = s.Write(ctx, func(tx *Tx) (err error) {
		n, err = tx.Exec(ctx, `DELETE FROM deliveries WHERE status <> 'sent' AND id IN (SELECT d.id FROM deliveries d WHERE `+c.sql()+`)`, c.args...)
		return err
	})
	return n, err
}
