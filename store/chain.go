package store

import (
	"context"
	"errors"
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

// linkOf is a link as a row keeps it: one that is zero is not kept.
func linkOf(m evidence.Mark) []byte {
	if m.Link.IsZero() {
		return nil
	}
	return m.Link[:]
}

// after is the place of a record that follows one whose answer was last seen
// at until.
func after(m evidence.Mark, until time.Time, digest watcher.Hash) evidence.Mark {
	if m.Position == 0 {
		until = time.Time{}
	}
	return m.Next(until, digest)
}

// rewriteChain notes that the archive chain of a site was begun anew, and where
// it ends: its links can be computed from its records, so no other is kept.
const rewriteChain = `INSERT INTO chains (site_id, archive, length, head) VALUES ($1, 1, $2, $3)
	ON CONFLICT (site_id, archive) DO UPDATE SET dropped = 0, dropped_link = NULL, dropped_last_at = 0,
		length = excluded.length, head = excluded.head`

// doomed selects runs of a range of sites that ended before $3. Of a chain only
// a beginning goes: no later record stays behind an earlier one, whatever a
// clock said.
const doomed = ` observations.site_id > $1 AND observations.site_id <= $2 AND observations.last_at <> 0 AND observations.last_at < $3
	AND (observations.seq < 1 OR NOT EXISTS (SELECT 1 FROM observations k WHERE k.site_id = observations.site_id
		AND k.seq > 0 AND k.seq < observations.seq
		AND (k.backfill > 0) = (observations.backfill > 0) AND (k.last_at = 0 OR k.last_at >= $3)))`

// noteDropped keeps the last links of what dropRuns removes of live chains.
const noteDropped = `INSERT INTO chains (site_id, archive, dropped, dropped_link, dropped_last_at)
	SELECT d.site_id, 0, d.seq, d.link, d.last_at FROM (
		SELECT observations.site_id, observations.seq, observations.link, observations.last_at,
			ROW_NUMBER() OVER (PARTITION BY observations.site_id ORDER BY observations.seq DESC) AS n
		FROM observations WHERE` + doomed + ` AND observations.seq > 0 AND observations.backfill = 0) d
	WHERE d.n = 1
	ON CONFLICT (site_id, archive) DO UPDATE SET dropped = excluded.dropped, dropped_link = excluded.dropped_link,
		dropped_last_at = excluded.dropped_last_at`

const dropRuns = "DELETE FROM observations WHERE" + doomed

// noteDroppedArchives keeps the last links of what dropRuns removes of archives,
// which have to be computed. What is damaged leads to a link that does not fit
// the end of the chain, as before.
func noteDroppedArchives(ctx context.Context, tx *Tx, after, upTo, before int64) error {
	rows, err := tx.Query(ctx, "SELECT "+observationColumns+", observations.site_id, dropped, dropped_link, dropped_last_at"+fromObservations+
		"JOIN chains ON chains.site_id = observations.site_id AND chains.archive = 1 WHERE"+doomed+
		" AND observations.seq > 0 AND observations.backfill > 0 ORDER BY observations.site_id, observations.seq", after, upTo, before)
	if err != nil {
		return err
	}
	type ending struct {
		site  int64
		mark  evidence.Mark
		until time.Time
	}
	var ends []ending
	if err := each(rows, func(scan Scan) error {
		var id int64
		var b beginning
		run, origin, err := scanObservation(scan, &id, &b.dropped, &b.link, &b.lastAt)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if n := len(ends); n == 0 || ends[n-1].site != id {
			ends = append(ends, ending{id, b.mark(), fromMillis(b.lastAt)})
		}
		e := &ends[len(ends)-1]
		e.mark, e.until = e.mark.Next(e.until, evidence.Digest(evidence.RecordOf(origin, &run).Text())), run.LastAt
		return nil
	}); err != nil {
		return err
	}
	notes := make([][]any, len(ends))
	for i, e := range ends {
		notes[i] = []any{e.site, e.mark.Position, e.mark.Link[:], toMillis(e.until)}
	}
	_, err = tx.ExecMany(ctx, `UPDATE chains SET dropped = $2, dropped_link = $3, dropped_last_at = $4
		WHERE site_id = $1 AND archive = 1`, notes)
	return err
}

// Chain reads one of the two chains of a site, and how many of its runs were
// recorded before there were chains. It is that of one moment, whatever
// retention or a backfill does meanwhile.
func (s *Store) Chain(ctx context.Context, origin string, archive bool) (c evidence.Chain, unchained int, err error) {
	c.Site, c.Archive = origin, archive
	err = s.atOneMoment(ctx, func(q Queryer) (err error) {
		if err = readEnds(ctx, q, &c); err == nil {
			unchained, err = readLinks(ctx, q, &c)
		}
		return err
	})
	if err != nil {
		return c, 0, fmt.Errorf("chain of %s: %w", origin, err)
	}
	return c, unchained, nil
}

// readEnds reads what is kept of a chain beside its runs.
func readEnds(ctx context.Context, q Queryer, c *evidence.Chain) error {
	rows, err := q.Query(ctx, "SELECT dropped, dropped_link, dropped_last_at, length, head FROM chains JOIN sites ON sites.id = chains.site_id "+
		"WHERE sites.origin = $1 AND archive = $2", c.Site, toInt(c.Archive))
	if err != nil {
		return err
	}
	return each(rows, func(scan Scan) error {
		var b beginning
		var length int64
		var head []byte
		err := b.scan(scan, &length, &head)
		c.Dropped, c.Until, c.End = b.mark(), fromMillis(b.lastAt), markOf(length, head)
		return err
	})
}

// readLinks reads the runs of a chain, and counts those without a place in it.
func readLinks(ctx context.Context, q Queryer, c *evidence.Chain) (unchained int, err error) {
	rows, err := q.Query(ctx, "SELECT "+observationColumns+", observations.seq, observations.link"+fromObservations+
		"WHERE sites.origin = $1 AND (observations.backfill > 0) = (CAST($2 AS BIGINT) = 1) ORDER BY observations.seq", c.Site, toInt(c.Archive))
	if err != nil {
		return 0, err
	}
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
	return unchained, err
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
