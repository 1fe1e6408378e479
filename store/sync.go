package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// Synced counts what SyncSites did.
type Synced struct {
	Sites   int // configured now
	Added   int
	Back    int // had left the configuration, and continue
	Updated int // tags, schedule or agents changed
	Left    int // left the configuration; their history stays
}

// Changed reports whether anything was done.
func (s Synced) Changed() bool { return s.Added+s.Back+s.Updated+s.Left > 0 }

const (
	// syncBatch is how many sites one transaction of SyncSites touches.
	syncBatch = 2000
	// addBatch is how many sites one transaction adds. Their places in the index
	// of origins are anywhere, and each transaction writes every page that it
	// touches once.
	addBatch = 4 * syncBatch
	// sortWindow is how many new sites are put in the order of their looks
	// before they are added. Sites that are looked at together then lie
	// together, and a claim among a million reads and writes a tenth of the
	// pages.
	sortWindow = 32 * syncBatch
)

// factSites is the fact that holds the digest of the configured sites.
const factSites = "sites_digest"

// SyncSites makes the active sites those of a configuration. sites is walked
// up to twice and yields each origin once, in any order; an error it yields is
// returned. firstDue plans the first check of a site that is new, back, or on
// another schedule. Sites that did not change are not written; a configuration
// that is the one of the last call costs a walk. About 40 bytes a site are
// held while it runs. New sites are kept in the order of their first looks, as
// far as memory allows; so firstDue should give the order in which they will
// be looked at ever after.
func (s *Store) SyncSites(ctx context.Context, now time.Time, sites iter.Seq2[watcher.SiteConfig, error],
	firstDue func(origin, schedule string) time.Time) (Synced, error) {
	want, err := readWanted(sites, s.activeSites(ctx))
	if err != nil {
		return Synced{}, err
	}
	y := syncer{s: s, now: now, firstDue: firstDue, want: want, done: Synced{Sites: len(want)}}
	unlock, err := s.lockCluster(ctx, lockSync)
	if err != nil {
		return Synced{}, fmt.Errorf("sync sites: %w", err)
	}
	defer unlock()
	if err := y.run(ctx, sites); err != nil {
		return Synced{}, fmt.Errorf("sync sites: %w", err)
	}
	return y.done, nil
}

// activeSites is how many there are; 0 when that cannot be told.
func (s *Store) activeSites(ctx context.Context) (n int) {
	counts, err := s.SiteCounts(ctx)
	if err != nil {
		return 0 // whoever needs the store next will say so
	}
	for _, k := range counts {
		n += k
	}
	return n
}

type syncer struct {
	s        *Store
	now      time.Time
	firstDue func(origin, schedule string) time.Time
	want     []wanted
	done     Synced
}

func (y *syncer) find(origin [16]byte) *wanted {
	i, ok := slices.BinarySearchFunc(y.want, origin, func(w wanted, o [16]byte) int { return bytes.Compare(w.origin[:], o[:]) })
	if !ok {
		return nil
	}
	return &y.want[i]
}

func (y *syncer) run(ctx context.Context, sites iter.Seq2[watcher.SiteConfig, error]) error {
	target := digest(y.want)
	have, err := y.s.fact(ctx, factSites)
	if err != nil || have == target {
		return err
	}
	// Until all is done the digest stands for neither configuration.
	if err := y.s.setFact(ctx, factSites, ""); err != nil {
		return err
	}
	leaving, err := y.compare(ctx)
	if err != nil {
		return err
	}
	if err := y.leave(ctx, leaving); err != nil {
		return err
	}
	again, err := y.write(ctx, sites)
	if err != nil || again != len(y.want) {
		return err // what was read changed meanwhile: the next call compares again
	}
	return y.s.setFact(ctx, factSites, target)
}

