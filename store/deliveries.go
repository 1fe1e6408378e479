package store

import (
	"context"
	"fmt"
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
		any := &conditions{args: c.args}
		for _, st := range f.Statuses {
			any.add("d.status = $%d", string(st))
		}
		c.where, c.args = append(c.where, "("+any.or()+")"), any.args
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

// ListDeliveries gives deliveries, oldest first.
func (s *Store) ListDeliveries(ctx context.Context, f DeliveryFilter) ([]notify.Delivery, error) {
	c := f.conditions()
	query := `SELECT ` + deliveryColumns + ` FROM deliveries d JOIN changes c ON c.id = d.change_id WHERE ` + c.sql() + ` ORDER BY d.id`
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
