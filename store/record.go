package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// phase is what else decides what a state means for access, and whether the
// site is unstable.
type phase int64

const (
	settled   phase = iota
	tentative       // a first bad answer, not confirmed yet
	aged            // unreachable beyond watcher.UnreachableLimit

	unstable phase = 4 // is added to the others
)

// of is a phase without unstable.
func (p phase) of() phase { return p &^ unstable }

func phaseOf(site *watcher.Site) (p phase) {
	if site.Unstable() {
		p = unstable
	}
	switch {
	case site.Memory.Tentative:
		return p | tentative
	case site.State == fetch.Unreachable && site.LastCheckAt.Sub(site.StateSince) >= watcher.UnreachableLimit:
		return p | aged
	}
	return p // settled
}

// seenStep is how fine bodies.seen_at is kept: a body that many sites share
// is not written anew for each of them.
const seenStep = time.Hour

// Record implements watcher.Store.
func (s *Store) Record(ctx context.Context, results []watcher.Result) (lost int, err error) {
	if len(results) == 0 {
		return 0, nil
	}
	batch, err := prepare(results)
	if err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	err = s.Write(ctx, func(tx *Tx) (err error) {
		lost, err = s.record(ctx, tx, batch)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("record %d results: %w", len(results), err)
	}
	return lost, nil
}

func (s *Store) record(ctx context.Context, tx *Tx, batch []outcome) (lost int, err error) {
	if err := s.fence(ctx, tx, batch); err != nil {
		return 0, err
	}
	var kept []*outcome
	for i := range batch {
		switch o := &batch[i]; {
		case !o.kept:
			lost++
		case !o.quiet():
			kept = append(kept, o)
		}
	}
	if err := s.noteLook(ctx, tx, batch); err != nil {
		return 0, err
	}
	if lost > 0 {
		if lost, err = s.trulyLost(ctx, tx, batch); err != nil {
			return 0, err
		}
	}
	for _, step := range []func(context.Context, *Tx, []*outcome) error{
		s.recordProfiles, s.recordBodies, s.recordObservations, s.recordMoves, s.recordChanges, s.recordStandings,
	} {
		if err := step(ctx, tx, kept); err != nil {
			return 0, err
		}
	}
	return lost, nil
}

// fence writes what every look changes, and finds out whose lease holds. It
// touches no index but the one of due times.
func (s *Store) fence(ctx context.Context, tx *Tx, batch []outcome) error {
	var quiet, loud []*outcome
	for i := range batch {
		o := &batch[i]
		if o.kept = false; o.quiet() {
			quiet = append(quiet, o)
		} else {
			loud = append(loud, o)
		}
	}
	touched, err := tx.ExecMany(ctx, fenceUpdate, fenceRows(quiet))
	if err != nil {
		return err
	}
	for i, o := range quiet {
		o.kept = touched[i] == 1
	}
	return tx.QueryMany(ctx, fenceLoud, fenceRows(loud), func(i int, scan Scan) error {
		o := loud[i]
		o.kept = true
		o.from = standing{state: o.Lease.Site.State}
		var seq int64
		var link []byte
		err := scan(&o.from.tags, &o.from.agents, &o.from.profile, &o.from.phase, &seq, &link)
		o.before = markOf(seq, link)
		return err
	})
}

const fenceUpdate = `UPDATE sites SET reason = $3, state_since = $4, readable = $5, readable_at = $6, memory = $7,
	last_check_at = $8, last_change_at = $9, next_check_at = $10, lease_until = 0, lease_token = lease_token + 1
	WHERE id = $1 AND lease_token = $2`

// fenceLoud also tells where the site stood, and its chain.
const fenceLoud = fenceUpdate + ` RETURNING tags_id, agents_id, profile_id, phase,
	COALESCE((SELECT o.seq FROM observations o WHERE o.site_id = sites.id AND o.at = sites.observed_at), 0),
	(SELECT o.link FROM observations o WHERE o.site_id = sites.id AND o.at = sites.observed_at)`

func fenceRows(list []*outcome) [][]any {
	rows := make([][]any, len(list))
	for i, o := range list {
		site := &o.Site
		rows[i] = []any{o.Lease.Site.ID, o.Lease.Token,
			string(site.Reason), toMillis(site.StateSince), string(site.Readable), toMillis(site.ReadableAt), o.memory,
			toMillis(site.LastCheckAt), toMillis(site.LastChangeAt), toMillis(site.NextCheckAt)}
	}
	return rows
}

// trulyLost counts the results without a lease, save those that an earlier
// attempt recorded whose commit was not answered.
func (s *Store) trulyLost(ctx context.Context, tx *Tx, batch []outcome) (lost int, err error) {
	var rows [][]any
	for i := range batch {
		if o := &batch[i]; !o.kept {
			rows = append(rows, []any{o.Lease.Site.ID, o.Lease.Token + 1, toMillis(o.Site.LastCheckAt)})
		}
	}
	lost = len(rows)
	err = tx.QueryMany(ctx, "SELECT 1 FROM sites WHERE id = $1 AND lease_token = $2 AND last_check_at = $3", rows,
		func(int, Scan) error { lost--; return nil })
	return lost, err
}

func (s *Store) recordProfiles(ctx context.Context, tx *Tx, kept []*outcome) (err error) {
	for _, o := range kept {
		o.to = o.from
		o.to.state, o.to.phase = o.Site.State, phaseOf(&o.Site)
		if slices.Equal(o.Lease.Site.Profile, o.Site.Profile) && o.Lease.Site.Memory.Watch == o.Site.Memory.Watch &&
			slices.Equal(o.Lease.Site.Signals, o.Site.Signals) {
			continue
		}
		if o.to.profile, err = s.profileID(ctx, tx, profile{o.Site.Memory.Watch, o.Site.Profile, o.Site.Signals}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) recordBodies(ctx context.Context, tx *Tx, kept []*outcome) error {
	var added, referred [][]any
	done := make(map[watcher.Hash]bool)
	add := func(h watcher.Hash, o *outcome) {
		if h.IsZero() || done[h] {
			return
		}
		done[h] = true
		now := toMillis(o.Site.LastCheckAt)
		if o.packed != nil {
			added = append(added, []any{h[:], int64(len(o.Body)), now, o.packed, now - seenStep.Milliseconds()})
		} else {
			referred = append(referred, []any{h[:], now, now - seenStep.Milliseconds()})
		}
	}
	for _, withBytes := range []bool{true, false} {
		for _, o := range kept {
			if o.Observation != nil && (o.packed != nil) == withBytes {
				add(o.Observation.Body, o)
			}
		}
	}
	byHash := func(a, b []any) int { return slices.Compare(a[0].([]byte), b[0].([]byte)) }
	slices.SortFunc(added, byHash)
	slices.SortFunc(referred, byHash)
	if _, err := tx.ExecMany(ctx, insertBody, added); err != nil {
		return err
	}
	_, err := tx.ExecMany(ctx, touchBody, referred)
	return err
}

const (
	insertBody = `INSERT INTO bodies (sha256, size, seen_at, data) VALUES ($1, $2, $3, $4)
		ON CONFLICT (sha256) DO UPDATE SET seen_at = excluded.seen_at WHERE bodies.seen_at < $5`
	touchBody = "UPDATE bodies SET seen_at = $2 WHERE sha256 = $1 AND seen_at < $3"
)

// recordObservations ends the open run and begins the next, linked to it.
func (s *Store) recordObservations(ctx context.Context, tx *Tx, kept []*outcome) error {
	var began []*outcome
	var ends, begins [][]any
	for _, o := range kept {
		if o.Observation == nil {
			continue
		}
		last := o.Lease.Site.LastCheckAt
		if !last.IsZero() {
			ends = append(ends, []any{o.Lease.Site.ID, toMillis(last)})
		}
		began = append(began, o)
		begins = append(begins, observationRow(o.Lease.Site.ID, o.Site.Origin, o.Observation, 0, o.evidence, after(o.before, last, o.digest)))
	}
	if _, err := tx.ExecMany(ctx, `UPDATE observations SET last_at = $2
		WHERE site_id = $1 AND at = (SELECT observed_at FROM sites WHERE id = $1)`, ends); err != nil {
		return err
	}
	inserted, err := tx.ExecMany(ctx, insertObservation, begins)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "null") {
		return fmt.Errorf("an observation refers to a body that is neither kept nor given: %w", err)
	}
	if i := slices.Index(inserted, 0); i >= 0 && err == nil {
		return fmt.Errorf("another answer of %s is recorded for %s", began[i].Site.Origin, began[i].Observation.At.UTC().Format(time.RFC3339Nano))
	}
	return err
}

// insertObservation fails on a body that is not kept: body_id may not be null.
const insertObservation = `INSERT INTO observations (site_id, at, last_at, state, reason, detail, status, final_url,
		body_id, bytes, truncated, backfill, evidence, seq, link)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
		CASE WHEN CAST($9 AS {{blob}}) IS NULL THEN 0 ELSE (SELECT id FROM bodies WHERE sha256 = CAST($9 AS {{blob}})) END,
		$10, $11, $12, $13, $14, $15)
	ON CONFLICT (site_id, at) DO NOTHING`

func observationRow(siteID int64, origin string, ob *watcher.Observation, lastAt int64, packed []byte, link evidence.Mark) []any {
	return []any{siteID, toMillis(ob.At), lastAt, string(ob.State), string(ob.Reason), ob.Detail, int64(ob.Status),
		shortURL(origin, ob.FinalURL), hashArg(ob.Body), ob.Bytes, toInt(ob.Truncated), backfillOf(ob), packed,
		link.Position, link.Link[:]}
}

// backfillOf is how many captures a backfilled run is made of, 0 for a live one.
func backfillOf(ob *watcher.Observation) int64 {
	if !ob.Backfill {
		return 0
	}
	return int64(max(ob.Looks, 1))
}

// hashArg is a hash as an argument; NULL for no body.
func hashArg(h watcher.Hash) any {
	if h.IsZero() {
		return nil
	}
	return h[:]
}

// shortURL leaves the usual final URL out.
func shortURL(origin, finalURL string) string {
	if finalURL == usualURL(origin) {
		return ""
	}
	return finalURL
}

// recordMoves writes where a site stands, where that changed.
func (s *Store) recordMoves(ctx context.Context, tx *Tx, kept []*outcome) error {
	var rows [][]any
	for _, o := range kept {
		if !o.moved() {
			continue
		}
		var observed int64
		if o.Observation != nil {
			observed = toMillis(o.Observation.At)
		}
		rows = append(rows, []any{o.Lease.Site.ID, string(o.to.state), int64(o.to.phase), o.to.profile, observed,
			toInt(o.Site.Body == o.Lease.Site.Body), hashArg(o.Site.Body)})
	}
	_, err := tx.ExecMany(ctx, `UPDATE sites SET state = $2, phase = $3, profile_id = $4,
		observed_at = CASE WHEN CAST($5 AS BIGINT) = 0 THEN observed_at ELSE CAST($5 AS BIGINT) END,
		body_id = CASE WHEN CAST($6 AS BIGINT) = 1 THEN body_id
			WHEN CAST($7 AS {{blob}}) IS NULL THEN 0
			ELSE (SELECT id FROM bodies WHERE sha256 = CAST($7 AS {{blob}})) END
		WHERE id = $1`, rows)
	return err
}

func (s *Store) recordChanges(ctx context.Context, tx *Tx, kept []*outcome) error {
	var changes, deliveries [][]any
	for _, o := range kept {
		for i := range o.Changes {
			r := &o.Changes[i]
			row, err := s.rowOf(ctx, tx, o.Lease.Site.ID, &o.changes[i])
			if err != nil {
				return err
			}
			changes = append(changes, row)
			for _, name := range r.Receivers {
				deliveries = append(deliveries, []any{name, r.Change.ID, o.Lease.Site.ID, r.GroupKey,
					s.clock(o.Site.LastCheckAt)})
			}
		}
	}
	if _, err := tx.ExecMany(ctx, insertChange, changes); err != nil {
		return err
	}
	if len(deliveries) > 0 {
		if err := tx.lockOutbox(ctx); err != nil {
			return err
		}
	}
	_, err := tx.ExecMany(ctx, `INSERT INTO deliveries (receiver, change_id, site_id, group_key, created_at, next_at)
		VALUES ($1, $2, $3, $4, COALESCE(CAST($5 AS BIGINT), {{now}}), COALESCE(CAST($5 AS BIGINT), {{now}}))
		ON CONFLICT (receiver, change_id) DO NOTHING`, deliveries)
	return err
}

const insertChange = `INSERT INTO changes (id, site_id, at, kind, severity, watched, agents_id, data)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`

// changeRow is rowOf for a change that is not packed yet.
func (s *Store) changeRow(ctx context.Context, tx *Tx, siteID int64, c *watcher.Change) ([]any, error) {
	p, err := packChange(c)
	if err != nil {
		return nil, err
	}
	return s.rowOf(ctx, tx, siteID, &p)
}

func (s *Store) rowOf(ctx context.Context, tx *Tx, siteID int64, p *packedChange) ([]any, error) {
	set, err := s.setID(ctx, tx, p.agents)
	if err != nil {
		return nil, err
	}
	return []any{p.ID, siteID, toMillis(p.At), string(p.Kind), p.Severity.Rank(), toInt(p.Watched), set, p.data}, nil
}

// Body implements watcher.Store. A look that found something else waits for
// it, so passing faults are waited out as those of a write are.
func (s *Store) Body(ctx context.Context, h watcher.Hash) ([]byte, error) {
	var data []byte
	err := s.patiently(ctx, func() error {
		return s.QueryRow(ctx, "SELECT data FROM bodies WHERE sha256 = $1", h[:]).Scan(&data)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("body %s: %w", h, watcher.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("body %s: %w", h, err)
	}
	return unpackBody(data, h)
}
