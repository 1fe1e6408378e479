package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

// ErrBackfilledMeanwhile is that a backfill or a replay met another one at a
// site, or retention.
var ErrBackfilledMeanwhile = errors.New("what archives tell of the site was altered meanwhile, by another backfill or by retention: run it again, one at a time")

// ErrWatchedMeanwhile is that a look was recorded for the very moment of a
// capture.
var ErrWatchedMeanwhile = errors.New("a site was looked at in the same millisecond as a capture meanwhile: run the backfill again")

// Past implements history.Store.
func (s *Store) Past(ctx context.Context, origins []string) ([]history.Past, error) {
	known := make(map[string]watcher.Site, len(origins))
	for chunk := range slices.Chunk(origins, pageSize) {
		marks, args := make([]string, len(chunk)), make([]any, len(chunk))
		for i, o := range chunk {
			marks[i], args[i] = fmt.Sprintf("$%d", i+1), o
		}
		sites, err := s.querySites(ctx, s, "SELECT "+siteColumns+" FROM sites WHERE origin IN ("+strings.Join(marks, ", ")+")", args...)
		if err != nil {
			return nil, fmt.Errorf("past of sites: %w", err)
		}
		for _, site := range sites {
			known[site.Origin] = site
		}
	}
	pasts := make([]history.Past, len(origins))
	for i, o := range origins {
		site, ok := known[o]
		if !ok {
			pasts[i].Config.Origin = o
			continue
		}
		runs, err := s.Observations(ctx, o, time.Time{}, time.Time{}, 0)
		if err != nil {
			return nil, err
		}
		slices.Reverse(runs)
		pasts[i] = history.Past{Config: site.Config, Runs: runs}
	}
	return pasts, nil
}

// Rewrite implements history.Store.
func (s *Store) Rewrite(ctx context.Context, sites []*history.Rewrite) error {
	w := rewriting{s: s, sites: sites, now: time.Now()}
	if err := errors.Join(w.packBodies(ctx), w.packChanges()); err != nil {
		return fmt.Errorf("record what was captured: %w", err)
	}
	w.link()
	err := s.Write(ctx, func(tx *Tx) error { return w.run(ctx, tx) })
	if err != nil && !errors.Is(err, errRewritten) {
		return fmt.Errorf("record what was captured: %w", err)
	}
	return nil
}

// errRewritten ends an attempt that finds everything written: a commit whose
// answer never came may have happened.
var errRewritten = errors.New("written already")

// rewriting is one transaction of a backfill.
type rewriting struct {
	s      *Store
	sites  []*history.Rewrite
	now    time.Time
	bodies [][]any          // rows to insert
	seen   [][]any          // of the bodies that are kept already
	packed [][]packedChange // by site
	heads  []evidence.Mark  // of their chains
}

// link chains the runs of each site anew.
func (w *rewriting) link() {
	w.heads = make([]evidence.Mark, len(w.sites))
	for i, site := range w.sites {
		var until time.Time
		for j := range site.Runs {
			r := &site.Runs[j]
			w.heads[i] = w.heads[i].Next(until, evidence.Digest(evidence.RecordOf(site.Config.Origin, r).Text()))
			until = r.LastAt
		}
	}
}

// packBodies finds out which bodies the store lacks, and packs those.
func (w *rewriting) packBodies(ctx context.Context) error {
	all := make(map[watcher.Hash][]byte)
	for _, site := range w.sites {
		for h, body := range site.Bodies {
			all[h] = body
		}
	}
	hashes := make([]watcher.Hash, 0, len(all))
	for h := range all {
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(a, b watcher.Hash) int { return slices.Compare(a[:], b[:]) })
	now := toMillis(w.now)
	for chunk := range slices.Chunk(hashes, pageSize) {
		marks, args := make([]string, len(chunk)), make([]any, len(chunk))
		for i := range chunk {
			marks[i], args[i] = fmt.Sprintf("$%d", i+1), chunk[i][:]
		}
		rows, err := w.s.Query(ctx, "SELECT sha256 FROM bodies WHERE length(data) > 0 AND sha256 IN ("+strings.Join(marks, ", ")+")", args...)
		if err != nil {
			return err
		}
		kept := make(map[watcher.Hash]bool)
		if err := each(rows, func(scan Scan) error {
			var h []byte
			err := scan(&h)
			if len(h) == len(watcher.Hash{}) {
				kept[watcher.Hash(h)] = true
			}
			return err
		}); err != nil {
			return err
		}
		for _, h := range chunk {
			if kept[h] {
				w.seen = append(w.seen, []any{h[:], now, now - seenStep.Milliseconds()})
			} else {
				w.bodies = append(w.bodies, []any{h[:], int64(len(all[h])), now, packBody(all[h])})
			}
		}
	}
	return nil
}

// packChanges packs the events of all sites, side by side.
func (w *rewriting) packChanges() error {
	w.packed = make([][]packedChange, len(w.sites))
	return inParts(len(w.sites), func(i int) (err error) {
		w.packed[i], err = packChanges(w.sites[i].Changes)
		return err
	})
}

