package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// settleChunk is how many deliveries one transaction settles, so that a group
// of any size keeps nobody else from writing for long.
const settleChunk = 1000

var _ notify.Outbox = (*Store)(nil)

// Sync implements notify.Outbox. Where daemons share the store, what is gone
// is gone only once no daemon has had it for receiverGrace: their
// configurations change one after the other.
func (s *Store) Sync(ctx context.Context, receivers []string, now time.Time) error {
	s.presence.wants(receivers)
	return s.keepReceivers(ctx, receivers, now)
}

// keepReceivers says that a daemon's configuration has these receivers, and
// removes those that none has.
func (s *Store) keepReceivers(ctx context.Context, receivers []string, now time.Time) error {
	var grace time.Duration
	if s.lockPath == "" {
		grace = receiverGrace
	}
	return s.Write(ctx, func(tx *Tx) error {
		// Nobody records a delivery to a receiver while it is removed.
		if err := tx.lockOutbox(ctx); err != nil {
			return err
		}
		for _, name := range receivers {
			if _, err := tx.Exec(ctx, `INSERT INTO receivers (name, added_at, wanted_until)
				VALUES ($1, $2, COALESCE(CAST($3 AS BIGINT), {{now}}) + CAST($4 AS BIGINT))
				ON CONFLICT (name) DO UPDATE SET wanted_until = excluded.wanted_until`,
				name, toMillis(now), s.clock(now), grace.Milliseconds()); err != nil {
				return err
			}
		}
		gone, err := goneReceivers(ctx, tx, receivers, s.clock(now), grace > 0)
		if err != nil {
			return err
		}
		for _, name := range gone {
			for _, query := range []string{
				`DELETE FROM receivers WHERE name = $1`,
				`DELETE FROM deliveries WHERE status = 'pending' AND receiver = $1`,
				`DELETE FROM alerts WHERE receiver = $1`,
			} {
				if _, err := tx.Exec(ctx, query, name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// goneReceivers has a row or a pending delivery, and is neither in the list
// nor, where that counts, wanted by another daemon.
func goneReceivers(ctx context.Context, tx *Tx, receivers []string, clock any, shared bool) (gone []string, err error) {
	rows, err := tx.Query(ctx, `SELECT k.name, CASE WHEN r.wanted_until > COALESCE(CAST($1 AS BIGINT), {{now}}) THEN 1 ELSE 0 END
		FROM (SELECT name FROM receivers UNION SELECT receiver FROM deliveries WHERE status = 'pending') k
		LEFT JOIN receivers r ON r.name = k.name`, clock)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var name string
		var wanted int
		err := scan(&name, &wanted)
		if !slices.Contains(receivers, name) && !(shared && wanted == 1) {
			gone = append(gone, name)
		}
		return err
	})
	return gone, err
}

// Lease implements notify.Outbox. Where daemons share the store its clock
// decides, whatever theirs say.
func (s *Store) Lease(ctx context.Context, receiver, owner string, now, until time.Time) (state notify.ReceiverState, ok bool, err error) {
	s.presence.owns(owner)
	err = s.Write(ctx, func(tx *Tx) error {
		ok = false
		var text string
		err := tx.QueryRow(ctx, `UPDATE receivers SET owner = $1, lease_until = COALESCE(CAST($4 AS BIGINT), {{now}}) + CAST($2 AS BIGINT)
			WHERE name = $3 AND (owner = $1 OR lease_until <= COALESCE(CAST($4 AS BIGINT), {{now}})) RETURNING state`,
			owner, until.Sub(now).Milliseconds(), receiver, s.clock(now)).Scan(&text)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ok, state = true, notify.ReceiverState{}
		if text == "" {
			return nil
		}
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			return fmt.Errorf("state of receiver %s: %w: %w", receiver, ErrCorrupt, err)
		}
		return nil
	})
	return state, ok, err
}

// outboxLock is the key of the lock that lockOutbox takes.
const outboxLock = 0x0b07_0b07

// lockOutbox makes transactions that add deliveries commit in the order of
// their ids, where more than one can write: otherwise a worker that settles
// all up to an id could settle one that it has never seen.
func (tx *Tx) lockOutbox(ctx context.Context) error {
	if tx.d.name != postgresDialect.name {
		return nil
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", outboxLock))
	return err
}

// conditions builds the WHERE of a selection on deliveries d.
type conditions struct {
	where []string
	args  []any
}

func (c *conditions) add(format string, args ...any) {
	places := make([]any, len(args))
	for i, a := range args {
		c.args = append(c.args, a)
		places[i] = len(c.args)
	}
	c.where = append(c.where, fmt.Sprintf(format, places...))
}

func (c *conditions) or() string { return strings.Join(c.where, " OR ") }

func (c *conditions) sql() string { return strings.Join(c.where, " AND ") }

// sendable are the deliveries of a selection, see notify.Outbox.
func sendable(sel notify.Selection) *conditions {
	c := &conditions{}
	c.add("d.status = 'pending' AND d.receiver = $%d", sel.Receiver)
	if sel.GroupKey != "" {
		c.add("d.group_key = $%d", sel.GroupKey)
	}
	if sel.ID != 0 {
		c.add("d.id = $%d", sel.ID)
	}
	if sel.After != 0 {
		c.add("d.id > $%d", sel.After)
	}
	if sel.UpTo != 0 {
		c.add("d.id <= $%d", sel.UpTo)
	}
	if !sel.CreatedBefore.IsZero() {
		c.add("d.created_at < $%d", toMillis(sel.CreatedBefore))
	}
	if !sel.TriedBefore.IsZero() {
		c.add("d.tried_at > 0 AND d.tried_at <= $%d", toMillis(sel.TriedBefore))
	}
	c.inOrder(sel.Due, sel.GroupKey != "")
	return c
}

// inOrder leaves out what is not due and what another of the same site must
// precede.
func (c *conditions) inOrder(due time.Time, oneGroup bool) {
	if due.IsZero() {
		return
	}
	c.add("d.next_at <= $%d", toMillis(due))
	other := ""
	if oneGroup {
		other = " OR e.group_key <> d.group_key"
	}
	// Written so that it is a look into the index for each row: a planner
	// without statistics makes a product of the table with itself of NOT EXISTS.
	c.add(`(SELECT e.id FROM deliveries e WHERE e.status = 'pending' AND e.receiver = d.receiver
		AND e.site_id = d.site_id AND e.id < d.id AND (e.next_at > $%d`+other+`)
		ORDER BY e.receiver, e.site_id, e.id LIMIT 1) IS NULL`, toMillis(due))
}

// Groups implements notify.Outbox.
func (s *Store) Groups(ctx context.Context, receiver string, now time.Time, n int) ([]notify.Group, error) {
	c := &conditions{}
	c.add("d.status = 'pending' AND d.receiver = $%d", receiver)
	c.inOrder(s.toShared(now), true)
	rows, err := s.Query(ctx, `SELECT d.group_key, max(d.id), min(d.created_at), max(d.created_at) FROM deliveries d
		WHERE `+c.sql()+fmt.Sprintf(` GROUP BY d.group_key ORDER BY min(d.id) LIMIT %d`, n), c.args...)
	if err != nil {
		return nil, err
	}
	var groups []notify.Group
	err = each(rows, func(scan Scan) error {
		var g notify.Group
		var first, last int64
		if err := scan(&g.Key, &g.UpTo, &first, &last); err != nil {
			return err
		}
		g.First, g.Last = s.fromShared(fromMillis(first)), s.fromShared(fromMillis(last))
		groups = append(groups, g)
		return nil
	})
	return groups, err
}

// Count implements notify.Outbox.
func (s *Store) Count(ctx context.Context, sel notify.Selection) (t notify.Totals, err error) {
	c := sendable(s.shared(sel))
	var first, last int64
	err = s.QueryRow(ctx, `SELECT count(*), count(DISTINCT d.site_id), COALESCE(max(d.id), 0),
		COALESCE(min(d.created_at), 0), COALESCE(max(d.created_at), 0), COALESCE(max(d.attempts), 0)
		FROM deliveries d WHERE `+c.sql(), c.args...).
		Scan(&t.Deliveries, &t.Sites, &t.UpTo, &first, &last, &t.Attempts)
	t.First, t.Last = s.fromShared(fromMillis(first)), s.fromShared(fromMillis(last))
	return t, err
}

const deliveryColumns = `d.id, d.receiver, d.group_key, d.status, d.created_at, d.attempts, d.next_at, d.last_error, d.receipt, ` + changeColumns

func scanDelivery(scan Scan) (d notify.Delivery, err error) {
	var created, next int64
	var r changeRow
	if err := r.scan(scan, &d.ID, &d.Receiver, &d.GroupKey, &d.Status, &created, &d.Attempts, &next, &d.LastError, &d.Receipt); err != nil {
		return d, err
	}
	d.CreatedAt, d.NextAt = fromMillis(created), fromMillis(next)
	d.Change, err = r.change()
	return d, err
}

func (s *Store) queryDeliveries(ctx context.Context, query string, args ...any) ([]notify.Delivery, error) {
	rows, err := s.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var list []notify.Delivery
	err = each(rows, func(scan Scan) error {
		d, err := scanDelivery(scan)
		d.CreatedAt, d.NextAt = s.fromShared(d.CreatedAt), s.fromShared(d.NextAt)
		list = append(list, d)
		return err
	})
	return list, err
}

// Deliveries implements notify.Outbox.
func (s *Store) Deliveries(ctx context.Context, sel notify.Selection, n int) ([]notify.Delivery, error) {
	c := sendable(s.shared(sel))
	return s.queryDeliveries(ctx, `SELECT `+deliveryColumns+` FROM deliveries d JOIN changes ON changes.id = d.change_id
		WHERE `+c.sql()+fmt.Sprintf(` ORDER BY d.id LIMIT %d`, n), c.args...)
}

// Settle implements notify.Outbox. What is large is settled in pieces, oldest
// first; the receiver's state is saved with the last.
func (s *Store) Settle(ctx context.Context, sel notify.Selection, st notify.Settlement) error {
	state, err := json.Marshal(st.State)
	if err != nil {
		return err
	}
	sel, st.At, st.NextAt = s.shared(sel), s.toShared(st.At), s.toShared(st.NextAt)
	for done := false; !done; {
		var upTo int64
		err := s.Write(ctx, func(tx *Tx) error {
			var n int
			c := sendable(sel)
			if err := tx.QueryRow(ctx, `SELECT count(*), COALESCE(max(id), 0) FROM (SELECT d.id FROM deliveries d WHERE `+
				c.sql()+fmt.Sprintf(` ORDER BY d.id LIMIT %d) AS piece`, settleChunk), c.args...).Scan(&n, &upTo); err != nil {
				return err
			}
			if n > 0 {
				piece := sel
				piece.UpTo = upTo
				if err := settlePiece(ctx, tx, piece, st); err != nil {
					return err
				}
			}
			if done = n < settleChunk; !done {
				return nil
			}
			if err := keepAlerts(ctx, tx, sel.Receiver, st.Alerts); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `UPDATE receivers SET state = $1 WHERE name = $2`, string(state), sel.Receiver)
			return err
		})
		if err != nil {
			return err
		}
		sel.After = upTo
	}
	return nil
}

func settlePiece(ctx context.Context, tx *Tx, sel notify.Selection, st notify.Settlement) error {
	c := sendable(sel)
	next, doneAt := toMillis(st.NextAt), toMillis(st.At)
	if st.Status == notify.StatusPending {
		doneAt = 0
	}
	set := &conditions{args: c.args}
	set.add("status = $%d", string(st.Status))
	set.add("next_at = $%d", next)
	set.add("done_at = $%d", doneAt)
	set.add("last_error = $%d", st.Error)
	set.add("receipt = $%d", st.Receipt)
	set.add("tried_at = CASE WHEN tried_at = 0 THEN $%d ELSE tried_at END", toMillis(st.At))
	_, err := tx.Exec(ctx, `UPDATE deliveries SET attempts = attempts + 1, `+strings.Join(set.where, ", ")+
		` WHERE id IN (SELECT d.id FROM deliveries d WHERE `+c.sql()+`)`, set.args...)
	return err
}

// Receipt implements notify.Outbox.
func (s *Store) Receipt(ctx context.Context, receiver, site string, before int64) (string, watcher.Change, error) {
	list, err := s.queryDeliveries(ctx, `SELECT `+deliveryColumns+` FROM deliveries d JOIN changes ON changes.id = d.change_id
		WHERE d.receipt <> '' AND d.site_id = (SELECT id FROM sites WHERE origin = $1) AND d.receiver = $2 AND d.id < $3
		AND changes.kind = 'state' ORDER BY d.id DESC LIMIT 1`, site, receiver, before)
	switch {
	case err != nil:
		return "", watcher.Change{}, err
	case len(list) == 0:
		return "", watcher.Change{}, watcher.ErrNotFound
	}
	return list[0].Receipt, list[0].Change, nil
}

// NextDue implements notify.Outbox.
func (s *Store) NextDue(ctx context.Context, receiver string, after time.Time) (time.Time, error) {
	var ms int64
	err := s.QueryRow(ctx, `SELECT COALESCE(min(next_at), 0) FROM deliveries WHERE status = 'pending' AND receiver = $1 AND next_at > $2`,
		receiver, toMillis(s.toShared(after))).Scan(&ms)
	return s.fromShared(fromMillis(ms)), err
}

// Pending implements notify.StateSource.
func (s *Store) Pending(ctx context.Context) (map[string]notify.Waiting, error) {
	rows, err := s.Query(ctx, `SELECT receiver, count(*), min(created_at), COALESCE(min(CASE WHEN attempts > 0 THEN created_at END), 0)
		FROM deliveries WHERE status = 'pending' GROUP BY receiver`)
	if err != nil {
		return nil, err
	}
	pending := map[string]notify.Waiting{}
	err = each(rows, func(scan Scan) error {
		var name string
		var n int
		var oldest, tried int64
		if err := scan(&name, &n, &oldest, &tried); err != nil {
			return err
		}
		pending[name] = notify.Waiting{Changes: n, Oldest: s.fromShared(fromMillis(oldest)), OldestTried: s.fromShared(fromMillis(tried))}
		return nil
	})
	return pending, err
}
