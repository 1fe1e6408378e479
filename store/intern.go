package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
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
	parse func(text string) (V, error)
}

func (n *interner[V]) remember(id int64, text string) (V, error) {
	v, err := n.parse(text)
	if err != nil {
		return v, fmt.Errorf("%s %d: %w", n.table, id, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.byID) >= internLimit || n.byID == nil {
		n.ids, n.byID = make(map[string]int64), make(map[int64]V)
	}
	n.ids[text], n.byID[id] = id, v
	return v, nil
}

// know gives the value of a row whose text is at hand. It is shared: read
// only.
func (n *interner[V]) know(id int64, text string) (V, error) {
	n.mu.RLock()
	v, ok := n.byID[id]
	n.mu.RUnlock()
	if ok {
		return v, nil
	}
	return n.remember(id, text)
}

// id finds or makes the row of a text, and remembers it once tx is committed.
func (n *interner[V]) id(ctx context.Context, tx *Tx, text string) (id int64, err error) {
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
	tx.afterCommit(func() { _, _ = n.remember(id, text) })
	return id, nil
}

// get gives the value of a row. The result is shared: read only.
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
	return n.remember(id, text)
}

// newSets makes the interner of lists.
func newSets() *interner[[]string] {
	return &interner[[]string]{table: "sets", text: "members", parse: func(text string) ([]string, error) {
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
	if text = strings.Trim(text, ","); text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// setID finds or makes the row of a list; 0 for the empty one.
func (s *Store) setID(ctx context.Context, tx *Tx, members []string) (int64, error) {
	if len(members) == 0 {
		return 0, nil
	}
	return s.sets.id(ctx, tx, joinSet(members))
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

// Codes of access levels and sources in profiles.data.
var (
	levelCodes  = map[diff.Level]byte{diff.Allowed: 'a', diff.Partial: 'p', diff.Restricted: 'r', diff.Blocked: 'b', diff.Unknown: 'u'}
	sourceCodes = map[robots.Source]byte{robots.SourceNamed: 'n', robots.SourceWildcard: 'w', robots.SourceDefault: 'd', robots.SourceStatus: 's', "": '-'}
	codeLevels  = inverse(levelCodes)
	codeSources = inverse(sourceCodes)
)

func inverse[V comparable](m map[V]byte) map[byte]V {
	inv := make(map[byte]V, len(m))
	for v, c := range m {
		inv[c] = v
	}
	return inv
}

// encodeProfile is the access of a site's watched agents as text: level,
// source, token, as in "bnGPTBot,awCCBot". Equal profiles have equal texts.
func encodeProfile(p []watcher.AgentAccess) string {
	var b strings.Builder
	for i, a := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		level, ok := levelCodes[a.Level]
		if !ok {
			level = 'u'
		}
		source, ok := sourceCodes[a.Source]
		if !ok {
			source = '-'
		}
		b.WriteByte(level)
		b.WriteByte(source)
		b.WriteString(a.Agent)
	}
	return b.String()
}

// decodeProfile is the inverse of encodeProfile.
func decodeProfile(text string) ([]watcher.AgentAccess, error) {
	if text == "" {
		return nil, nil
	}
	p := make([]watcher.AgentAccess, 0, strings.Count(text, ",")+1)
	for part := range strings.SplitSeq(text, ",") {
		if len(part) < 3 {
			return nil, fmt.Errorf("profile %q: %w", part, ErrCorrupt)
		}
		level, okLevel := codeLevels[part[0]]
		source, okSource := codeSources[part[1]]
		if !okLevel || !okSource {
			return nil, fmt.Errorf("profile %q: %w", part, ErrCorrupt)
		}
		p = append(p, watcher.AgentAccess{Agent: part[2:], Access: diff.Access{Level: level, Source: source}})
	}
	return p, nil
}

func newProfiles() *interner[[]watcher.AgentAccess] {
	return &interner[[]watcher.AgentAccess]{table: "profiles", text: "data", parse: decodeProfile}
}

// profileID finds or makes the row of a profile; 0 for the empty one.
func (s *Store) profileID(ctx context.Context, tx *Tx, p []watcher.AgentAccess) (int64, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return s.profiles.id(ctx, tx, encodeProfile(p))
}
