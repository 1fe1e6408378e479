package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// claimQuery leases the sites that a condition picks. $1 is now (see clock),
// $2 the lease in milliseconds.
const claimQuery = `WITH due AS MATERIALIZED (
	SELECT id FROM sites WHERE active = 1 AND lease_until <= COALESCE(CAST($1 AS BIGINT), {{now}}) AND %s {{skip_locked}}
) UPDATE sites SET lease_until = COALESCE(CAST($1 AS BIGINT), {{now}}) + CAST($2 AS BIGINT), lease_token = lease_token + 1
WHERE id IN (SELECT id FROM due)
RETURNING ` + siteColumns + `, sites.lease_token`

var (
	claimDue = fmt.Sprintf(claimQuery, "next_check_at <= COALESCE(CAST($1 AS BIGINT), {{now}}) ORDER BY next_check_at LIMIT $3")
	// claimFar finds sites planned before the clock was set back: no plan goes
	// further ahead than watcher.MaxGap.
	claimFar    = fmt.Sprintf(claimQuery, "next_check_at > COALESCE(CAST($1 AS BIGINT), {{now}}) + CAST($4 AS BIGINT) ORDER BY next_check_at LIMIT $3")
	claimOrigin = fmt.Sprintf(claimQuery, "origin IN (?)")
)

// Claim implements watcher.Store.
func (s *Store) Claim(ctx context.Context, now time.Time, n int, lease time.Duration) ([]watcher.Lease, error) {
	if n <= 0 {
		return nil, nil
	}
	if err := s.compareClocks(ctx); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	var leases []watcher.Lease
	err := s.Write(ctx, func(tx *Tx) (err error) {
		at, span := s.clock(now), lease.Milliseconds()
		leases, err = s.claim(ctx, tx, claimDue, at, span, n)
		if err == nil && len(leases) < n {
			var far []watcher.Lease
			far, err = s.claim(ctx, tx, claimFar, at, span, n-len(leases), watcher.MaxGap.Milliseconds())
			leases = append(leases, far...)
		}
		if err != nil || len(leases) == 0 {
			return err
		}
		return s.addExpected(ctx, tx, now, leases)
	})
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	slices.SortFunc(leases, func(a, b watcher.Lease) int { return a.Site.NextCheckAt.Compare(b.Site.NextCheckAt) })
	return leases, nil
}

// ClaimSites leases the active sites among origins, due or not, except those
// that are leased to somebody else just now.
func (s *Store) ClaimSites(ctx context.Context, now time.Time, origins []string, lease time.Duration) ([]watcher.Lease, error) {
	asked := make([]any, len(origins))
	for i, origin := range origins {
		asked[i] = origin
	}
	var leases []watcher.Lease
	err := s.Write(ctx, func(tx *Tx) (err error) {
		var c claimed
		err = tx.QueryIn(ctx, claimOrigin, []any{s.clock(now), lease.Milliseconds()}, asked, c.scan)
		if err == nil {
			leases, err = c.leases(ctx, s, tx)
		}
		if err != nil || len(leases) == 0 {
			return err
		}
		return s.addExpected(ctx, tx, now, leases)
	})
	if err != nil {
		return nil, fmt.Errorf("claim sites: %w", err)
	}
	return leases, nil
}

func (s *Store) claim(ctx context.Context, tx *Tx, query string, args ...any) ([]watcher.Lease, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var c claimed
	if err := each(rows, c.scan); err != nil {
		return nil, err
	}
	return c.leases(ctx, s, tx)
}

// claimed are the rows that a claim gave.
type claimed struct {
	rows   []siteRow
	tokens []int64
}

func (c *claimed) scan(scan Scan) error {
	var r siteRow
	var token int64
	if err := r.scan(scan, &token); err != nil {
		return err
	}
	c.rows, c.tokens = append(c.rows, r), append(c.tokens, token)
	return nil
}

func (c *claimed) leases(ctx context.Context, s *Store, tx *Tx) ([]watcher.Lease, error) {
	leases := make([]watcher.Lease, len(c.rows))
	for i := range c.rows {
		if err := s.complete(ctx, tx, &c.rows[i]); err != nil {
			return nil, err
		}
		leases[i] = watcher.Lease{Site: c.rows[i].site, Token: c.tokens[i]}
	}
	return leases, nil
}

// Release implements watcher.Store.
func (s *Store) Release(ctx context.Context, leases []watcher.Lease) error {
	rows := make([][]any, len(leases))
	for i, l := range leases {
		rows[i] = []any{l.Site.ID, l.Token}
	}
	slices.SortFunc(rows, bySiteID)
	err := s.Write(ctx, func(tx *Tx) error {
		_, err := tx.ExecMany(ctx, `UPDATE sites SET lease_until = 0, lease_token = lease_token + 1
			WHERE id = $1 AND lease_token = $2`, rows)
		return err
	})
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// bySiteID orders lists of arguments that begin with a key: transactions that
// lock rows in the same order do not wait for each other in a circle.
func bySiteID(a, b []any) int { return int(a[0].(int64) - b[0].(int64)) }
