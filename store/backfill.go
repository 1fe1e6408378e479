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

// ErrBackfilledMeanwhile is that two backfills met at one site.
var ErrBackfilledMeanwhile = errors.New("another backfill wrote the same site meanwhile: run one at a time")

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
	if err := w.packBodies(ctx); err != nil {
		return fmt.Errorf("record what was captured: %w", err)
	}
	w.link()
	if err := s.Write(ctx, func(tx *Tx) error { return w.run(ctx, tx) }); err != nil {
		return fmt.Errorf("record what was captured: %w", err)
	}
	return nil
}

// rewriting is one transaction of a backfill.
type rewriting struct {
	s      *Store
	sites  []*history.Rewrite
	now    time.Time
	bodies [][]any // arguments of insertBody
	seen   [][]any // of the bodies that are kept already
	chains [][]evidence.Mark
}

// link chains the runs of each site anew.
func (w *rewriting) link() {
	w.chains = make([][]evidence.Mark, len(w.sites))
	for i, site := range w.sites {
		var mark evidence.Mark
		var until time.Time
		for j := range site.Runs {
			r := &site.Runs[j]
			mark = mark.Next(until, evidence.Digest(evidence.RecordOf(site.Config.Origin, r).Text()))
			w.chains[i], until = append(w.chains[i], mark), r.LastAt
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
		rows, err := w.s.Query(ctx, "SELECT sha256 FROM bodies WHERE sha256 IN ("+strings.Join(marks, ", ")+")", args...)
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
				w.bodies = append(w.bodies, []any{h[:], int64(len(all[h])), now, packBody(all[h]), now - seenStep.Milliseconds()})
			}
		}
	}
	return nil
}

func (w *rewriting) run(ctx context.Context, tx *Tx) error {
	if _, err := tx.ExecMany(ctx, insertBody, w.bodies); err != nil {
		return err
	}
	if _, err := tx.ExecMany(ctx, touchBody, w.seen); err != nil {
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
			runs = append(runs, observationRow(ids[i], site.Config.Origin, r, toMillis(r.LastAt), packed, w.chains[i][j]))
		}
		chains = append(chains, []any{ids[i], len(site.Runs)})
		for j := range site.Changes {
			row, err := w.s.changeRow(ctx, tx, ids[i], &site.Changes[j])
			if err != nil {
				return err
			}
			changes = append(changes, row)
		}
	}
	inserted, err := tx.ExecMany(ctx, insertObservation, runs)
	if err != nil {
		return err
	}
	if slices.Contains(inserted, 0) {
		return ErrWatchedMeanwhile
	}
	if _, err := tx.ExecMany(ctx, rewriteChain, chains); err != nil {
		return err
	}
	_, err = tx.ExecMany(ctx, insertChange, changes)
	return err
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
			return fmt.Errorf("%s: %w", site.Config.Origin, ErrBackfilledMeanwhile)
		}
		if site.Was > 0 {
			again, rewritten = append(again, []any{ids[i]}), append(rewritten, site)
		}
	}
	var doomed [][]any
	err = tx.QueryMany(ctx, "SELECT id, data FROM changes WHERE site_id = $1", again, func(i int, scan Scan) error {
		var id string
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		c, err := unpackChange(data)
		if rewritten[i].Replaces(c) {
			doomed = append(doomed, []any{id})
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = tx.ExecMany(ctx, "DELETE FROM changes WHERE id = $1", doomed)
	return err
}
