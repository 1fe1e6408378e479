package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

// watchedAgent is a row of watched_agents.
type watchedAgent struct {
	until  int64
	cursor sql.NullString
}

// Newcomers implements history.Newcomers. The first time those that any site
// was ever judged by are taken as watched from the beginning.
func (s *Store) Newcomers(ctx context.Context, watched []string, now time.Time) (history.Pending, error) {
	want := make(map[string]bool, len(watched))
	for _, a := range watched {
		want[strings.ToLower(a)] = true
	}
	var have map[string]watchedAgent
	err := s.Write(ctx, func(tx *Tx) (err error) {
		if have, err = s.watchedAgents(ctx, tx); err != nil {
			return err
		}
		return s.follow(ctx, tx, want, have, dayOf(now)+1)
	})
	if err != nil {
		return history.Pending{}, fmt.Errorf("watched agents: %w", err)
	}
	// Those that have come equally far go on together.
	var p history.Pending
	for _, token := range sortedKeys(have) {
		a := have[token]
		if !a.cursor.Valid {
			continue
		}
		until := fromMillis(a.until * dayMillis)
		if len(p.Agents) == 0 {
			p.After, p.Until = a.cursor.String, until
		}
		if a.cursor.String == p.After && until.Equal(p.Until) {
			p.Agents = append(p.Agents, token)
		}
	}
	return p, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *Store) watchedAgents(ctx context.Context, q Queryer) (map[string]watchedAgent, error) {
	rows, err := q.Query(ctx, "SELECT token, until_day, cursor FROM watched_agents")
	if err != nil {
		return nil, err
	}
	have := make(map[string]watchedAgent)
	return have, each(rows, func(scan Scan) error {
		var token string
		var a watchedAgent
		err := scan(&token, &a.until, &a.cursor)
		have[token] = a
		return err
	})
}

// follow makes the rows, and have, those of the agents that are wanted.
func (s *Store) follow(ctx context.Context, tx *Tx, want map[string]bool, have map[string]watchedAgent, until int64) error {
	known := want // of an empty store
	if len(have) == 0 {
		judged, err := s.judgedBy(ctx, tx)
		if err != nil {
			return err
		}
		if len(judged) > 0 {
			known = judged
		}
	} else {
		known = nil
	}
	var adds, gone [][]any
	for _, token := range sortedKeys(want) {
		if _, ok := have[token]; ok {
			continue
		}
		a := watchedAgent{until: until, cursor: sql.NullString{Valid: true}}
		if known[token] {
			a = watchedAgent{}
		}
		have[token] = a
		adds = append(adds, []any{token, a.until, a.cursor})
	}
	for _, token := range sortedKeys(have) {
		if !want[token] {
			delete(have, token)
			gone = append(gone, []any{token})
		}
	}
	for _, step := range []struct {
		query string
		rows  [][]any
	}{
		{"DELETE FROM agent_past WHERE token = $1", gone},
		{"DELETE FROM watched_agents WHERE token = $1", gone},
		{"INSERT INTO watched_agents (token, until_day, cursor) VALUES ($1, $2, $3)", adds},
	} {
		if _, err := tx.ExecMany(ctx, step.query, step.rows); err != nil {
			return err
		}
	}
	return nil
}

// judgedBy gives the agents of all profiles.
func (s *Store) judgedBy(ctx context.Context, tx *Tx) (map[string]bool, error) {
	rows, err := tx.Query(ctx, "SELECT id, data FROM profiles")
	if err != nil {
		return nil, err
	}
	texts := make(map[int64]string)
	if err := each(rows, func(scan Scan) error {
		var id int64
		var text string
		err := scan(&id, &text)
		texts[id] = text
		return err
	}); err != nil {
		return nil, err
	}
	judged := make(map[string]bool)
	for id, text := range texts {
		p, err := s.profiles.know(ctx, tx, id, text)
		if err != nil {
			return nil, err
		}
		for _, a := range p.access {
			judged[strings.ToLower(a.Agent)] = true
		}
	}
	return judged, nil
}

