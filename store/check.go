package store

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/robotswatch/robotswatch/watcher"
)

// checkLimit is how many problems of one kind are named.
const checkLimit = 20

// Problem is something that Check found.
type Problem struct {
	Where string // "body 7", "https://example.com"
	What  string
}

func (p Problem) String() string { return p.Where + ": " + p.What }

// Check reads everything and reports what does not fit together: the
// database's own integrity, bodies against their hashes, what was seen against
// its chain, references, packed values, runs that overlap, words that stand for
// nothing, counts against a recount. It may run beside daemons; report is called
// for each problem, for the first few of a kind.
func (s *Store) Check(ctx context.Context, report func(Problem)) error {
	c := checker{s: s, report: report, said: make(map[string]int)}
	for _, step := range []func(context.Context) error{c.integrity, c.bodiesHold, c.sitesHold, c.observationsHold, c.changesHold, c.wordsHold, c.countsHold} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return nil
}

type checker struct {
	s      *Store
	report func(Problem)
	said   map[string]int
	bodies bitmap
}

// problem reports the first few of a kind.
func (c *checker) problem(kind, where, what string) {
	if c.said[kind]++; c.said[kind] <= checkLimit {
		c.report(Problem{where, what})
	} else if c.said[kind] == checkLimit+1 {
		c.report(Problem{"and more", what})
	}
}

