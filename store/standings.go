package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// standing is what sites are counted by: all that decides what they mean for
// agents, and their tags.
type standing struct {
	state                 fetch.State
	phase                 phase
	profile, agents, tags int64
}

const standingColumns = "state, phase, profile_id, agents_id, tags_id"

func scanStanding(scan Scan) (k standing, err error) {
	err = scan(&k.state, &k.phase, &k.profile, &k.agents, &k.tags)
	return k, err
}

func (k standing) compare(o standing) int {
	return cmp.Or(cmp.Compare(k.state, o.state), cmp.Compare(k.phase, o.phase), cmp.Compare(k.profile, o.profile),
		cmp.Compare(k.agents, o.agents), cmp.Compare(k.tags, o.tags))
}

// moveStandings adds to the counts, and to their history on the day of now.
// It comes last in a transaction, in a fixed order: these few rows are
// everybody's.
func moveStandings(ctx context.Context, tx *Tx, now time.Time, by map[standing]int64) error {
	var rows, daily [][]any
	for _, k := range slices.SortedFunc(maps.Keys(by), standing.compare) {
		if n := by[k]; n != 0 {
			rows = append(rows, []any{string(k.state), int64(k.phase), k.profile, k.agents, k.tags, n})
			daily = append(daily, []any{string(k.state), int64(k.phase), k.profile, k.agents, k.tags, n, dayOf(now)})
		}
	}
	if _, err := tx.ExecMany(ctx, "INSERT INTO standings ("+standingColumns+`, sites) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (`+standingColumns+") DO UPDATE SET sites = standings.sites + excluded.sites", rows); err != nil {
		return err
	}
	_, err := tx.ExecMany(ctx, "INSERT INTO standings_daily ("+standingColumns+`, sites, day) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (day, `+standingColumns+") DO UPDATE SET sites = standings_daily.sites + excluded.sites", daily)
	return err
}

const dayMillis = 24 * 60 * 60 * 1000

// dayOf is a time as standings_daily.day has it.
func dayOf(t time.Time) int64 { return t.UnixMilli() / dayMillis }

func (r *recording) recordStandings(ctx context.Context) error {
	by := make(map[standing]int64)
	var now time.Time
	for _, o := range r.kept {
		if o.from != o.to {
			by[o.from]--
			by[o.to]++
		}
		if o.Site.LastCheckAt.After(now) {
			now = o.Site.LastCheckAt
		}
	}
	return moveStandings(ctx, r.tx, now, by)
}

// joinedRow is a row of standings, or of standings_daily, called k, with the
// texts of what is interned.
type joinedRow struct {
	st                 watcher.Standing
	extra              int64 // a column of the caller's choice
	profileID          int64
	agentsID           sql.NullInt64
	profileText, agent sql.NullString
}

const (
	joinedColumns = "k.state, k.phase, k.sites, k.profile_id, p.data, a.id, a.members"
	joinedFrom    = ` k LEFT JOIN profiles p ON p.id = k.profile_id LEFT JOIN sets a ON a.id = k.agents_id
		WHERE k.sites <> 0 AND ($1 = '' OR k.tags_id IN (SELECT id FROM sets WHERE {{find}}(members, $1) > 0))`
)

