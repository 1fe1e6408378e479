package store

import (
	"context"
	"fmt"
	"slices"

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

// Record implements watcher.Store.
func (s *Store) Record(ctx context.Context, results []watcher.Result) (lost int, err error) {
	if len(results) == 0 {
		return 0, nil
	}
	batch, err := prepare(results)
	if err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	write := s.Write
	if slices.ContainsFunc(results, func(r watcher.Result) bool { return len(r.Changes) > 0 }) {
		write = s.WriteDurably
	}
	err = write(ctx, func(tx *Tx) (err error) {
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
	r := recording{s: s, tx: tx, kept: kept}
	for _, step := range []func(context.Context) error{
		r.recordProfiles, r.recordBodies, r.findBodies, r.recordObservations, r.recordMoves, r.recordChanges, r.recordStandings,
	} {
		if err := step(ctx); err != nil {
			return 0, err
		}
	}
	return lost, nil
}

// recording is a transaction that records results other than quiet ones.
type recording struct {
	s      *Store
	tx     *Tx
	kept   []*outcome
	bodies map[watcher.Hash]int64 // rows of those that the batch names
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

func (r *recording) recordProfiles(ctx context.Context) (err error) {
	for _, o := range r.kept {
		o.to = o.from
		o.to.state, o.to.phase = o.Site.State, phaseOf(&o.Site)
		if slices.Equal(o.Lease.Site.Profile, o.Site.Profile) && o.Lease.Site.Memory.Watch == o.Site.Memory.Watch &&
			slices.Equal(o.Lease.Site.Signals, o.Site.Signals) {
			continue
		}
		if o.to.profile, err = r.s.profileID(ctx, r.tx, profile{o.Site.Memory.Watch, o.Site.Profile, o.Site.Signals}); err != nil {
			return err
		}
	}
	return nil
}

// recordMoves writes where a site stands, where that changed.
func (r *recording) recordMoves(ctx context.Context) error {
	var rows [][]any
	for _, o := range r.kept {
		if !o.moved() {
			continue
		}
		var observed int64
		if o.Observation != nil {
			observed = toMillis(o.Observation.At)
		}
		rows = append(rows, []any{o.Lease.Site.ID, string(o.to.state), int64(o.to.phase), o.to.profile, observed,
			toInt(o.Site.Body == o.Lease.Site.Body), r.bodies[o.Site.Body]})
	}
	_, err := r.tx.ExecMany(ctx, `UPDATE sites SET state = $2, phase = $3, profile_id = $4,
		observed_at = CASE WHEN CAST($5 AS BIGINT) = 0 THEN observed_at ELSE CAST($5 AS BIGINT) END,
		body_id = CASE WHEN CAST($6 AS BIGINT) = 1 THEN body_id ELSE CAST($7 AS BIGINT) END
		WHERE id = $1`, rows)
	return err
}