// integrity asks the database about itself.
func (c *checker) integrity(ctx context.Context) error {
	if c.s.d.name != sqliteDialect.name {
		return nil // PostgreSQL has checksums and tools of its own
	}
	for _, pragma := range []string{"PRAGMA integrity_check(20)", "PRAGMA foreign_key_check"} {
		rows, err := c.s.Query(ctx, pragma)
		if err != nil {
			return err
		}
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		if err := each(rows, func(scan Scan) error {
			row, dest := receivers(len(columns))
			if err := scan(dest...); err != nil {
				return err
			}
			if row[0] != "ok" {
				c.problem(pragma, "database", fmt.Sprint(row...))
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// pages walks a table's rows.
func (c *checker) pages(ctx context.Context, table, columns string, row func(scan Scan) error) error {
	return c.s.byPages(ctx, table, func(after, upTo int64) (bool, error) {
		rows, err := c.s.Query(ctx, "SELECT "+columns+" FROM "+table+" WHERE id > $1 AND id <= $2 ORDER BY id", after, upTo)
		if err != nil {
			return false, err
		}
		return true, each(rows, row)
	})
}

// there reports whether a table has a row with an id. known are those that had
// been walked; others may have come since.
func (c *checker) there(ctx context.Context, known bitmap, table string, id int64) (there bool, err error) {
	if known.has(id) {
		return true, nil
	}
	err = c.s.QueryRow(ctx, "SELECT count(*) > 0 FROM "+table+" WHERE id = $1", id).Scan(&there)
	return there, err
}

// keptBodies are those of which more than the hash is kept.
const keptBodies = "(SELECT id FROM bodies WHERE length(data) > 0) kept"

func (c *checker) bodiesHold(ctx context.Context) error {
	return c.pages(ctx, "bodies", "id, sha256, size, data", func(scan Scan) error {
		var id, size int64
		var hash, data []byte
		if err := scan(&id, &hash, &size, &data); err != nil {
			return err
		}
		where := fmt.Sprintf("body %d", id)
		if len(hash) != sha256.Size {
			c.problem("hash", where, fmt.Sprintf("its hash has %d octets", len(hash)))
			return nil
		}
		if len(data) == 0 { // only changes name it
			return nil
		}
		c.bodies.add(id)
		body, err := unpackBody(data, watcher.Hash(hash))
		if err != nil {
			c.problem("content", where, err.Error())
		} else if int64(len(body)) != size {
			c.problem("size", where, fmt.Sprintf("has %d octets, not %d", len(body), size))
		}
		return nil
	})
}

func (c *checker) sitesHold(ctx context.Context) error {
	known := make(map[string]bitmap)
	for _, table := range []string{"sets", "profiles"} {
		var ids bitmap
		if err := c.pages(ctx, table, "id", func(scan Scan) error {
			var id int64
			err := scan(&id)
			ids.add(id)
			return err
		}); err != nil {
			return err
		}
		known[table] = ids
	}
	err := c.pages(ctx, "sites", siteColumns+`, body_id, observed_at,
		(SELECT count(*) FROM observations o WHERE o.site_id = sites.id AND o.at = sites.observed_at)`, func(scan Scan) error {
		var r siteRow
		var body, observed, open int64
		if err := r.scan(scan, &body, &observed, &open); err != nil {
			c.problem("site", "sites", err.Error())
			return nil
		}
		for _, ref := range []struct {
			known    bitmap
			table    string
			id       int64
			is, what string
		}{
			{c.bodies, keptBodies, body, "site body", "its policy, body %d, is missing"},
			{known["profiles"], "profiles", r.profile, "site profile", "its profile %d is missing"},
			{known["sets"], "sets", r.tagsID, "site sets", "its tags, set %d, are missing"},
			{known["sets"], "sets", r.agentsID, "site sets", "its agents, set %d, are missing"},
		} {
			if ref.id == 0 {
				continue
			}
			if there, err := c.there(ctx, ref.known, ref.table, ref.id); err != nil {
				return err
			} else if !there {
				c.problem(ref.is, r.site.Origin, fmt.Sprintf(ref.what, ref.id))
			}
		}
		if observed != 0 && open == 0 {
			c.problem("site run", r.site.Origin, "its open observation is missing")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.pages(ctx, "profiles", "id, data", func(scan Scan) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		if _, err := c.s.profiles.parse(ctx, c.s, text); err != nil {
			c.problem("profile", fmt.Sprintf("profile %d", id), err.Error())
		}
		return nil
	})
}

func (c *checker) changesHold(ctx context.Context) error {
	for after := []byte{}; ; {
		rows, err := c.s.Query(ctx, "SELECT "+changeColumns+" FROM changes WHERE id > $1 ORDER BY id LIMIT $2", after, pageSize)
		if err != nil {
			return err
		}
		n := 0
		if err := each(rows, func(scan Scan) error {
			var r changeRow
			if err := r.scan(scan); err != nil {
				return err
			}
			n, after = n+1, r.key
			if _, err := r.change(); err != nil {
				c.problem("change", r.origin, err.Error())
			}
			return nil
		}); err != nil {
			return err
		}
		if n < pageSize {
			return nil
		}
	}
}

// wordsHold looks for words that stand for nothing: what has one of them would
// never be found again.
func (c *checker) wordsHold(ctx context.Context) error {
	for _, k := range []struct{ what, query string }{
		{"status", "SELECT receiver, status FROM deliveries WHERE status NOT IN ('pending', 'sent', 'dead')"},
		{"state", `SELECT origin, state FROM sites
			WHERE state NOT IN ('pending', 'policy', 'absent', 'denied', 'unreachable', 'not_robots')`},
		{"readable state", "SELECT origin, readable FROM sites WHERE readable NOT IN ('', 'policy', 'absent')"},
	} {
		rows, err := c.s.Query(ctx, k.query)
		if err != nil {
			return err
		}
		if err := each(rows, func(scan Scan) error {
			var where, word string
			if err := scan(&where, &word); err != nil {
				return err
			}
			c.problem(k.what, where, fmt.Sprintf("%q is no %s", word, k.what))
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// countsHold compares the counts that are kept with counting. One statement
// sees one moment, whatever moves meanwhile.
func (c *checker) countsHold(ctx context.Context) error {
	for name, query := range map[string]string{
		"standings": "SELECT " + standingColumns + ", sum(n) FROM (SELECT " + standingColumns + ", sites AS n FROM standings UNION ALL SELECT " +
			standingColumns + ", -1 AS n FROM sites WHERE active = 1) k GROUP BY " + standingColumns + " HAVING sum(n) <> 0",
		"standings_daily": "SELECT " + standingColumns + ", sum(n) FROM (SELECT " + standingColumns + ", sites AS n FROM standings UNION ALL SELECT " +
			standingColumns + ", -sites AS n FROM standings_daily) k GROUP BY " + standingColumns + " HAVING sum(n) <> 0",
	} {
		rows, err := c.s.Query(ctx, query)
		if err != nil {
			return err
		}
		if err := each(rows, func(scan Scan) error {
			var k standing
			var n int64
			if err := scan(&k.state, &k.phase, &k.profile, &k.agents, &k.tags, &n); err != nil {
				return err
			}
			c.problem(name, name, fmt.Sprintf("%+d sites too many in state %s with profile %d", n, k.state, k.profile))
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