func (w *rewriting) run(ctx context.Context, tx *Tx) error {
	if _, err := tx.InsertMany(ctx, insertBodies, "(?, ?, ?, ?)", orSeeBody, w.bodies); err != nil {
		return err
	}
	if _, err := tx.ExecMany(ctx, touchBody, w.seen); err != nil {
		return err
	}
	bodies, err := w.bodyIDs(ctx, tx)
	if err != nil {
		return err
	}
	ids, err := w.siteIDs(ctx, tx)
	if err != nil {
		return err
	}
	if err := w.clear(ctx, tx, ids); err != nil {
		return err
	}
	var runs, changes, chains [][]any
	for i, site := range w.sites {
		for j := range site.Runs {
			r := &site.Runs[j]
			packed, err := packEvidence(site.Config.Origin, r.Evidence)
			if err != nil {
				return err
			}
			runs = append(runs, observationRow(ids[i], site.Config.Origin, r, toMillis(r.LastAt), packed,
				evidence.Mark{Position: int64(j + 1)}, bodies))
		}
		chains = append(chains, []any{ids[i], w.heads[i].Position, linkOf(w.heads[i])})
		for j := range w.packed[i] {
			row, err := w.s.changeArgs(ctx, tx, ids[i], &w.packed[i][j], bodies)
			if err != nil {
				return err
			}
			changes = append(changes, row)
		}
	}
	inserted, err := insertObservations(ctx, tx, runs)
	if err != nil {
		return err
	}
	if inserted < int64(len(runs)) {
		return ErrWatchedMeanwhile
	}
	if _, err := tx.ExecMany(ctx, rewriteChain, chains); err != nil {
		return err
	}
	return insertChanges(ctx, tx, changes)
}

func (w *rewriting) bodyIDs(ctx context.Context, tx *Tx) (map[watcher.Hash]int64, error) {
	var named, told []watcher.Hash
	for i, site := range w.sites {
		for j := range site.Runs {
			named = append(named, site.Runs[j].Body)
		}
		for j := range w.packed[i] {
			told = append(told, w.packed[i][j].before, w.packed[i][j].after)
		}
	}
	return bodyIDs(ctx, tx, named, told)
}

// siteIDs finds the sites; those that are new become inactive and stay
// pending: nobody has looked at them.
func (w *rewriting) siteIDs(ctx context.Context, tx *Tx) ([]int64, error) {
	adds, finds := make([][]any, len(w.sites)), make([][]any, len(w.sites))
	for i, site := range w.sites {
		adds[i] = []any{site.Config.Origin, toMillis(w.now)}
		finds[i] = []any{site.Config.Origin}
	}
	if _, err := tx.ExecMany(ctx, `INSERT INTO sites (origin, active, state_since) VALUES ($1, 0, $2)
		ON CONFLICT (origin) DO NOTHING`, adds); err != nil {
		return nil, err
	}
	ids := make([]int64, len(w.sites))
	err := tx.QueryMany(ctx, "SELECT id FROM sites WHERE origin = $1", finds, func(i int, scan Scan) error { return scan(&ids[i]) })
	return ids, err
}

// clear removes what earlier backfills recorded of the sites.
func (w *rewriting) clear(ctx context.Context, tx *Tx, ids []int64) error {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{id}
	}
	removed, err := tx.ExecMany(ctx, "DELETE FROM observations WHERE site_id = $1 AND backfill > 0", rows)
	if err != nil {
		return err
	}
	var again [][]any
	var rewritten []*history.Rewrite
	for i, site := range w.sites {
		if removed[i] != int64(site.Was) {
			ours, err := w.written(ctx, tx, ids)
			switch {
			case err != nil:
				return err
			case ours:
				return errRewritten
			}
			return fmt.Errorf("%s: %w", site.Config.Origin, ErrBackfilledMeanwhile)
		}
		if site.Was > 0 {
			again, rewritten = append(again, []any{ids[i]}), append(rewritten, site)
		}
	}
	var doomed [][]any
	err = tx.QueryMany(ctx, "SELECT "+changeColumns+" FROM changes WHERE site_id = $1", again, func(i int, scan Scan) error {
		var r changeRow
		if err := r.scan(scan); err != nil {
			return err
		}
		c, err := r.change()
		if err == nil && rewritten[i].Replaces(c) {
			doomed = append(doomed, []any{r.key})
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = tx.ExecMany(ctx, "DELETE FROM changes WHERE id = $1", doomed)
	return err
}

// written reports whether the chains of all sites end as they shall, which they
// do with these very runs only.
func (w *rewriting) written(ctx context.Context, tx *Tx, ids []int64) (bool, error) {
	args := make([][]any, len(ids))
	for i, id := range ids {
		args[i] = []any{id, w.heads[i].Position, linkOf(w.heads[i])}
	}
	left := len(ids)
	err := tx.QueryMany(ctx, `SELECT 1 FROM chains WHERE site_id = $1 AND archive = 1 AND dropped = 0 AND length = $2
		AND head IS NOT DISTINCT FROM CAST($3 AS {{blob}})`, args, func(int, Scan) error { left--; return nil })
	return left == 0, err
}

// compactShare of all changes must be new for a file to be put in order.
const compactShare = 4

// Compact implements history.Store. What comes site by site leaves the pages of
// what is kept in order of time two thirds full, so a SQLite file that consists
// to a good part of it is written anew, unless a daemon is at work on it. The
// copy is made in a file for that time, since it may be larger than memory.
func (s *Store) Compact(ctx context.Context, changes int64) error {
	if s.d.name != sqliteDialect.name {
		return nil
	}
	var all int64
	if err := s.QueryRow(ctx, "SELECT count(*) FROM changes").Scan(&all); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	if changes*compactShare < all {
		return nil
	}
	if !s.opts.Daemon {
		release, err := lockFile(s.lockPath)
		if errors.Is(err, ErrInUse) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("compact: %w", err)
		}
		defer release()
	}
	tx, release, err := s.writer(ctx)
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	defer release()
	for _, st := range []string{"PRAGMA temp_store = FILE", "VACUUM"} {
		if _, err = tx.conn.ExecContext(ctx, st); err != nil {
			break
		}
	}
	if _, e := tx.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA temp_store = MEMORY"); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}