// compare walks the stored sites, sets the fate of the configured ones, and
// gives those to deactivate.
func (y *syncer) compare(ctx context.Context) (leaving []int64, err error) {
	for after, n := int64(0), syncBatch; n == syncBatch; {
		n = 0
		rows, err := y.s.Query(ctx, fmt.Sprintf(`SELECT id, origin, active, tags_id, agents_id, schedule FROM sites
			WHERE id > $1 ORDER BY id LIMIT %d`, syncBatch), after)
		if err != nil {
			return nil, err
		}
		type row struct {
			id, active, tags, agents int64
			origin, schedule         string
		}
		page := make([]row, 0, syncBatch)
		if err := each(rows, func(scan Scan) error {
			var r row
			page = append(page, r)
			p := &page[len(page)-1]
			return scan(&p.id, &p.origin, &p.active, &p.tags, &p.agents, &p.schedule)
		}); err != nil {
			return nil, err
		}
		for _, r := range page {
			n, after = n+1, r.id
			o := sha256.Sum256([]byte(r.origin))
			w := y.find([16]byte(o[:16]))
			switch {
			case w == nil && r.active != 0:
				leaving = append(leaving, r.id)
			case w == nil:
			case r.active == 0:
				w.fate = fateBack
			default:
				tags, err := y.s.sets.get(ctx, y.s, r.tags)
				if err != nil {
					return nil, err
				}
				agents, err := y.s.sets.get(ctx, y.s, r.agents)
				if err != nil {
					return nil, err
				}
				w.fate = fateKeep
				if configHash(joinSet(tags), r.schedule, joinSet(agents)) != w.config {
					w.fate = fateUpdate
				}
			}
		}
	}
	return leaving, nil
}

// leave deactivates sites. The lease token moves on, so that a look that is
// under way leaves no trace.
func (y *syncer) leave(ctx context.Context, ids []int64) error {
	for batch := range slices.Chunk(ids, syncBatch) {
		var left int
		err := y.s.Write(ctx, func(tx *Tx) error {
			left = 0
			by := make(map[standing]int64)
			args := make([][]any, len(batch))
			for i, id := range batch {
				args[i] = []any{id}
			}
			err := tx.QueryMany(ctx, `UPDATE sites SET active = 0, lease_until = 0, lease_token = lease_token + 1
				WHERE id = $1 AND active = 1 RETURNING `+standingColumns, args, func(_ int, scan Scan) error {
				k, err := scanStanding(scan)
				by[k]--
				left++
				return err
			})
			if err != nil {
				return err
			}
			return moveStandings(ctx, tx, y.now, by)
		})
		if err != nil {
			return err
		}
		y.done.Left += left
	}
	return nil
}

// write walks the configuration again and writes what is new, back or
// changed. It tells how many sites it saw that the first walk had seen too.
func (y *syncer) write(ctx context.Context, sites iter.Seq2[watcher.SiteConfig, error]) (seen int, err error) {
	var adds []newSite
	var updates []watcher.SiteConfig
	flush := func(all bool) (err error) {
		if len(adds) >= sortWindow || all {
			if err = y.addSorted(ctx, adds); err != nil {
				return err
			}
			adds = adds[:0]
		}
		if len(updates) >= syncBatch || all {
			if err = y.update(ctx, updates); err != nil {
				return err
			}
			updates = updates[:0]
		}
		return nil
	}
	var h hasher
	for c, err := range sites {
		if err != nil {
			return 0, err
		}
		key := h.of(c)
		w := y.find(key.origin)
		if w == nil || w.config != key.config || w.met {
			continue
		}
		w.met = true
		seen++
		switch w.fate {
		case fateAdd:
			adds = append(adds, newSite{c, y.firstDue(c.Origin, c.Schedule)})
		case fateUpdate, fateBack:
			updates = append(updates, c)
		}
		if err := flush(false); err != nil {
			return 0, err
		}
	}
	return seen, flush(true)
}

// addColumns is how many arguments a new site takes, addRows how many sites go
// into one statement: SQLite's driver looks each argument up among all.
const (
	addColumns = 6
	addRows    = 16
)

func addSites(rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO sites (origin, tags_id, agents_id, schedule, state_since, next_check_at) VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "($%d,$%d,$%d,$%d,$%d,$%d)", i*addColumns+1, i*addColumns+2, i*addColumns+3, i*addColumns+4, i*addColumns+5, i*addColumns+6)
	}
	b.WriteString(" ON CONFLICT (origin) DO NOTHING")
	return b.String()
}

// newSite is a site to be added.
type newSite struct {
	watcher.SiteConfig
	due time.Time
}

