package store

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// keptEvent is an event as changes.data has it: JSON without what the columns
// of its row say, and each verdict once for all agents that it is about. The
// agents themselves are the row's set: those of Agents, in their order.
//
// Fields that stand here again are left out, or written shorter.
type keptEvent struct {
	watcher.Change
	Schema       string               `json:"schema,omitempty"`
	ID           string               `json:"id,omitempty"`
	At           int64                `json:"at,omitempty"` // 0: the time of the id, as usual
	Site         string               `json:"site,omitempty"`
	Tags         []string             `json:"tags,omitempty"`
	Kind         string               `json:"kind,omitempty"`
	Severity     string               `json:"severity,omitempty"`
	Agents       []diff.AgentChange   `json:"agents,omitempty"` // where verdicts cannot say it
	Verdicts     []keptVerdict        `json:"verdicts,omitempty"`
	Who          string               `json:"who,omitempty"`   // the verdict on each agent, a letter from verdictLetters; "": all have the only one
	State        *watcher.StateChange `json:"state,omitempty"` // nil: policy before and after
	BeforeSHA256 string               `json:"before_sha256,omitempty"`
	AfterSHA256  string               `json:"after_sha256,omitempty"`
	Watched      bool                 `json:"watched,omitempty"`
	Backfilled   bool                 `json:"backfilled,omitempty"`
	Link         string               `json:"link,omitempty"`
}

// keptVerdict is what a change means for an agent, without the agent.
type keptVerdict struct {
	diff.AgentChange
	Agent           string       `json:"agent,omitempty"`
	NewlyDisallowed []diff.Entry `json:"newly_disallowed,omitempty"`
	NewlyAllowed    []diff.Entry `json:"newly_allowed,omitempty"`
}

const verdictLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var policyHeld = watcher.StateChange{Before: fetch.Policy, After: fetch.Policy}

// packedChange is a change ready for its row.
type packedChange struct {
	*watcher.Change
	key           []byte   // of the row: the id's octets
	agents        []string // whom it touches
	before, after watcher.Hash
	data          []byte
}

// packChange does all that a change needs before its row is written.
func packChange(c *watcher.Change) (p packedChange, err error) {
	p.Change = c
	id, err := ulid.ParseStrict(c.ID)
	if err != nil {
		return p, fmt.Errorf("a change of %s has the id %q, which is no ULID", c.Site, c.ID)
	}
	p.key = id.Bytes()
	for _, h := range []struct {
		text string
		to   *watcher.Hash
	}{{c.BeforeSHA256, &p.before}, {c.AfterSHA256, &p.after}} {
		if err := h.to.UnmarshalText([]byte(h.text)); err != nil {
			return p, fmt.Errorf("change %s: %w", c.ID, err)
		}
	}
	k := keptEvent{Change: *c, Tags: c.Tags, Link: c.Link}
	if c.Schema != watcher.ChangeSchema {
		k.Schema = c.Schema
	}
	if at := toMillis(c.At); at != int64(id.Time()) {
		k.At = at
	}
	if c.State != policyHeld {
		k.State = &c.State
	}
	p.agents = k.setAgents(c)
	if p.data, err = packEvent(k); err != nil {
		return p, fmt.Errorf("change %s: %w", c.ID, err)
	}
	row := changeRow{key: p.key, kind: string(c.Kind), origin: c.Site, severity: int64(c.Severity.Rank()), watched: c.Watched,
		backfill: c.Backfilled, before: p.before[:], after: p.after[:], data: p.data}
	row.agents.String = joinSet(p.agents)
	copy(p.data, row.sum())
	return p, nil
}

func packChanges(list []watcher.Change) ([]packedChange, error) {
	packed := make([]packedChange, len(list))
	for i := range list {
		var err error
		if packed[i], err = packChange(&list[i]); err != nil {
			return nil, err
		}
	}
	return packed, nil
}

// sum is what changes.data begins with, a frame of zstd otherwise: a checksum of
// all that the row says, in place of zstdMagic.
func (r *changeRow) sum() []byte {
	said := slices.Concat(r.key, []byte(r.origin), []byte{0}, []byte(r.kind), []byte{0}, []byte(r.agents.String),
		[]byte{0, byte(r.severity), byte(toInt(r.watched)), byte(toInt(r.backfill))}, r.before, r.after, r.data[len(zstdMagic):])
	return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(said))
}

// setAgents groups agents by their verdict, and gives the set of all that the
// change touches. A set says neither twice the same name nor one with a comma.
func (k *keptEvent) setAgents(c *watcher.Change) []string {
	set := make([]string, 0, len(c.Agents)+len(c.CrawlDelays))
	for i := range c.Agents {
		set = append(set, c.Agents[i].Agent)
	}
	for _, d := range c.CrawlDelays {
		set = append(set, d.Agent)
	}
	who := make([]byte, len(c.Agents))
	for i := range c.Agents {
		a := &c.Agents[i]
		v := slices.IndexFunc(k.Verdicts, func(v keptVerdict) bool { return sameVerdict(&v.AgentChange, a) })
		if v < 0 {
			v = len(k.Verdicts)
			k.Verdicts = append(k.Verdicts, keptVerdict{AgentChange: *a, NewlyDisallowed: a.NewlyDisallowed, NewlyAllowed: a.NewlyAllowed})
		}
		if v == len(verdictLetters) || strings.Contains(a.Agent, ",") {
			k.Agents, k.Verdicts = c.Agents, nil
			return sortedTags(set)
		}
		who[i] = verdictLetters[v]
	}
	if len(k.Verdicts) > 1 || len(c.Agents) < len(set) {
		k.Who = string(who)
	}
	return set
}

