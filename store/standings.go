package store

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/robotswatch/robotswatch/fetch"
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

// moveStandings adds to the counts. It comes last in a transaction, in a
// fixed order: these few rows are everybody's.
func moveStandings(ctx context.Context, tx *Tx, by map[standing]int64) error {
	var rows [][]any
	for _, k := range slices.SortedFunc(maps.Keys(by), standing.compare) {
		if by[k] != 0 {
			rows = append(rows, []any{string(k.state), int64(k.phase), k.profile, k.agents, k.tags, by[k]})
		}
	}
	_, err := tx.ExecMany(ctx, "INSERT INTO standings ("+standingColumns+`, sites) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (`+standingColumns+") DO UPDATE SET sites = standings.sites + excluded.sites", rows)
	return err
}

func (s *Store) recordStandings(ctx context.Context, tx *Tx, kept []*outcome) error {
	by := make(map[standing]int64)
	for _, o := range kept {
		if o.from != o.to {
			by[o.from]--
			by[o.to]++
		}
	}
	return moveStandings(ctx, tx, by)
}
