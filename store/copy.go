package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"time"
)

var (
	// ErrNotEmpty is that the target of a copy holds something already.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrUnfinished is that a copy into this store was never finished.
	ErrUnfinished = errors.New("a copy into this store is not finished: run it again")
	// ErrAtWork is that daemons work on the store.
	ErrAtWork = errors.New("daemons are at work on the store: stop them first")
	// ErrDiffers is that a copy does not hold what its source holds.
	ErrDiffers = errors.New("the copy differs from its source, which was perhaps written meanwhile: copy again into an empty store")
)

// factCopy is the fact that marks the target of an unfinished copy.
const factCopy = "copy_unfinished"

// copyChunk rows go into one statement.
const copyChunk = 100

// Progress of a copy: rows that a table has in the target so far.
type Progress func(table string, rows int64)

// Copy brings all that a store holds into an empty one, of the other kind or
// not, and proves by counts and checksums that both hold the same. No daemon
// may work on either. A copy that was interrupted goes on where it stopped.
func Copy(ctx context.Context, from, to *Store, progress Progress) error {
	for _, s := range []*Store{from, to} {
		if err := s.atRest(ctx); err != nil {
			return err
		}
	}
	if err := to.beginCopy(ctx); err != nil {
		return err
	}
	return copyAll(ctx, from, to, progress)
}

func copyAll(ctx context.Context, from Queryer, to *Store, progress Progress) error {
	for _, t := range tables {
		if err := copyTable(ctx, t, from, to, progress); err != nil {
			return fmt.Errorf("copy %s: %w", t.name, err)
		}
	}
	for _, t := range tables {
		if err := compareTable(ctx, t, from, to); err != nil {
			return fmt.Errorf("compare %s: %w", t.name, err)
		}
	}
	return to.endCopy(ctx)
}

func (s *Store) beginCopy(ctx context.Context) error {
	begun, err := s.fact(ctx, factCopy)
	if err != nil || begun != "" {
		return err
	}
	for _, t := range tables {
		var n int
		if err := s.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+t.name+" LIMIT 1) page").Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: it has %s", ErrNotEmpty, t.name)
		}
	}
	return s.setFact(ctx, factCopy, time.Now().UTC().Format(time.RFC3339))
}

// endCopy makes generated keys go on after the copied ones and removes the
// mark.
func (s *Store) endCopy(ctx context.Context) error {
	return s.Write(ctx, func(tx *Tx) error {
		if s.d.name == postgresDialect.name {
			for _, t := range tables {
				if !t.id {
					continue
				}
				if _, err := tx.Exec(ctx, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', 'id'), max(id)) FROM %[1]s HAVING max(id) IS NOT NULL`, t.name)); err != nil {
					return err
				}
			}
		}
		_, err := tx.Exec(ctx, "DELETE FROM facts WHERE name = $1", factCopy)
		return err
	})
}

// finished refuses a store into which a copy was begun and not finished.
func (s *Store) finished(ctx context.Context) error {
	mark, err := s.fact(ctx, factCopy)
	if err == nil && mark != "" {
		err = ErrUnfinished
	}
	return err
}

func copyTable(ctx context.Context, t table, from Queryer, to *Store, progress Progress) error {
	after, err := lastKey(ctx, t, to)
	if err != nil {
		return err
	}
	var done int64
	if err := to.QueryRow(ctx, "SELECT count(*) FROM "+t.name).Scan(&done); err != nil {
		return err
	}
	for {
		rows, err := readPage(ctx, t, from, after)
		if err != nil || len(rows) == 0 {
			return err
		}
		err = to.Write(ctx, func(tx *Tx) error {
			for chunk := range slices.Chunk(rows, copyChunk) {
				if _, err := tx.Exec(ctx, t.insert(len(chunk)), slices.Concat(chunk...)...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = rows[len(rows)-1][:len(t.key)]
		done += int64(len(rows))
		if progress != nil {
			progress(t.name, done)
		}
	}
}

// lastKey is the greatest key of a table; nil when it is empty.
func lastKey(ctx context.Context, t table, q Queryer) ([]any, error) {
	key, dest := receivers(len(t.key))
	err := q.QueryRow(ctx, t.last()).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return key, err
}

// receivers are places for a row's columns.
func receivers(n int) (row, dest []any) {
	row, dest = make([]any, n), make([]any, n)
	for i := range row {
		dest[i] = &row[i]
	}
	return row, dest
}

// readPage reads the next rows of a table after a key.
func readPage(ctx context.Context, t table, q Queryer, after []any) ([][]any, error) {
	rows, err := q.Query(ctx, t.page(after != nil), after...)
	if err != nil {
		return nil, err
	}
	page := make([][]any, 0, t.pageRows())
	err = each(rows, func(scan Scan) error {
		row, dest := receivers(len(t.all()))
		page = append(page, row)
		return scan(dest...)
	})
	return page, err
}

// compareTable reads a table on both sides and compares counts and checksums.
func compareTable(ctx context.Context, t table, a, b Queryer) error {
	sumA, countA, err := checksum(ctx, t, a)
	if err != nil {
		return err
	}
	sumB, countB, err := checksum(ctx, t, b)
	if err != nil {
		return err
	}
	if countA != countB {
		return fmt.Errorf("%w: %d rows became %d", ErrDiffers, countA, countB)
	}
	if !bytes.Equal(sumA, sumB) {
		return fmt.Errorf("%w: %d rows, another checksum", ErrDiffers, countA)
	}
	return nil
}

func checksum(ctx context.Context, t table, q Queryer) (sum []byte, rows int64, err error) {
	h := sha256.New()
	var after []any
	for {
		page, err := readPage(ctx, t, q, after)
		if err != nil {
			return nil, 0, err
		}
		if len(page) == 0 {
			return h.Sum(nil), rows, nil
		}
		after = page[len(page)-1][:len(t.key)]
		for _, row := range page {
			rows++
			for _, v := range row {
				if err := hashValue(h, v); err != nil {
					return nil, 0, fmt.Errorf("%s: %w", t.name, err)
				}
			}
		}
	}
}

// hashValue writes a column's value so that no two rows look alike.
func hashValue(h hash.Hash, v any) error {
	var kind byte
	var data []byte
	switch v := v.(type) {
	case nil:
		kind = 'n'
	case int64:
		kind, data = 'i', binary.BigEndian.AppendUint64(nil, uint64(v))
	case string:
		kind, data = 's', []byte(v)
	case []byte:
		kind, data = 'b', v
	default:
		return fmt.Errorf("unexpected %T", v)
	}
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	h.Write(head)
	h.Write(data)
	return nil
}