// sameVerdict reports whether nothing but the agent differs.
func sameVerdict(a, b *diff.AgentChange) bool {
	if a.Direction != b.Direction || a.Proven != b.Proven || a.Before != b.Before || a.After != b.After || a.Note != b.Note {
		return false
	}
	return sameList(a.NewlyDisallowed, b.NewlyDisallowed, sameEntry) && sameList(a.NewlyAllowed, b.NewlyAllowed, sameEntry) &&
		sameList(a.NoEffect, b.NoEffect, func(p, q diff.NoEffect) bool { return p == q })
}

// sameList is quick where both are one, as they are for agents of one group.
func sameList[T any](a, b []T, same func(a, b T) bool) bool {
	if len(a) != len(b) || len(a) > 0 && &a[0] == &b[0] {
		return len(a) == len(b)
	}
	return slices.EqualFunc(a, b, same)
}

func sameEntry(a, b diff.Entry) bool {
	return a.Example == b.Example && a.AllowedBy == b.AllowedBy && a.AllowedLine == b.AllowedLine &&
		samePointed(a.Rule, b.Rule) && samePointed(a.Line, b.Line)
}

func samePointed[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// changeColumns is what changeRow scans; of the table called changes.
const changeColumns = `changes.id, changes.kind, changes.severity, changes.watched, changes.backfill,
	(SELECT sites.origin FROM sites WHERE sites.id = changes.site_id),
	(SELECT sets.members FROM sets WHERE sets.id = changes.agents_id),
	(SELECT bodies.sha256 FROM bodies WHERE bodies.id = changes.before_id),
	(SELECT bodies.sha256 FROM bodies WHERE bodies.id = changes.after_id), changes.data`

// changeRow is a change as its row and its neighbours keep it.
type changeRow struct {
	key               []byte
	kind, origin      string
	severity          int64
	watched, backfill bool
	agents            sql.NullString
	before, after     []byte
	data              []byte
}

// scan reads changeColumns, and more columns before them.
func (r *changeRow) scan(scan Scan, first ...any) error {
	var watched, backfill int64
	err := scan(append(first, &r.key, &r.kind, &r.severity, &watched, &backfill, &r.origin, &r.agents, &r.before, &r.after, &r.data)...)
	r.watched, r.backfill = watched != 0, backfill != 0
	return err
}

// change is the inverse of packChange.
func (r *changeRow) change() (c watcher.Change, err error) {
	var id ulid.ULID
	var before, after watcher.Hash
	copy(id[:], r.key)
	copy(before[:], r.before)
	copy(after[:], r.after)
	r.before, r.after = before[:], after[:]
	if len(r.data) < len(zstdMagic) || !bytes.Equal(r.sum(), r.data[:len(zstdMagic)]) {
		return c, fmt.Errorf("change %s: %w: its row and its event do not fit together", id, ErrCorrupt)
	}
	k := keptEvent{}
	if err := unpackJSON(slices.Concat(zstdMagic, r.data[len(zstdMagic):]), &k); err != nil {
		return c, fmt.Errorf("change %s: %w", id, err)
	}
	c = k.Change
	c.Schema, c.ID, c.At, c.Site, c.Link = cmp.Or(k.Schema, watcher.ChangeSchema), id.String(), fromMillis(cmp.Or(k.At, int64(id.Time()))), r.origin, k.Link
	c.Kind, c.Severity, c.Watched, c.Backfilled = watcher.Kind(r.kind), severityOf(r.severity), r.watched, r.backfill
	c.BeforeSHA256, c.AfterSHA256 = before.String(), after.String()
	if c.State = policyHeld; k.State != nil {
		c.State = *k.State
	}
	if c.Tags = k.Tags; c.Tags == nil {
		c.Tags = []string{}
	}
	if c.Agents, err = k.agents(splitSet(r.agents.String)); err != nil {
		return c, fmt.Errorf("change %s: %w", id, err)
	}
	return c, nil
}

// agents is the inverse of setAgents.
func (k *keptEvent) agents(set []string) ([]diff.AgentChange, error) {
	if len(k.Verdicts) == 0 {
		return append([]diff.AgentChange{}, k.Agents...), nil
	}
	if k.Who == "" {
		k.Who = strings.Repeat(verdictLetters[:1], len(set))
	}
	if len(k.Who) > len(set) {
		return nil, fmt.Errorf("%w: verdicts on %d agents, and only %d are named", ErrCorrupt, len(k.Who), len(set))
	}
	list := make([]diff.AgentChange, len(k.Who))
	for i := range list {
		n := strings.IndexByte(verdictLetters, k.Who[i])
		if n < 0 || n >= len(k.Verdicts) {
			return nil, fmt.Errorf("%w: no verdict %q", ErrCorrupt, k.Who[i])
		}
		v := &k.Verdicts[n]
		list[i] = v.AgentChange
		list[i].Agent = set[i]
		list[i].NewlyDisallowed, list[i].NewlyAllowed = neverNull(v.NewlyDisallowed), neverNull(v.NewlyAllowed)
	}
	return list, nil
}

func neverNull(list []diff.Entry) []diff.Entry {
	if list == nil {
		return []diff.Entry{}
	}
	return list
}

// severityOf is the inverse of watcher.Severity.Rank.
func severityOf(rank int64) watcher.Severity {
	switch rank {
	case 2:
		return watcher.Critical
	case 1:
		return watcher.Warning
	}
	return watcher.Info
}

// changeKey is the id of a change as its row has it; ok is false for what is
// no id of a change.
func changeKey(id string) (key []byte, ok bool) {
	u, err := ulid.ParseStrict(id)
	return u.Bytes(), err == nil
}
