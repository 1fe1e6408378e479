package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// observationColumns is what scanObservation reads; of observations joined
// with its site.
const observationColumns = `observations.at, observations.last_at, observations.state, observations.reason, observations.detail,
	observations.status, observations.final_url,
	(SELECT bodies.sha256 FROM bodies WHERE bodies.id = observations.body_id),
	observations.bytes, observations.truncated, observations.backfill, observations.evidence,
	sites.origin, sites.last_check_at`

const fromObservations = " FROM observations JOIN sites ON sites.id = observations.site_id "

func scanObservation(scan Scan) (ob watcher.Observation, origin string, err error) {
	var at, lastAt, truncated, backfill, lastCheck int64
	var state, reason string
	var hash, evidence []byte
	if err := scan(&at, &lastAt, &state, &reason, &ob.Detail, &ob.Status, &ob.FinalURL, &hash,
		&ob.Bytes, &truncated, &backfill, &evidence, &origin, &lastCheck); err != nil {
		return ob, "", err
	}
	if lastAt == 0 {
		lastAt = max(at, lastCheck)
	}
	if ob.FinalURL == "" && ob.Status != 0 {
		ob.FinalURL = usualURL(origin)
	}
	ob.At, ob.LastAt = fromMillis(at), fromMillis(lastAt)
	ob.State, ob.Reason = fetch.State(state), fetch.Reason(reason)
	ob.Truncated, ob.Backfill = truncated != 0, backfill != 0
	copy(ob.Body[:], hash)
	ob.Evidence, err = unpackEvidence(origin, evidence)
	return ob, origin, err
}

// Observations gives up to limit runs of a site that began in [since, until),
// newest first. Zero times are no bounds; limit 0 is no limit.
func (s *Store) Observations(ctx context.Context, origin string, since, until time.Time, limit int) ([]watcher.Observation, error) {
	query := "SELECT " + observationColumns + fromObservations +
		"WHERE sites.origin = $1 AND observations.at >= $2 AND observations.at < $3 ORDER BY observations.at DESC"
	if limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", limit)
	}
	end := toMillis(until)
	if until.IsZero() {
		end = forever
	}
	rows, err := s.Query(ctx, query, origin, toMillis(since), end)
	if err != nil {
		return nil, fmt.Errorf("observations of %s: %w", origin, err)
	}
	var runs []watcher.Observation
	err = each(rows, func(scan Scan) error {
		ob, _, err := scanObservation(scan)
		runs = append(runs, ob)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("observations of %s: %w", origin, err)
	}
	return runs, nil
}

// forever is later than any time that is stored.
const forever = int64(1) << 62

// ObservationAt gives the run that was open at a time: what was last seen
// then. watcher.ErrNotFound before the first look.
func (s *Store) ObservationAt(ctx context.Context, origin string, at time.Time) (watcher.Observation, error) {
	return s.lastObservation(ctx, origin, at, "")
}

// ReadableAt is ObservationAt among the readable answers: the one that says
// what the site wanted then.
func (s *Store) ReadableAt(ctx context.Context, origin string, at time.Time) (watcher.Observation, error) {
	return s.lastObservation(ctx, origin, at, " AND observations.state IN ('policy', 'absent')")
}

