package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/robotswatch/robotswatch/watcher"
)

// repackPage is how many rows of migration 7 are read at once.
const repackPage = 512

// repack is migration 7. Events say no more what their row says, and each
// verdict once; ids are octets, and bodies are named by their rows. In SQLite
// observations are kept in the order of their key, without an index beside.
func repack(d dialect) *goose.Migration {
	return goose.NewGoMigration(7, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		m := repacking{tx: tx, d: d, sets: make(map[string]int64)}
		for _, step := range []func(context.Context) error{m.create, m.emptyBody, m.changes, m.deliveries, m.swap, m.cluster} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}}, nil)
}

type repacking struct {
	tx   *sql.Tx
	d    dialect
	sets map[string]int64
}

const repackTables = `CREATE TABLE changes_7 (
    id        {{blob}} PRIMARY KEY,                -- ULID: ordered by time
    site_id   BIGINT NOT NULL REFERENCES sites (id),
    kind      TEXT   NOT NULL,
    severity  BIGINT NOT NULL,                     -- 0 info, 1 warning, 2 critical
    watched   BIGINT NOT NULL,
    backfill  BIGINT NOT NULL,
    agents_id BIGINT NOT NULL DEFAULT 0,           -- sets.id: the agents it touches, in the event's order
    before_id BIGINT NOT NULL DEFAULT 0,           -- bodies.id
    after_id  BIGINT NOT NULL DEFAULT 0,
    data      {{blob}} NOT NULL                    -- the rest of the event
) {{clustered}};
CREATE TABLE deliveries_7 (
    id          {{id}},                            -- in the order in which they were committed
    receiver    TEXT   NOT NULL,
    change_id   {{blob}} NOT NULL REFERENCES changes_7 (id),
    site_id     BIGINT NOT NULL,
    group_key   TEXT   NOT NULL,
    status      TEXT   NOT NULL DEFAULT 'pending', -- pending, sent, dead
    created_at  BIGINT NOT NULL,
    next_at     BIGINT NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    tried_at    BIGINT NOT NULL DEFAULT 0,         -- first attempt
    done_at     BIGINT NOT NULL DEFAULT 0,         -- sent or dead
    last_error  TEXT   NOT NULL DEFAULT '',
    receipt     TEXT   NOT NULL DEFAULT '',        -- what the receiver gave back
    UNIQUE (receiver, change_id)
)`

const repackSwap = `DROP TABLE deliveries;
DROP TABLE changes;
ALTER TABLE changes_7 RENAME TO changes;
ALTER TABLE deliveries_7 RENAME TO deliveries;
CREATE INDEX changes_site ON changes (site_id, id);
CREATE INDEX changes_agents ON changes (agents_id, id);
CREATE INDEX changes_kind ON changes (kind, id);
CREATE INDEX deliveries_pending ON deliveries (receiver, id) WHERE status = 'pending';
CREATE INDEX deliveries_due ON deliveries (receiver, next_at) WHERE status = 'pending';
CREATE INDEX deliveries_order ON deliveries (receiver, site_id, id) WHERE status = 'pending';
CREATE INDEX deliveries_dead ON deliveries (id) WHERE status = 'dead';
CREATE INDEX deliveries_receipt ON deliveries (site_id, id) WHERE receipt <> ''`

const repackCluster = `CREATE TABLE observations_7 (
    site_id   BIGINT NOT NULL REFERENCES sites (id),
    at        BIGINT NOT NULL,
    last_at   BIGINT NOT NULL DEFAULT 0,           -- 0: still open, see sites.last_check_at
    state     TEXT   NOT NULL,
    reason    TEXT   NOT NULL DEFAULT '',
    detail    TEXT   NOT NULL DEFAULT '',
    status    BIGINT NOT NULL DEFAULT 0,
    final_url TEXT   NOT NULL DEFAULT '',          -- '' is origin/robots.txt
    body_id   BIGINT NOT NULL DEFAULT 0,
    bytes     BIGINT NOT NULL DEFAULT 0,
    truncated BIGINT NOT NULL DEFAULT 0,
    backfill  BIGINT NOT NULL DEFAULT 0,           -- 0: seen live; else how many captures the run is made of
    evidence  {{blob}},
    seq       BIGINT NOT NULL DEFAULT -1,          -- place in its chain, from 1; -1: recorded before there were chains
    link      {{blob}},                            -- hash of the chain up to here
    PRIMARY KEY (site_id, at)
) {{clustered}};
INSERT INTO observations_7 SELECT site_id, at, last_at, state, reason, detail, status, final_url, body_id, bytes,
    truncated, backfill, evidence, seq, link FROM observations ORDER BY site_id, at;
DROP TABLE observations;
ALTER TABLE observations_7 RENAME TO observations`

func (m *repacking) run(ctx context.Context, statements string) error {
	for _, st := range strings.Split(m.d.sql(statements), ";\n") {
		if _, err := m.tx.ExecContext(ctx, st); err != nil {
			return fmt.Errorf("%.40s: %w", st, err)
		}
	}
	return nil
}

func (m *repacking) create(ctx context.Context) error { return m.run(ctx, repackTables) }

// emptyBody gives the body without bytes data of its own: no data now means that
// only the hash is kept.
func (m *repacking) emptyBody(ctx context.Context) error {
	_, err := m.tx.ExecContext(ctx, "UPDATE bodies SET data = $1 WHERE length(data) = 0", packBody(nil))
	return err
}

