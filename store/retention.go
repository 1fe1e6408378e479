package store

import (
	"context"
	"errors"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
)

// How much one transaction of a retention touches at most, unless one site has
// more: others wait for it.
const (
	droppedAtOnce = 2000 // runs that go
	sitesAtOnce   = 200  // whose runs are read
)

// doomed joins what selects from observations, and lets through the runs of a
// range of sites that ended before $3. Of a chain only a beginning goes: no
// later record stays behind an earlier one, whatever a clock said.
const doomed = ` LEFT JOIN (SELECT site_id AS of_site, CASE WHEN backfill > 0 THEN 1 ELSE 0 END AS of_archive, min(seq) AS first_kept
		FROM observations WHERE site_id > $1 AND site_id <= $2 AND seq > 0 AND (last_at = 0 OR last_at >= $3) GROUP BY 1, 2) kept
	ON of_site = observations.site_id AND of_archive = CASE WHEN observations.backfill > 0 THEN 1 ELSE 0 END
	WHERE observations.site_id > $1 AND observations.site_id <= $2 AND observations.last_at <> 0 AND observations.last_at < $3
	AND (observations.seq < 1 OR first_kept IS NULL OR observations.seq < first_kept)`

// noteDropped keeps the last links of what dropRuns removes of live chains.
const noteDropped = `INSERT INTO chains (site_id, archive, dropped, dropped_link, dropped_last_at)
	SELECT d.site_id, 0, d.seq, d.link, d.last_at FROM (
		SELECT observations.site_id, observations.seq, observations.link, observations.last_at,
			ROW_NUMBER() OVER (PARTITION BY observations.site_id ORDER BY observations.seq DESC) AS n
		FROM observations` + doomed + ` AND observations.seq > 0 AND observations.backfill = 0) d
	WHERE d.n = 1
	ON CONFLICT (site_id, archive) DO UPDATE SET dropped = excluded.dropped, dropped_link = excluded.dropped_link,
		dropped_last_at = excluded.dropped_last_at`

const dropRuns = `DELETE FROM observations WHERE (site_id, at) IN (SELECT observations.site_id, observations.at
	FROM observations` + doomed + `)`

// dropObservations removes runs that ended before a time. The open run of a
// site stays, however old, and what is left of a chain is its end: what is
// noted of it and what is removed are the same, though looks may end runs
// meanwhile.
func (s *Store) dropObservations(ctx context.Context, before time.Time) (dropped int64, err error) {
	err = s.byPages(ctx, "sites", func(after, upTo int64) (bool, error) {
		sites, err := s.endedRuns(ctx, after, upTo, toMillis(before))
		if err != nil {
			return false, err
		}
		for _, r := range inPortions(sites) {
			n, err := s.dropOf(ctx, r, toMillis(before))
			if err != nil {
				return false, err
			}
			dropped += n
		}
		return true, nil
	})
	return dropped, err
}

// siteEnded is how many runs of a site ended before a time.
type siteEnded struct{ site, runs int64 }

func (s *Store) endedRuns(ctx context.Context, after, upTo, before int64) (list []siteEnded, err error) {
	rows, err := s.Query(ctx, `SELECT site_id, count(*) FROM observations WHERE site_id > $1 AND site_id <= $2
		AND last_at <> 0 AND last_at < $3 GROUP BY site_id ORDER BY site_id`, after, upTo, before)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var e siteEnded
		err := scan(&e.site, &e.runs)
		list = append(list, e)
		return err
	})
	return list, err
}

// idRange is (after, upTo].
type idRange struct{ after, upTo int64 }

// inPortions divides sites into ranges for one transaction each.
func inPortions(sites []siteEnded) (list []idRange) {
	var runs int64
	for i, e := range sites {
		if i == 0 || runs+e.runs > droppedAtOnce || e.site-list[len(list)-1].after > sitesAtOnce {
			list = append(list, idRange{after: e.site - 1})
			runs = 0
		}
		list[len(list)-1].upTo = e.site
		runs += e.runs
	}
	return list
}

func (s *Store) dropOf(ctx context.Context, r idRange, before int64) (n int64, err error) {
	err = s.writeAtOneMoment(ctx, func(tx *Tx) (err error) {
		if _, err = tx.Exec(ctx, noteDropped, r.after, r.upTo, before); err != nil {
			return err
		}
		if err = noteDroppedArchives(ctx, tx, r.after, r.upTo, before); err != nil {
			return err
		}
		n, err = tx.Exec(ctx, dropRuns, r.after, r.upTo, before)
		return err
	})
	return n, err
}

// noteDroppedArchives keeps the last links of what dropRuns removes of archives,
// which have to be computed. What is damaged leads to a link that does not fit
// the end of the chain, as before.
func noteDroppedArchives(ctx context.Context, tx *Tx, after, upTo, before int64) error {
	rows, err := tx.Query(ctx, "SELECT "+observationColumns+", observations.site_id, dropped, dropped_link, dropped_last_at"+fromObservations+
		"JOIN chains ON chains.site_id = observations.site_id AND chains.archive = 1"+doomed+
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
