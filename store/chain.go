package store

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/watcher"
)

// markOf is the place that observations.seq and link tell; the zero value
// where the run was recorded before there were chains.
func markOf(seq int64, link []byte) (m evidence.Mark) {
	if seq > 0 {
		m.Position = seq
		copy(m.Link[:], link)
	}
	return m
}

// after is the place of a record that follows one whose answer was last seen
// at until.
func after(m evidence.Mark, until time.Time, digest watcher.Hash) evidence.Mark {
	if m.Position == 0 {
		until = time.Time{}
	}
	return m.Next(until, digest)
}

// rewriteChain notes that the archive chain of a site was begun anew.
const rewriteChain = `INSERT INTO chains (site_id, archive, length) VALUES ($1, 1, $2)
	ON CONFLICT (site_id, archive) DO UPDATE SET dropped = 0, dropped_link = NULL, dropped_last_at = 0, length = excluded.length`

// doomed selects runs, called o, of a range of sites that ended before $3. Of
// a chain only a beginning goes: no later record stays behind an earlier one,
// whatever a clock said.
const doomed = ` o.site_id > $1 AND o.site_id <= $2 AND o.last_at <> 0 AND o.last_at < $3
	AND (o.seq < 1 OR NOT EXISTS (SELECT 1 FROM observations k WHERE k.site_id = o.site_id AND k.seq > 0 AND k.seq < o.seq
		AND (k.backfill > 0) = (o.backfill > 0) AND (k.last_at = 0 OR k.last_at >= $3)))`

// noteDropped keeps the last links of what dropRuns removes.
const noteDropped = `INSERT INTO chains (site_id, archive, dropped, dropped_link, dropped_last_at)
	SELECT d.site_id, d.archive, d.seq, d.link, d.last_at FROM (
		SELECT o.site_id, CASE WHEN o.backfill > 0 THEN 1 ELSE 0 END AS archive, o.seq, o.link, o.last_at,
			ROW_NUMBER() OVER (PARTITION BY o.site_id, o.backfill > 0 ORDER BY o.seq DESC) AS n
		FROM observations o WHERE` + doomed + ` AND o.seq > 0) d
	WHERE d.n = 1
	ON CONFLICT (site_id, archive) DO UPDATE SET dropped = excluded.dropped, dropped_link = excluded.dropped_link,
		dropped_last_at = excluded.dropped_last_at`

const dropRuns = "DELETE FROM observations AS o WHERE" + doomed

// Chain reads one of the two chains of a site, and how many of its runs were
// recorded before there were chains.
func (s *Store) Chain(ctx context.Context, origin string, archive bool) (c evidence.Chain, unchained int, err error) {
	c.Site = origin
	rows, err := s.Query(ctx, "SELECT dropped, dropped_link, dropped_last_at FROM chains JOIN sites ON sites.id = chains.site_id "+
		"WHERE sites.origin = $1 AND archive = $2", origin, toInt(archive))
	if err == nil {
		err = each(rows, func(scan Scan) error {
			var b beginning
			err := b.scan(scan)
			c.Dropped, c.Until = b.mark(), fromMillis(b.lastAt)
			return err
		})
	}
	if err == nil {
		rows, err = s.Query(ctx, "SELECT "+observationColumns+", observations.seq, observations.link"+fromObservations+
			"WHERE sites.origin = $1 AND (observations.backfill > 0) = (CAST($2 AS BIGINT) = 1) ORDER BY observations.seq", origin, toInt(archive))
	}
	if err == nil {
		err = each(rows, func(scan Scan) error {
			var seq int64
			var link []byte
			run, _, err := scanObservation(scan, &seq, &link)
			if seq > 0 {
				c.Links = append(c.Links, evidence.Link{Mark: markOf(seq, link), Run: run})
			} else {
				unchained++
			}
			return err
		})
	}
	if err != nil {
		return c, 0, fmt.Errorf("chain of %s: %w", origin, err)
	}
	return c, unchained, nil
}

// beginning is a row of chains.
type beginning struct {
	dropped, lastAt int64
	link            []byte
}

func (b *beginning) scan(scan Scan, more ...any) error {
	return scan(append([]any{&b.dropped, &b.link, &b.lastAt}, more...)...)
}

func (b *beginning) mark() evidence.Mark { return markOf(b.dropped, b.link) }

// headPage is how many sites one read of Heads takes.
const headPage = 1000

// Heads walks where the live chains stood at a time, in order of origin: with
// the last record whose answer was first seen before it. Sites without any are
// left out. After an error it ends.
func (s *Store) Heads(ctx context.Context, at time.Time) iter.Seq2[evidence.SiteHead, error] {
	return func(yield func(evidence.SiteHead, error) bool) {
		for after, more := "", true; more; {
			rows, err := s.Query(ctx, fmt.Sprintf(`SELECT s.origin, COALESCE(o.seq, 0), o.link FROM (
					SELECT id, origin FROM sites WHERE origin > $1 ORDER BY origin LIMIT %d) s
				LEFT JOIN observations o ON o.site_id = s.id AND o.at = (SELECT max(at) FROM observations
					WHERE site_id = s.id AND backfill = 0 AND seq > 0 AND at < $2) ORDER BY s.origin`, headPage), after, toMillis(at))
			var page []evidence.SiteHead
			n := 0
			if err == nil {
				err = each(rows, func(scan Scan) error {
					var h evidence.SiteHead
					var seq int64
					var link []byte
					err := scan(&h.Site, &seq, &link)
					if after = h.Site; seq > 0 {
						h.Mark = markOf(seq, link)
						page = append(page, h)
					}
					n++
					return err
				})
			}
			if err != nil {
				yield(evidence.SiteHead{}, fmt.Errorf("heads of chains: %w", err))
				return
			}
			for _, h := range page {
				if !yield(h, nil) {
					return
				}
			}
			more = n == headPage
		}
	}
}