// swap puts the new tables in place of the old ones. Keys of deliveries go on
// where they were.
func (m *repacking) swap(ctx context.Context) error {
	goOn := `DELETE FROM sqlite_sequence WHERE name = 'deliveries_7';
INSERT INTO sqlite_sequence (name, seq) SELECT 'deliveries_7', seq FROM sqlite_sequence WHERE name = 'deliveries'`
	if m.d.name == postgresDialect.name {
		goOn = "SELECT setval(pg_get_serial_sequence('deliveries_7', 'id'), nextval(pg_get_serial_sequence('deliveries', 'id')))"
	}
	return m.run(ctx, goOn+";\n"+repackSwap)
}

func (m *repacking) cluster(ctx context.Context) error {
	if m.d.name == postgresDialect.name {
		return nil
	}
	return m.run(ctx, repackCluster)
}

// changes packs events anew, page by page.
func (m *repacking) changes(ctx context.Context) error {
	for after := ""; ; {
		rows, err := m.tx.QueryContext(ctx, "SELECT id, site_id, data FROM changes WHERE id > $1 ORDER BY id LIMIT $2", after, repackPage)
		if err != nil {
			return err
		}
		var sites []int64
		var page []packedChange
		if err := each(rows, func(scan Scan) error {
			var site int64
			var data []byte
			if err := scan(&after, &site, &data); err != nil {
				return err
			}
			var c watcher.Change
			if err := unpackJSON(data, &c); err != nil {
				return fmt.Errorf("change %s: %w", after, err)
			}
			p, err := packChange(&c)
			sites, page = append(sites, site), append(page, p)
			return err
		}); err != nil {
			return err
		}
		if err := m.insertChanges(ctx, sites, page); err != nil {
			return err
		}
		if len(page) < repackPage {
			return nil
		}
	}
}

func (m *repacking) insertChanges(ctx context.Context, sites []int64, page []packedChange) error {
	bodies, err := m.bodies(ctx, page)
	if err != nil {
		return err
	}
	rows := make([][]any, len(page))
	for i := range page {
		p := &page[i]
		set, err := m.set(ctx, p.agents)
		if err != nil {
			return err
		}
		rows[i] = []any{p.key, sites[i], string(p.Kind), int64(p.Severity.Rank()), toInt(p.Watched), toInt(p.Backfilled), set,
			bodies[p.before], bodies[p.after], p.data}
	}
	return m.insert(ctx, "INSERT INTO changes_7 (id, site_id, kind, severity, watched, backfill, agents_id, before_id, after_id, data) VALUES ",
		"(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "", rows)
}

func (m *repacking) insert(ctx context.Context, head, tuple, tail string, rows [][]any) error {
	for chunk := range slices.Chunk(rows, rowsAtOnce[0]) {
		if _, err := m.tx.ExecContext(ctx, m.d.sql(insertOf(head, tuple, tail, len(chunk))), slices.Concat(chunk...)...); err != nil {
			return err
		}
	}
	return nil
}

// bodies gives the rows of the bodies that events name; of those that are no
// longer kept it keeps the hash.
func (m *repacking) bodies(ctx context.Context, page []packedChange) (map[watcher.Hash]int64, error) {
	ids := map[watcher.Hash]int64{{}: 0}
	for i := range page {
		for _, h := range []watcher.Hash{page[i].before, page[i].after} {
			if _, ok := ids[h]; ok {
				continue
			}
			var id int64
			const find = "SELECT id FROM bodies WHERE sha256 = $1"
			err := m.tx.QueryRowContext(ctx, find, h[:]).Scan(&id)
			if err == sql.ErrNoRows {
				if err = m.insert(ctx, insertBodies, "(?, ?, ?, ?)", "", [][]any{{h[:], 0, 0, []byte{}}}); err == nil {
					err = m.tx.QueryRowContext(ctx, find, h[:]).Scan(&id)
				}
			}
			if err != nil {
				return nil, err
			}
			ids[h] = id
		}
	}
	return ids, nil
}

func (m *repacking) set(ctx context.Context, members []string) (id int64, err error) {
	text := joinSet(members)
	if text == "" {
		return 0, nil
	}
	if id, ok := m.sets[text]; ok {
		return id, nil
	}
	if err := m.insert(ctx, "INSERT INTO sets (members) VALUES ", "(?)", " ON CONFLICT (members) DO NOTHING", [][]any{{text}}); err != nil {
		return 0, err
	}
	if len(m.sets) >= internLimit {
		clear(m.sets)
	}
	err = m.tx.QueryRowContext(ctx, "SELECT id FROM sets WHERE members = $1", text).Scan(&id)
	m.sets[text] = id
	return id, err
}

// deliveries takes over all, with the ids of their changes as octets.
func (m *repacking) deliveries(ctx context.Context) error {
	const columns = "receiver, site_id, group_key, status, created_at, next_at, attempts, tried_at, done_at, last_error, receipt"
	for after := int64(0); ; {
		rows, err := m.tx.QueryContext(ctx, "SELECT id, change_id, "+columns+" FROM deliveries WHERE id > $1 ORDER BY id LIMIT $2", after, repackPage)
		if err != nil {
			return err
		}
		var page [][]any
		if err := each(rows, func(scan Scan) error {
			var change string
			row, dest := receivers(13)
			dest[0], dest[1] = &after, &change
			if err := scan(dest...); err != nil {
				return err
			}
			key, ok := changeKey(change)
			if !ok {
				return fmt.Errorf("delivery %d is of the change %q, which is no ULID", after, change)
			}
			row[0], row[1] = after, key
			page = append(page, row)
			return nil
		}); err != nil {
			return err
		}
		if err := m.insert(ctx, "INSERT INTO deliveries_7 (id, change_id, "+columns+") VALUES ", "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "", page); err != nil {
			return err
		}
		if len(page) < repackPage {
			return nil
		}
	}
}