// RecordPast implements history.Newcomers.
func (s *Store) RecordPast(ctx context.Context, agents []string, page history.PastPage) error {
	cursor := sql.NullString{String: page.After, Valid: !page.Last}
	err := s.Write(ctx, func(tx *Tx) error {
		// A commit whose answer never came may have happened, and what is added
		// up must not be added again. Agents that go on together stand together.
		var there bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM watched_agents WHERE token = $1
			AND cursor IS NOT DISTINCT FROM CAST($2 AS TEXT))`, strings.ToLower(agents[0]), cursor).Scan(&there); err != nil || there {
			return err
		}
		if err := s.correct(ctx, tx, page.Changes); err != nil {
			return err
		}
		var moves, cursors [][]any
		for _, m := range page.Moves {
			tags, err := s.setID(ctx, tx, sortedTags(m.Tags))
			if err != nil {
				return err
			}
			code, ok := accessCodes[m.Access]
			if !ok {
				return fmt.Errorf("access %q by %q of %s is not known", m.Access.Level, m.Access.Source, m.Agent)
			}
			moves = append(moves, []any{strings.ToLower(m.Agent), dayOf(m.Day), tags, string(code), int64(m.Sites)})
		}
		for _, a := range agents {
			cursors = append(cursors, []any{strings.ToLower(a), cursor})
		}
		if _, err := tx.ExecMany(ctx, `INSERT INTO agent_past (token, day, tags_id, access, sites) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (token, day, tags_id, access) DO UPDATE SET sites = agent_past.sites + excluded.sites`, moves); err != nil {
			return err
		}
		_, err := tx.ExecMany(ctx, "UPDATE watched_agents SET cursor = $2 WHERE token = $1", cursors)
		return err
	})
	if err != nil {
		return fmt.Errorf("record the past of agents: %w", err)
	}
	return nil
}

// AgentsPast gives, by lower-case token, the last day for which AgentMoves
// tells how sites stood to an agent, and not StandingMoves.
func (s *Store) AgentsPast(ctx context.Context) (map[string]time.Time, error) {
	have, err := s.watchedAgents(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("past of agents: %w", err)
	}
	until := make(map[string]time.Time)
	for token, a := range have {
		if a.until > 0 && !a.cursor.Valid {
			until[token] = fromMillis(a.until * dayMillis)
		}
	}
	return until, nil
}

// AgentMoves walks how the numbers of sites that stand so and so to agents
// came about, in order of days: their sum up to a day is how it was at its
// end. After an error it ends.
func (s *Store) AgentMoves(ctx context.Context, tag string) iter.Seq2[watcher.AgentMove, error] {
	return func(yield func(watcher.AgentMove, error) bool) {
		rows, err := s.Query(ctx, `SELECT k.day, k.token, k.access, sum(k.sites) FROM agent_past k
			WHERE $1 = '' OR k.tags_id IN (SELECT id FROM sets WHERE {{find}}(members, $1) > 0)
			GROUP BY k.day, k.token, k.access ORDER BY k.day, k.token, k.access`, tagArg(tag))
		var list []watcher.AgentMove
		if err == nil {
			err = each(rows, func(scan Scan) error {
				var day int64
				var code string
				var m watcher.AgentMove
				if err := scan(&day, &m.Agent, &code, &m.Sites); err != nil {
					return err
				}
				m.Day = fromMillis(day * dayMillis)
				m.Access, err = accessOf(code)
				list = append(list, m)
				return err
			})
		}
		if err != nil {
			yield(watcher.AgentMove{}, fmt.Errorf("past of agents: %w", err))
			return
		}
		for _, m := range list {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// accessOf reads a letter of accessCodes.
func accessOf(code string) (diff.Access, error) {
	if len(code) == 1 {
		for access, c := range accessCodes {
			if c == code[0] {
				return access, nil
			}
		}
	}
	return diff.Access{}, fmt.Errorf("access %q: %w", code, ErrCorrupt)
}