func (s *Store) lastObservation(ctx context.Context, origin string, at time.Time, and string) (watcher.Observation, error) {
	ob, _, err := scanObservation(s.QueryRow(ctx, "SELECT "+observationColumns+fromObservations+
		"WHERE sites.origin = $1 AND observations.at <= $2"+and+" ORDER BY observations.at DESC LIMIT 1",
		origin, toMillis(at)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = watcher.ErrNotFound
	}
	if err != nil {
		return ob, fmt.Errorf("observation of %s at %s: %w", origin, at.UTC().Format(time.RFC3339), err)
	}
	return ob, nil
}

// ChangeByID gives one change, or watcher.ErrNotFound.
func (s *Store) ChangeByID(ctx context.Context, id string) (watcher.Change, error) {
	var data []byte
	err := s.QueryRow(ctx, "SELECT data FROM changes WHERE id = $1", id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		err = watcher.ErrNotFound
	}
	if err != nil {
		return watcher.Change{}, fmt.Errorf("change %s: %w", id, err)
	}
	return unpackChange(data)
}

// Changes gives one page of the changes that a filter selects, newest first.
func (s *Store) Changes(ctx context.Context, f watcher.ChangeFilter) ([]watcher.Change, error) {
	var page []watcher.Change
	for c, err := range s.WalkChanges(ctx, f) {
		if err != nil {
			return nil, err
		}
		page = append(page, c)
	}
	return page, nil
}

// WalkChanges walks the changes that a filter selects, newest first, reading a
// page at a time. After an error it ends.
func (s *Store) WalkChanges(ctx context.Context, f watcher.ChangeFilter) iter.Seq2[watcher.Change, error] {
	return func(yield func(watcher.Change, error) bool) {
		left := f.Limit
		for {
			size := pageSize
			if left > 0 {
				size = min(size, left)
			}
			page, err := s.changesPage(ctx, f, size)
			if err != nil {
				yield(watcher.Change{}, fmt.Errorf("changes: %w", err))
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if len(page) < size {
				return
			}
			f.Before = page[len(page)-1].ID
		}
	}
}

func (s *Store) changesPage(ctx context.Context, f watcher.ChangeFilter, size int) (page []watcher.Change, err error) {
	where, args, err := s.changeConditions(ctx, f)
	if err != nil {
		return nil, err
	}
	rows, err := s.Query(ctx, "SELECT changes.data FROM changes WHERE "+strings.Join(where, " AND ")+
		fmt.Sprintf(" ORDER BY changes.id DESC LIMIT %d", size), args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var data []byte
		if err := scan(&data); err != nil {
			return err
		}
		c, err := unpackChange(data)
		page = append(page, c)
		return err
	})
	return page, err
}

// changeConditions is a filter as SQL over changes.
func (s *Store) changeConditions(ctx context.Context, f watcher.ChangeFilter) (where []string, args []any, err error) {
	arg := func(condition string, v any) {
		args = append(args, v)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	before := f.Before
	if !f.Until.IsZero() {
		if end := idBound(f.Until); before == "" || end < before {
			before = end
		}
	}
	if before == "" {
		before = "~" // greater than any id
	}
	arg("changes.id < $%d", before)
	if !f.Since.IsZero() {
		arg("changes.id >= $%d", idBound(f.Since))
	}
	if f.Site != "" {
		arg("changes.site_id = (SELECT id FROM sites WHERE origin = $%d)", f.Site)
	}
	if f.Agent != "" {
		how, err := s.byAgent(ctx, strings.ToLower(f.Agent))
		if err != nil {
			return nil, nil, err
		}
		arg(how, joinSet([]string{strings.ToLower(f.Agent)}))
	}
	if f.Tag != "" {
		how, err := s.byTag(ctx, f.Tag)
		if err != nil {
			return nil, nil, err
		}
		arg(how, joinSet([]string{f.Tag}))
	}
	if f.Severity != "" {
		arg("changes.severity >= $%d", severityRank(f.Severity))
	}
	switch {
	case len(f.Kinds) > 0:
		names := make([]string, len(f.Kinds))
		for i, k := range f.Kinds {
			args = append(args, string(k))
			names[i] = fmt.Sprintf("$%d", len(args))
		}
		where = append(where, "changes.kind IN ("+strings.Join(names, ", ")+")")
	case !f.Cosmetic:
		where = append(where, "changes.kind <> 'cosmetic'")
	}
	return where, args, nil
}

// idBound is the least id of changes at or after a time.
func idBound(t time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(uint64(max(t.UnixMilli(), 0))); err != nil {
		return "~" // beyond the year 10889
	}
	return id.String()
}
