package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/watcher"
)

// observationsHold checks runs and chains site by site, each as it is at one
// moment.
func (c *checker) observationsHold(ctx context.Context) error {
	return c.s.byPages(ctx, "sites", func(after, upTo int64) (bool, error) {
		return true, c.s.atOneMoment(ctx, func(q Queryer) error { return c.pageHolds(ctx, q, after, upTo) })
	})
}

// pageHolds checks the runs and chains of some sites.
func (c *checker) pageHolds(ctx context.Context, q Queryer, after, upTo int64) error {
	kept, err := chains(ctx, q, after, upTo)
	if err != nil {
		return err
	}
	rows, err := q.Query(ctx, "SELECT "+observationColumns+`, observations.site_id, observations.last_at, observations.body_id,
			observations.seq, observations.link, sites.observed_at`+fromObservations+
		"WHERE observations.site_id > $1 AND observations.site_id <= $2 ORDER BY observations.site_id, observations.at", after, upTo)
	if err != nil {
		return err
	}
	var site siteRuns
	if err := each(rows, func(scan Scan) error {
		var r keptRun
		var err error
		var id, observed int64
		r.Run, r.origin, err = scanObservation(scan, &id, &r.end, &r.body, &r.seq, &r.link, &observed)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		r.corrupt = err
		if id != site.id {
			if err := c.siteHolds(ctx, &site, kept); err != nil {
				return err
			}
			site = siteRuns{id: id, origin: r.origin, observed: observed}
		}
		site.runs = append(site.runs, r)
		return nil
	}); err != nil {
		return err
	}
	if err := c.siteHolds(ctx, &site, kept); err != nil {
		return err
	}
	for key, row := range kept { // of sites without any run
		c.chainHolds(&siteRuns{id: key.site, origin: row.origin}, key.archive, row, true)
	}
	return nil
}

// keptRun is a row of observations.
type keptRun struct {
	evidence.Link
	origin         string
	end, body, seq int64
	link           []byte
	corrupt        error // of its evidence
}

// siteRuns is all that is kept of a site, in order of time.
type siteRuns struct {
	id       int64
	origin   string
	observed int64
	runs     []keptRun
}

type chainKey struct {
	site    int64
	archive bool
}

type chainRow struct {
	beginning
	origin string
	length int64
	head   []byte
}

func chainName(archive bool) string {
	if archive {
		return evidence.Archive
	}
	return evidence.Live
}

// chains reads the rows of some sites.
func chains(ctx context.Context, q Queryer, after, upTo int64) (map[chainKey]chainRow, error) {
	rows, err := q.Query(ctx, `SELECT dropped, dropped_link, dropped_last_at, length, head, archive, site_id, origin
		FROM chains JOIN sites ON sites.id = chains.site_id WHERE site_id > $1 AND site_id <= $2`, after, upTo)
	if err != nil {
		return nil, err
	}
	kept := make(map[chainKey]chainRow)
	err = each(rows, func(scan Scan) error {
		var k chainKey
		var r chainRow
		var archive int64
		err := r.scan(scan, &r.length, &r.head, &archive, &k.site, &r.origin)
		k.archive = archive != 0
		kept[k] = r
		return err
	})
	return kept, err
}

// siteHolds checks the runs of a site, and takes the rows of its chains out of
// those that are left.
func (c *checker) siteHolds(ctx context.Context, site *siteRuns, left map[chainKey]chainRow) error {
	if site.id == 0 {
		return nil
	}
	var lastEnd int64
	for i := range site.runs {
		r := &site.runs[i]
		when := r.Run.At.Format("2006-01-02T15:04:05Z")
		if r.body != 0 {
			if there, err := c.there(ctx, c.bodies, keptBodies, r.body); err != nil {
				return err
			} else if !there {
				c.problem("run body", r.origin, fmt.Sprintf("body %d, seen at %s, is missing", r.body, when))
			}
		}
		if r.corrupt != nil {
			c.problem("evidence", r.origin, r.corrupt.Error())
		}
		at, open := toMillis(r.Run.At), toMillis(r.Run.At) == site.observed
		if at < lastEnd || r.end != 0 && r.end < at {
			c.problem("overlap", r.origin, "the observation of "+when+" overlaps another or ends before it begins")
		}
		if open != (r.end == 0) {
			c.problem("open", r.origin, "the observation of "+when+" never ended, or ended and is still open")
		}
		lastEnd = max(at, r.end)
	}
	for _, archive := range []bool{false, true} {
		key := chainKey{site.id, archive}
		row, noted := left[key]
		delete(left, key)
		c.chainHolds(site, archive, row, noted)
	}
	return nil
}

// chainHolds checks one chain of a site; noted: it has a row.
func (c *checker) chainHolds(site *siteRuns, archive bool, row chainRow, noted bool) {
	chain := evidence.Chain{Site: site.origin, Dropped: row.mark(), Until: fromMillis(row.lastAt), Archive: archive, End: markOf(row.length, row.head)}
	if row.dropped < 0 || (row.dropped == 0) != (row.link == nil) || row.dropped == 0 && row.lastAt != 0 {
		c.problem("chain", site.origin, "what was dropped of its "+chainName(archive)+" chain does not fit together")
	}
	if row.length < 0 || (row.length == 0) != (row.head == nil) || !archive && row.length != 0 {
		c.problem("chain", site.origin, "the end of its "+chainName(archive)+" chain does not fit together")
	}
	unchained := 0
	var last *keptRun
	for i := range site.runs {
		r := &site.runs[i]
		if r.Run.Backfill != archive {
			continue
		}
		if r.seq == beforeChains && r.link == nil {
			unchained++
			continue
		}
		linked := len(r.link) == len(watcher.Hash{})
		if archive {
			linked = r.link == nil
		}
		if r.seq < 1 || !linked || r.Run.Looks < 0 {
			c.problem("link", site.origin, "the observation of "+r.Run.At.Format(time.RFC3339)+" has no place in a chain")
			continue
		}
		r.Mark = markOf(r.seq, r.link)
		chain.Links = append(chain.Links, r.Link)
		if last == nil || r.seq > last.seq {
			last = r
		}
	}
	for _, b := range chain.Breaks() {
		c.problem("chain", site.origin, b)
	}
	switch {
	case archive && noted && unchained > 0:
		c.problem("chain", site.origin, fmt.Sprintf("%d observations from archives are not in its chain", unchained))
	case !archive && last != nil && toMillis(last.Run.At) != site.observed, !archive && noted && last == nil:
		c.problem("chain", site.origin, fmt.Sprintf("its chain ends with record %d, which is not the open observation", chain.Head().Position))
	}
}

// beforeChains is observations.seq of what was recorded before there were
// chains.
const beforeChains = -1
