package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// internLimit bounds what an interner remembers; beyond it the memory starts
// afresh.
const internLimit = 8192

// interner remembers rows that never change once written.
type interner[V any] struct {
	mu    sync.RWMutex
	ids   map[string]int64
	byID  map[int64]V
	table string // with columns id and
	text  string
	parse func(ctx context.Context, q Queryer, text string) (V, error)
}

func (n *interner[V]) remember(id int64, text string, v V) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.byID) >= internLimit || n.byID == nil {
		n.ids, n.byID = make(map[string]int64), make(map[int64]V)
	}
	n.ids[text], n.byID[id] = id, v
}

// id finds or makes the row of a text, whose value is v, and remembers it
// once tx is committed.
func (n *interner[V]) id(ctx context.Context, tx *Tx, text string, v V) (id int64, err error) {
	n.mu.RLock()
	id, ok := n.ids[text]
	n.mu.RUnlock()
	if ok {
		return id, nil
	}
	find := "SELECT id FROM " + n.table + " WHERE " + n.text + " = $1"
	err = tx.QueryRow(ctx, find, text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = tx.Exec(ctx, "INSERT INTO "+n.table+" ("+n.text+") VALUES ($1) ON CONFLICT ("+n.text+") DO NOTHING", text); err == nil {
			err = tx.QueryRow(ctx, find, text).Scan(&id)
		}
	}
	if err != nil {
		return 0, err
	}
	tx.afterCommit(func() { n.remember(id, text, v) })
	return id, nil
}

// get gives the value of a row; the zero value for id 0. It is shared: read
// only.
func (n *interner[V]) get(ctx context.Context, q Queryer, id int64) (V, error) {
	n.mu.RLock()
	v, ok := n.byID[id]
	n.mu.RUnlock()
	if ok || id == 0 {
		return v, nil
	}
	var text string
	if err := q.QueryRow(ctx, "SELECT "+n.text+" FROM "+n.table+" WHERE id = $1", id).Scan(&text); err != nil {
		return v, fmt.Errorf("%s %d: %w", n.table, id, err)
	}
	return n.know(ctx, q, id, text)
}

// know is get where the text is at hand.
func (n *interner[V]) know(ctx context.Context, q Queryer, id int64, text string) (V, error) {
	n.mu.RLock()
	v, ok := n.byID[id]
	n.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := n.parse(ctx, q, text)
	if err != nil {
		return v, fmt.Errorf("%s %d: %w", n.table, id, err)
	}
	n.remember(id, text, v)
	return v, nil
}

// newSets makes the interner of lists.
func newSets() *interner[[]string] {
	return &interner[[]string]{table: "sets", text: "members", parse: func(_ context.Context, _ Queryer, text string) ([]string, error) {
		return splitSet(text), nil
	}}
}

// joinSet is a list as sets.members has it; "" for the empty one.
func joinSet(members []string) string {
	if len(members) == 0 {
		return ""
	}
	return "," + strings.Join(members, ",") + ","
}

func splitSet(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, ","), ","), ",")
}

// setID finds or makes the row of a list; 0 for the empty one.
func (s *Store) setID(ctx context.Context, tx *Tx, members []string) (int64, error) {
	if len(members) == 0 {
		return 0, nil
	}
	return s.sets.id(ctx, tx, joinSet(members), members)
}

// sortedTags is how tags are kept: equal lists are one.
func sortedTags(tags []string) []string {
	if slices.IsSorted(tags) {
		return slices.Compact(slices.Clone(tags))
	}
	tags = slices.Clone(tags)
	slices.Sort(tags)
	return slices.Compact(tags)
}
