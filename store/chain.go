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

// ChainAt gives what was last seen of a site at a time, and the chain that it is
// in: both as they are at one moment, whatever retention or a backfill does
// meanwhile. watcher.ErrNotFound before the first look.
func (s *Store) ChainAt(ctx context.Context, origin string, at time.Time) (run watcher.Observation, c evidence.Chain, err error) {
	err = s.atOneMoment(ctx, func(q Queryer) (err error) {
		if run, err = lastObservation(ctx, q, origin, at); err == nil {
			c, _, err = readChain(ctx, q, origin, run.Backfill)
		}
		return err
	})
	return run, c, err
}

// readChain reads one of the two chains of a site, and how many of its runs
// were recorded before there were chains.
func readChain(ctx context.Context, q Queryer, origin string, archive bool) (c evidence.Chain, unchained int, err error) {
	c.Site, c.Archive = origin, archive
	if err = readEnds(ctx, q, &c); err == nil {
		unchained, err = readLinks(ctx, q, &c)
	}
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
