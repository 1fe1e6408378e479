package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Tx is one transaction that may write. Its queries use $1 placeholders and
// the dialect's words. The first error ends it.
type Tx struct {
	conn  *sql.Conn
	d     dialect
	stmts map[string]*statement // kept for the life of the connection; nil: the driver keeps them
	after []func()
}

// afterCommit registers what may happen only once the transaction stands.
func (tx *Tx) afterCommit(f func()) { tx.after = append(tx.after, f) }

// Queryer is what reads need; Tx and the readers' side of a Store are ones.
type Queryer interface {
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// Scan is how a row gives its columns away (sql.Row, sql.Rows, pgx.Rows).
type Scan func(dest ...any) error

// Write runs fn in one transaction that may write. Passing faults (see
// Transient) are waited out for a while, and fn is run again from the start;
// so fn must have no other effects than those of tx. Any other error of fn
// rolls back and is returned.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) error {
	return s.patiently(ctx, func() error { return s.writeOnce(ctx, s.begin, fn) })
}

// WriteDurably is Write for what others are told of: it outlasts a power
// failure, so that nobody is told again as if it were news.
func (s *Store) WriteDurably(ctx context.Context, fn func(tx *Tx) error) error {
	return s.patiently(ctx, func() error { return s.writeOnce(ctx, s.durably, fn) })
}

// writeAtOneMoment is Write for what decides by one statement what another one
// does: both see the same, and where somebody wrote it meanwhile all is done
// again.
func (s *Store) writeAtOneMoment(ctx context.Context, fn func(tx *Tx) error) error {
	return s.patiently(ctx, func() error { return s.writeOnce(ctx, s.steadily, fn) })
}

func (s *Store) writeOnce(ctx context.Context, begin string, fn func(tx *Tx) error) error {
	tx, release, err := s.writer(ctx)
	if err != nil {
		return err
	}
	defer release()
	err = tx.run(ctx, begin, fn)
	if diskFull(err) {
		tx.foldLog(ctx)
	}
	return err
}

// atOneMoment gives fn a view of the store as it is at one moment, for reads
// that take several statements. Others' writes do not wait for it, but what
// they replace is kept until it ends: fn must be short. Only that of a backup
// cannot be.
func (s *Store) atOneMoment(ctx context.Context, fn func(q Queryer) error) error {
	conn, err := s.reader.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	view := &Tx{conn: conn, d: s.d}
	return view.run(ctx, s.view, func(tx *Tx) error { return fn(tx) })
}

// run begins, runs fn, and commits; on any error it rolls back.
func (tx *Tx) run(ctx context.Context, begin string, fn func(tx *Tx) error) (err error) {
	committed := false
	tx.after = nil
	defer func() {
		if committed {
			return
		}
		// The rollback must reach the database also when ctx has ended; and
		// when BEGIN fails, since it may have begun as ctx ended.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if _, e := tx.conn.ExecContext(undo, "ROLLBACK"); e != nil && tx.stmts == nil {
			tx.discard()
		}
	}()
	if _, err := tx.conn.ExecContext(ctx, begin); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(tx); err != nil {
		return err
	}
	if _, err := tx.conn.ExecContext(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	for _, f := range tx.after {
		f()
	}
	return nil
}

// stmt gives the prepared statement where the driver keeps none.
func (tx *Tx) stmt(ctx context.Context, query string) (*statement, error) {
	if st, ok := tx.stmts[query]; ok {
		return st, nil
	}
	text, order := positional(tx.d.sql(query))
	st, err := tx.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	tx.stmts[query] = &statement{st, order}
	return tx.stmts[query], nil
}

// Exec runs a statement and tells how many rows it touched.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	var res sql.Result
	var err error
	if tx.stmts == nil {
		res, err = tx.conn.ExecContext(ctx, tx.d.sql(query), args...)
	} else {
		var st *statement
		if st, err = tx.stmt(ctx, query); err == nil {
			res, err = st.ExecContext(ctx, st.args(args)...)
		}
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a query; the caller closes the rows before the next statement.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if tx.stmts == nil {
		return tx.conn.QueryContext(ctx, tx.d.sql(query), args...)
	}
	st, err := tx.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, st.args(args)...)
}

// QueryRow runs a query for one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	if tx.stmts != nil {
		if st, err := tx.stmt(ctx, query); err == nil {
			return st.QueryRowContext(ctx, st.args(args)...)
		}
	}
	return tx.conn.QueryRowContext(ctx, tx.d.sql(query), args...)
}