func (y *syncer) addSorted(ctx context.Context, sites []newSite) error {
	slices.SortStableFunc(sites, func(a, b newSite) int { return a.due.Compare(b.due) })
	for batch := range slices.Chunk(sites, addBatch) {
		if err := y.add(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// errAdded ends an attempt that finds all of its sites added: a commit whose
// answer never came may have happened.
var errAdded = errors.New("added already")

// add inserts sites that are new.
func (y *syncer) add(ctx context.Context, sites []newSite) error {
	err := y.s.Write(ctx, func(tx *Tx) error {
		by := make(map[standing]int64)
		usual := addSites(addRows)
		for chunk := range slices.Chunk(sites, addRows) {
			args := make([]any, 0, len(chunk)*addColumns)
			for _, c := range chunk {
				tags, agents, err := y.ids(ctx, tx, c.SiteConfig)
				if err != nil {
					return err
				}
				args = append(args, c.Origin, tags, agents, c.Schedule, toMillis(y.now), toMillis(c.due))
				by[standing{state: fetch.Pending, agents: agents, tags: tags}]++
			}
			query := usual
			if len(chunk) < addRows {
				query = addSites(len(chunk))
			}
			n, err := tx.Exec(ctx, query, args...)
			if err != nil {
				return err
			}
			if n != int64(len(chunk)) {
				return y.alreadyAdded(ctx, tx, sites)
			}
		}
		return moveStandings(ctx, tx, y.now, by)
	})
	if err == nil || errors.Is(err, errAdded) {
		y.done.Added += len(sites)
		return nil
	}
	return err
}

// alreadyAdded is errAdded where all of the sites are active as configured.
func (y *syncer) alreadyAdded(ctx context.Context, tx *Tx, sites []newSite) error {
	args := make([][]any, len(sites))
	for i, c := range sites {
		tags, agents, err := y.ids(ctx, tx, c.SiteConfig)
		if err != nil {
			return err
		}
		args[i] = []any{c.Origin, tags, agents, c.Schedule}
	}
	left := len(sites)
	err := tx.QueryMany(ctx, "SELECT 1 FROM sites WHERE origin = $1 AND active = 1 AND tags_id = $2 AND agents_id = $3 AND schedule = $4",
		args, func(int, Scan) error { left--; return nil })
	switch {
	case err != nil:
		return err
	case left > 0:
		return errors.New("another process adds sites too")
	}
	return errAdded
}

func (y *syncer) ids(ctx context.Context, tx *Tx, c watcher.SiteConfig) (tags, agents int64, err error) {
	if tags, err = y.s.setID(ctx, tx, sortedTags(c.Tags)); err != nil {
		return 0, 0, err
	}
	agents, err = y.s.setID(ctx, tx, c.Agents)
	return tags, agents, err
}

// update writes sites that are back or configured otherwise. A site that
// stays on its schedule keeps its next check.
func (y *syncer) update(ctx context.Context, sites []watcher.SiteConfig) error {
	var updated, back int
	err := y.s.Write(ctx, func(tx *Tx) error {
		updated, back = 0, 0
		by := make(map[standing]int64)
		for _, c := range sites {
			var id, wasActive int64
			var schedule string
			err := tx.QueryRow(ctx, "SELECT id, active, schedule FROM sites WHERE origin = $1 {{for_update}}", c.Origin).Scan(&id, &wasActive, &schedule)
			if err != nil {
				return err
			}
			was, err := y.standingOf(ctx, tx, id)
			if err != nil {
				return err
			}
			tags, agents, err := y.ids(ctx, tx, c)
			if err != nil {
				return err
			}
			plan := wasActive == 0 || schedule != c.Schedule
			if _, err := tx.Exec(ctx, `UPDATE sites SET active = 1, tags_id = $2, agents_id = $3, schedule = $4,
				next_check_at = CASE WHEN CAST($5 AS BIGINT) = 1 THEN CAST($6 AS BIGINT) ELSE next_check_at END WHERE id = $1`,
				id, tags, agents, c.Schedule, toInt(plan), toMillis(y.firstDue(c.Origin, c.Schedule))); err != nil {
				return err
			}
			if wasActive != 0 {
				by[was]--
				updated++
			} else {
				back++
			}
			was.tags, was.agents = tags, agents
			by[was]++
		}
		return moveStandings(ctx, tx, y.now, by)
	})
	y.done.Updated += updated
	y.done.Back += back
	return err
}

func (y *syncer) standingOf(ctx context.Context, tx *Tx, id int64) (standing, error) {
	return scanStanding(tx.QueryRow(ctx, "SELECT "+standingColumns+" FROM sites WHERE id = $1", id).Scan)
}