// queryJoined runs a query with joinedColumns and one more.
func (s *Store) queryJoined(ctx context.Context, query string, args ...any) ([]joinedRow, error) {
	rows, err := s.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var list []joinedRow
	if err := each(rows, func(scan Scan) error {
		var r joinedRow
		var ph phase
		if err := scan(&r.st.State, &ph, &r.st.Sites, &r.profileID, &r.profileText, &r.agentsID, &r.agent, &r.extra); err != nil {
			return err
		}
		r.st.Tentative, r.st.Aged, r.st.Unstable = ph.of() == tentative, ph.of() == aged, ph&unstable != 0
		list = append(list, r)
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range list {
		r := &list[i]
		if r.profileText.Valid {
			p, err := s.profiles.know(ctx, s, r.profileID, r.profileText.String)
			if err != nil {
				return nil, err
			}
			r.st.Profile, r.st.Signals = p.access, p.signals
		}
		if r.agentsID.Valid {
			if r.st.Agents, err = s.sets.know(ctx, s, r.agentsID.Int64, r.agent.String); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// Standings counts the active sites with a tag ("" for all) by what they have
// in common. It reads counts, not sites.
func (s *Store) Standings(ctx context.Context, tag string) ([]watcher.Standing, error) {
	rows, err := s.queryJoined(ctx, "SELECT "+joinedColumns+", 0 FROM standings"+joinedFrom, tagArg(tag))
	if err != nil {
		return nil, fmt.Errorf("standings: %w", err)
	}
	list := make([]watcher.Standing, len(rows))
	for i := range rows {
		list[i] = rows[i].st
	}
	return list, nil
}

func tagArg(tag string) string {
	if tag == "" {
		return ""
	}
	return joinSet([]string{tag})
}

// moveDays is how many days of moves one read takes.
const moveDays = 32

// StandingMoves walks how the numbers of Standings came about, day by day:
// their sum up to a day is how it was at its end. from is the first day; zero
// for the beginning. After an error it ends.
func (s *Store) StandingMoves(ctx context.Context, tag string, from time.Time) iter.Seq2[watcher.StandingMove, error] {
	return func(yield func(watcher.StandingMove, error) bool) {
		var first, last sql.NullInt64
		if err := s.QueryRow(ctx, "SELECT min(day), max(day) FROM standings_daily WHERE day >= $1", dayOf(from)).Scan(&first, &last); err != nil {
			yield(watcher.StandingMove{}, fmt.Errorf("moves of standings: %w", err))
			return
		}
		for day := first.Int64; first.Valid && day <= last.Int64; day += moveDays {
			page, err := s.movesPage(ctx, tag, day)
			if err != nil {
				yield(watcher.StandingMove{}, fmt.Errorf("moves of standings: %w", err))
				return
			}
			for _, r := range page {
				if !yield(watcher.StandingMove{Day: fromMillis(r.extra * dayMillis), Standing: r.st}, nil) {
					return
				}
			}
		}
	}
}

func (s *Store) movesPage(ctx context.Context, tag string, day int64) ([]joinedRow, error) {
	return s.queryJoined(ctx, "SELECT "+joinedColumns+", k.day FROM standings_daily"+joinedFrom+
		" AND k.day >= $2 AND k.day < $3 ORDER BY k.day", tagArg(tag), day, day+moveDays)
}

// SiteCounts counts the active sites by state.
func (s *Store) SiteCounts(ctx context.Context) (map[fetch.State]int, error) {
	rows, err := s.Query(ctx, "SELECT state, sum(sites) FROM standings GROUP BY state")
	if err != nil {
		return nil, fmt.Errorf("count sites: %w", err)
	}
	counts := make(map[fetch.State]int)
	err = each(rows, func(scan Scan) error {
		var state fetch.State
		var n int
		err := scan(&state, &n)
		counts[state] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count sites: %w", err)
	}
	return counts, nil
}

// AgentTotals counts the active sites for each watched agent by what holds
// there now (Options.Effective), ordered by agent.
func (s *Store) AgentTotals(ctx context.Context) ([]watcher.Tally, error) {
	list, err := s.Standings(ctx, "")
	if err != nil {
		return nil, err
	}
	now := time.Now()
	by := make(map[watcher.AgentAccess]int)
	for _, st := range list {
		for _, a := range s.opts.Effective(st.Site(now)) {
			by[a] += st.Sites
		}
	}
	tallies := make([]watcher.Tally, 0, len(by))
	for a, n := range by {
		tallies = append(tallies, watcher.Tally{Agent: a.Agent, Access: a.Level, Source: a.Source, Sites: n})
	}
	slices.SortFunc(tallies, func(a, b watcher.Tally) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Access, b.Access), cmp.Compare(a.Source, b.Source))
	})
	return tallies, nil
}

// Overdue counts the active sites that no look has finished for since a time;
// new ones count from when they were added. since is at least
// watcher.MaxGap ago: a site whose next look is planned later than now cannot
// be overdue, so only those that are due are read.
func (s *Store) Overdue(ctx context.Context, since time.Time) (n int, err error) {
	err = s.QueryRow(ctx, "SELECT count(*) FROM sites WHERE "+overdue, toMillis(since), toMillis(since.Add(watcher.MaxGap))).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count overdue sites: %w", err)
	}
	return n, nil
}

// OverdueUpTo is Overdue that stops to count at a limit.
func (s *Store) OverdueUpTo(ctx context.Context, since time.Time, limit int) (n int, err error) {
	err = s.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM sites WHERE "+overdue+fmt.Sprintf(" LIMIT %d) some", limit),
		toMillis(since), toMillis(since.Add(watcher.MaxGap))).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count overdue sites: %w", err)
	}
	return n, nil
}

// overdue selects the sites of Overdue; $1 is since, $2 MaxGap later.
const overdue = `active = 1 AND next_check_at < $2 AND last_check_at < $1 AND (last_check_at > 0 OR state_since < $1)`