// ExecMany runs one statement for each list of arguments, in order, and tells
// how many rows each touched. Where the database is far away all of them
// travel together; where it is not, each is short, and the context is looked at
// between them: the driver would start a goroutine for each to watch it.
func (tx *Tx) ExecMany(ctx context.Context, query string, rows [][]any) ([]int64, error) {
	touched := make([]int64, len(rows))
	if tx.stmts == nil {
		err := tx.batch(ctx, query, rows, func(i int, r pgx.BatchResults) error {
			tag, err := r.Exec()
			touched[i] = tag.RowsAffected()
			return err
		})
		return touched, err
	}
	for i, args := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := tx.Exec(context.WithoutCancel(ctx), query, args...)
		if err != nil {
			return nil, err
		}
		touched[i] = n
	}
	return touched, nil
}

// rowsAtOnce is how many rows one statement of InsertMany adds, or values one
// of QueryIn asks for, as far as there are that many: few sizes, so that all
// are prepared once.
var rowsAtOnce = [...]int{64, 8, 1}

// InsertMany adds rows. head ends with VALUES, tuple is a row of it with ? in
// place of each of its arguments, and tail follows them. It gives how many rows
// were added or altered.
func (tx *Tx) InsertMany(ctx context.Context, head, tuple, tail string, rows [][]any) (touched int64, err error) {
	for _, n := range rowsAtOnce {
		var many [][]any
		for ; len(rows) >= n; rows = rows[n:] {
			many = append(many, slices.Concat(rows[:n]...))
		}
		if len(many) == 0 {
			continue
		}
		some, err := tx.ExecMany(ctx, insertOf(head, tuple, tail, n), many)
		if err != nil {
			return 0, err
		}
		for _, t := range some {
			touched += t
		}
	}
	return touched, nil
}

func insertOf(head, tuple, tail string, rows int) string {
	var b strings.Builder
	b.WriteString(head)
	arg := 0
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		for rest := tuple; rest != ""; {
			before, after, found := strings.Cut(rest, "?")
			b.WriteString(before)
			if found {
				arg++
				b.WriteString("$" + strconv.Itoa(arg))
			}
			rest = after
		}
	}
	b.WriteString(tail)
	return b.String()
}

// QueryMany runs one query for each list of arguments, in order, and gives
// the rows of the i-th to scan.
func (tx *Tx) QueryMany(ctx context.Context, query string, rows [][]any, scan func(i int, scan Scan) error) error {
	if tx.stmts == nil {
		return tx.batch(ctx, query, rows, func(i int, r pgx.BatchResults) error {
			got, err := r.Query()
			if err != nil {
				return err
			}
			defer got.Close()
			for got.Next() {
				if err := scan(i, got.Scan); err != nil {
					return err
				}
			}
			return got.Err()
		})
	}
	for i, args := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		got, err := tx.Query(context.WithoutCancel(ctx), query, args...)
		if err != nil {
			return err
		}
		if err := each(got, func(sc Scan) error { return scan(i, sc) }); err != nil {
			return err
		}
	}
	return nil
}

// QueryIn runs a query about many values and gives all rows to scan: IN (?) in
// it stands for some of the values at a time, args come before them.
func (tx *Tx) QueryIn(ctx context.Context, query string, args, values []any, scan func(scan Scan) error) error {
	for _, n := range rowsAtOnce {
		var many [][]any
		for ; len(values) >= n; values = values[n:] {
			many = append(many, slices.Concat(args, values[:n]))
		}
		if len(many) == 0 {
			continue
		}
		if err := tx.QueryMany(ctx, queryIn(query, len(args), n), many, func(_ int, sc Scan) error { return scan(sc) }); err != nil {
			return err
		}
	}
	return nil
}

func queryIn(query string, after, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "$" + strconv.Itoa(after+i+1)
	}
	return strings.Replace(query, "IN (?)", "IN ("+strings.Join(list, ", ")+")", 1)
}

// batch sends one statement with many lists of arguments in one round trip.
func (tx *Tx) batch(ctx context.Context, query string, rows [][]any, result func(i int, r pgx.BatchResults) error) error {
	if len(rows) == 0 {
		return nil
	}
	query = tx.d.sql(query)
	b := &pgx.Batch{}
	for _, args := range rows {
		b.Queue(query, args...)
	}
	return tx.conn.Raw(func(driverConn any) (err error) {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unexpected connection %T", driverConn)
		}
		r := c.Conn().SendBatch(ctx, b)
		defer func() {
			if e := r.Close(); err == nil {
				err = e
			}
		}()
		for i := range rows {
			if err := result(i, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// each gives every row to fn and closes the rows.
func each(rows *sql.Rows, fn func(scan Scan) error) (err error) {
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
