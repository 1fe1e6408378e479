package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// seenStep is how fine bodies.seen_at is kept: a body that many sites share
// is not written anew for each of them.
const seenStep = time.Hour

// Of a body that only changes still name the hash is left: no data. Whoever
// sees it again brings the data back.
var (
	insertBodies = "INSERT INTO bodies (sha256, size, seen_at, data) VALUES "
	orSeeBody    = fmt.Sprintf(` ON CONFLICT (sha256) DO UPDATE SET seen_at = excluded.seen_at,
		size = excluded.size, data = CASE WHEN length(bodies.data) = 0 THEN excluded.data ELSE bodies.data END
		WHERE bodies.seen_at < excluded.seen_at - %d OR length(bodies.data) = 0`, seenStep.Milliseconds())
	touchBody = "UPDATE bodies SET seen_at = $2 WHERE sha256 = $1 AND seen_at < $3"
)

// recordBodies writes the bodies that observations refer to.
func (r *recording) recordBodies(ctx context.Context) error {
	var added, referred [][]any
	done := make(map[watcher.Hash]bool)
	add := func(h watcher.Hash, o *outcome) {
		if h.IsZero() || done[h] {
			return
		}
		done[h] = true
		now := toMillis(o.Site.LastCheckAt)
		if o.packed != nil {
			added = append(added, []any{h[:], int64(len(o.Body)), now, o.packed})
		} else {
			referred = append(referred, []any{h[:], now, now - seenStep.Milliseconds()})
		}
	}
	for _, withBytes := range []bool{true, false} {
		for _, o := range r.kept {
			if o.Observation != nil && (o.packed != nil) == withBytes {
				add(o.Observation.Body, o)
			}
		}
	}
	slices.SortFunc(added, byHash)
	slices.SortFunc(referred, byHash)
	if _, err := r.tx.InsertMany(ctx, insertBodies, "(?, ?, ?, ?)", orSeeBody, added); err != nil {
		return err
	}
	_, err := r.tx.ExecMany(ctx, touchBody, referred)
	return err
}

// byHash orders lists of arguments that begin with a hash: transactions that
// lock rows in the same order do not wait for each other in a circle.
func byHash(a, b []any) int { return slices.Compare(a[0].([]byte), b[0].([]byte)) }

// findBodies finds out which rows the bodies have that the batch names.
func (r *recording) findBodies(ctx context.Context) (err error) {
	var named, told []watcher.Hash
	for _, o := range r.kept {
		if o.Observation != nil {
			named = append(named, o.Observation.Body)
		}
		if o.Site.Body != o.Lease.Site.Body {
			named = append(named, o.Site.Body)
		}
		for i := range o.changes {
			told = append(told, o.changes[i].before, o.changes[i].after)
		}
	}
	r.bodies, err = bodyIDs(ctx, r.tx, named, told)
	return err
}

// bodyIDs gives the rows of bodies. Of those that are only told of the hash is
// kept where there is nothing; others must be there, with their data.
func bodyIDs(ctx context.Context, tx *Tx, named, told []watcher.Hash) (map[watcher.Hash]int64, error) {
	ids := make(map[watcher.Hash]int64, len(named))
	if err := findBodies(ctx, tx, ids, named, " AND length(data) > 0"); err != nil {
		return nil, err
	}
	for _, h := range named {
		if _, ok := ids[h]; !ok && !h.IsZero() {
			return nil, fmt.Errorf("an observation refers to a body that is neither kept nor given: %s", h)
		}
	}
	if err := findBodies(ctx, tx, ids, told, ""); err != nil {
		return nil, err
	}
	var lost [][]any
	for i := range told {
		if _, ok := ids[told[i]]; !ok && !told[i].IsZero() {
			lost = append(lost, []any{told[i][:], int64(0), int64(0), []byte{}})
		}
	}
	if len(lost) == 0 {
		return ids, nil
	}
	slices.SortFunc(lost, byHash)
	if _, err := tx.InsertMany(ctx, insertBodies, "(?, ?, ?, ?)", " ON CONFLICT (sha256) DO NOTHING", lost); err != nil {
		return nil, err
	}
	return ids, findBodies(ctx, tx, ids, told, "")
}

// findBodies adds the rows that are there, and meet a condition.
func findBodies(ctx context.Context, tx *Tx, ids map[watcher.Hash]int64, hashes []watcher.Hash, and string) error {
	var asked []any
	known := make(map[watcher.Hash]bool)
	for i := range hashes {
		h := hashes[i]
		if _, found := ids[h]; !found && !known[h] && !h.IsZero() {
			known[h] = true
			asked = append(asked, hashes[i][:])
		}
	}
	return tx.QueryIn(ctx, "SELECT id, sha256 FROM bodies WHERE sha256 IN (?)"+and, nil, asked, func(scan Scan) error {
		var id int64
		var sum []byte
		if err := scan(&id, &sum); err != nil {
			return err
		}
		ids[watcher.Hash(sum)] = id
		return nil
	})
}

// Body implements watcher.Store. A look that found something else waits for
// it, so passing faults are waited out as those of a write are.
func (s *Store) Body(ctx context.Context, h watcher.Hash) ([]byte, error) {
	var data []byte
	err := s.patiently(ctx, func() error {
		return s.QueryRow(ctx, "SELECT data FROM bodies WHERE sha256 = $1", h[:]).Scan(&data)
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(data) == 0 {
		return nil, fmt.Errorf("body %s: %w", h, watcher.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("body %s: %w", h, err)
	}
	return unpackBody(data, h)
}
