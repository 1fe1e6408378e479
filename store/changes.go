package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/robotswatch/robotswatch/watcher"
)

// ChangeByID gives one change, or watcher.ErrNotFound.
func (s *Store) ChangeByID(ctx context.Context, id string) (watcher.Change, error) {
	key, ok := changeKey(id)
	if !ok {
		return watcher.Change{}, fmt.Errorf("change %q: %w", id, watcher.ErrNotFound)
	}
	var r changeRow
	err := r.scan(s.QueryRow(ctx, "SELECT "+changeColumns+" FROM changes WHERE id = $1", key).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = watcher.ErrNotFound
	}
	if err != nil {
		return watcher.Change{}, fmt.Errorf("change %s: %w", id, err)
	}
	return s.decoded.change(&r)
}

// Changes gives the changes that a filter selects, newest first: all of them,
// or the first f.Limit, however long that takes.
func (s *Store) Changes(ctx context.Context, f watcher.ChangeFilter) ([]watcher.Change, error) {
	var list []watcher.Change
	for c, err := range s.WalkChanges(ctx, f) {
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// WalkChanges walks the same, reading a page at a time. After an error it ends.
func (s *Store) WalkChanges(ctx context.Context, f watcher.ChangeFilter) iter.Seq2[watcher.Change, error] {
	return func(yield func(watcher.Change, error) bool) {
		left := f.Limit
		q, err := s.changeConditions(ctx, f)
		if err != nil {
			yield(watcher.Change{}, fmt.Errorf("changes: %w", err))
			return
		}
		for {
			f.Limit = pageSize
			if left > 0 {
				f.Limit = min(pageSize, left)
			}
			page, err := s.changePage(ctx, f, q)
			if err != nil {
				yield(watcher.Change{}, fmt.Errorf("changes: %w", err))
				return
			}
			for _, c := range page.Changes {
				if !yield(c, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if page.Next == "" {
				return
			}
			f.Before = page.Next
		}
	}
}

// ChangePage gives one page of the changes that a filter selects, newest
// first: up to f.Limit, which must be positive. It takes bounded work: a page
// may be short, or empty, and not the last. Where one of the conditions is met
// by few changes, only these are read.
func (s *Store) ChangePage(ctx context.Context, f watcher.ChangeFilter) (watcher.ChangePage, error) {
	var page watcher.ChangePage
	q, err := s.changeConditions(ctx, f)
	if err == nil {
		page, err = s.changePage(ctx, f, q)
	}
	if err != nil {
		return watcher.ChangePage{}, fmt.Errorf("changes: %w", err)
	}
	return page, nil
}

// noKey is not less than any key of a change.
var noKey = bytes.Repeat([]byte{0xff}, len(ulid.ULID{}))

func (s *Store) changePage(ctx context.Context, f watcher.ChangeFilter, q changeQuery) (page watcher.ChangePage, err error) {
	before := noKey
	if f.Before != "" {
		var ok bool
		if before, ok = changeKey(f.Before); !ok {
			return page, nil // nothing lies before what never was
		}
	}
	if until := idBound(f.Until); !f.Until.IsZero() && bytes.Compare(until, before) < 0 {
		before = until
	}
	if q.few {
		page.Changes, err = s.changesBetween(ctx, q.where, nil, before, f.Limit+1)
	} else {
		page, err = s.walkChanges(ctx, f, q, before)
	}
	if len(page.Changes) > f.Limit {
		page.Changes = page.Changes[:f.Limit]
		page.Next = page.Changes[f.Limit-1].ID
	}
	return page, err
}

// walkChanges looks along the changes before a key, at all that come, until it
// has one more than the page takes or has looked at enough.
func (s *Store) walkChanges(ctx context.Context, f watcher.ChangeFilter, q changeQuery, before []byte) (page watcher.ChangePage, err error) {
	chunk := min(f.Limit+1, s.effort.changes) // the next ones may do
	for looked := 0; looked < s.effort.changes; chunk = min(walkChunk, s.effort.changes-looked) {
		along := q.along
		along.parts, along.args = slices.Clone(along.parts), slices.Clone(along.args)
		along.add("changes.id < %s", before)
		var from []byte
		err := s.QueryRow(ctx, "SELECT id FROM changes WHERE "+along.sql()+
			fmt.Sprintf(" ORDER BY changes.id DESC LIMIT 1 OFFSET %d", chunk-1), along.args...).Scan(&from)
		if errors.Is(err, sql.ErrNoRows) {
			from, err = nil, nil // fewer are left
		}
		if err != nil {
			return page, err
		}
		some, err := s.changesBetween(ctx, q.where, from, before, f.Limit+1-len(page.Changes))
		page.Changes = append(page.Changes, some...)
		if err != nil || len(page.Changes) > f.Limit || from == nil || !f.Since.IsZero() && bytes.Compare(from, idBound(f.Since)) <= 0 {
			page.Next = ""
			return page, err
		}
		looked += chunk
		before, page.Next = from, ulid.ULID(from).String()
	}
	return page, nil
}

// changesBetween reads up to a limit of changes, the newest first, whose keys
// are in [from, before); from is nil for all before.
func (s *Store) changesBetween(ctx context.Context, c where, from, before []byte, limit int) ([]watcher.Change, error) {
	c.parts, c.args = slices.Clone(c.parts), slices.Clone(c.args)
	if from != nil {
		c.add("changes.id >= %s", from)
	}
	c.add("changes.id < %s", before)
	return s.queryChanges(ctx, s.decoded.change, "SELECT "+changeColumns+" FROM changes WHERE "+c.sql()+
		fmt.Sprintf(" ORDER BY changes.id DESC LIMIT %d", limit), c.args...)
}

// queryChanges runs a query whose columns are changeColumns.
func (s *Store) queryChanges(ctx context.Context, decode func(*changeRow) (watcher.Change, error), query string, args ...any) (page []watcher.Change, err error) {
	rows, err := s.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var r changeRow
		if err := r.scan(scan); err != nil {
			return err
		}
		c, err := decode(&r)
		page = append(page, c)
		return err
	})
	return page, err
}

// fewChanges is up to how many changes are looked up by an index and sorted;
// more of them are met soon enough on the way from the newest to older ones.
const fewChanges = 2000

// tagPlaces is over how many places the few sites of a tag may be spread.
const tagPlaces = 1000

// changeQuery is a filter as SQL over changes.
type changeQuery struct {
	where
	along where // of the conditions that which an index has in order of keys
	few   bool  // the conditions name the few changes that can meet them
}

// changeConditions is the query of a filter. Each condition that has an
// index is tried for whether few changes meet it; all others are written so
// that no index is used: a database without statistics would take it, and sort
// a million changes.
func (s *Store) changeConditions(ctx context.Context, f watcher.ChangeFilter) (changeQuery, error) {
	var c changeQuery
	var indexed []where // conditions with an index, over changes i
	if f.Site != "" {
		// In order in the index, and nearly always few.
		c.along = condition("changes.site_id = (SELECT id FROM sites WHERE origin = %s)", f.Site)
		c.where = c.along
	}
	if f.Agent != "" {
		set := joinSet([]string{strings.ToLower(f.Agent)})
		c.add("(changes.agents_id + 0)"+inSets, set)
		indexed = append(indexed, condition(touching, set))
	}
	if f.Tag != "" {
		set := joinSet([]string{f.Tag})
		c.add(`EXISTS (SELECT 1 FROM sites WHERE sites.id = changes.site_id AND
			(sites.tags_id + 0) IN (SELECT id FROM sets WHERE {{find}}(members, %s) > 0))`, set)
		var known int
		if err := s.QueryRow(ctx, "SELECT count(*) FROM sets WHERE {{find}}(members, $1) > 0", set).Scan(&known); err != nil {
			return c, err
		}
		if known == 0 { // no site ever had it: nothing to look through
			c.parts = append(c.parts, "1 = 0")
		}
		sel, err := s.selection(ctx, watcher.SiteFilter{Tag: f.Tag})
		if err != nil {
			return c, err
		}
		if places := sel.places(); sel.sites <= fewChanges && len(places) <= tagPlaces && len(places) > 0 {
			at := conditionsOf("sites.active = 1")
			at.at(places)
			indexed = append(indexed, where{[]string{"i.site_id IN (SELECT sites.id FROM sites WHERE " + at.sql() + ")"}, at.args})
		}
	}
	if len(f.Kinds) > 0 {
		var kinds []string
		for _, k := range f.Kinds {
			kinds = append(kinds, string(k))
		}
		c.in("(changes.kind || '')", kinds)
		var by where
		by.in("i.kind", kinds)
		indexed = append(indexed, by)
	} else if !f.Cosmetic {
		c.parts = append(c.parts, "changes.kind <> 'cosmetic'")
	}
	if !f.Until.IsZero() {
		c.add("changes.id < %s", idBound(f.Until))
	}
	if !f.Since.IsZero() {
		c.add("changes.id >= %s", idBound(f.Since))
	}
	if f.Severity != "" {
		c.add("changes.severity >= %s", f.Severity.Rank())
	}
	if f.Site != "" {
		return c, nil
	}
	few, err := s.narrow(ctx, &c.where, indexed)
	c.few = few
	return c, err
}

// touching selects the changes i that touch an agent; changes_agents has no
// others, and has to be told so.
const (
	inSets   = " IN (SELECT id FROM sets WHERE {{find}}(lower(members), %s) > 0)"
	touching = "i.agents_id > 0 AND i.agents_id" + inSets
)

func condition(text string, v any) (c where) {
	c.add(text, v)
	return c
}

// narrow adds the ids of the changes that meet the rarest of the indexed
// conditions, where these are few.
func (s *Store) narrow(ctx context.Context, c *where, indexed []where) (few bool, err error) {
	var rarest [][]byte
	found := false
	for _, by := range indexed {
		ids, err := s.changeIDs(ctx, by)
		if err != nil {
			return false, err
		}
		if len(ids) <= fewChanges && (!found || len(ids) < len(rarest)) {
			rarest, found = ids, true
		}
	}
	switch {
	case found && len(rarest) == 0:
		c.parts = append(c.parts, "1 = 0")
	case found:
		c.inKeys("changes.id", rarest)
	}
	return found, nil
}

// changeIDs gives the changes that meet an indexed condition, or one more than
// are few.
func (s *Store) changeIDs(ctx context.Context, by where) (ids [][]byte, err error) {
	rows, err := s.Query(ctx, "SELECT i.id FROM changes i WHERE "+by.sql()+fmt.Sprintf(" LIMIT %d", fewChanges+1), by.args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var id []byte
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// idBound is the least key of changes at or after a time.
func idBound(t time.Time) []byte {
	var id ulid.ULID
	if err := id.SetTime(uint64(max(t.UnixMilli(), 0))); err != nil {
		return noKey // beyond the year 10889
	}
	return id.Bytes()
}
