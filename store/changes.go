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

// Changes gives one page of the changes that a filter selects, newest first.
func (s *Store) Changes(ctx context.Context, f watcher.ChangeFilter) ([]watcher.Change, error) {
	var page []watcher.Change
	for c, err := range s.WalkChanges(ctx, f) {
		if err != nil {
			return nil, err
		}
		page = append(page, c)
	}
	return page, nil
}

// WalkChanges walks the changes that a filter selects, newest first, reading a
// page at a time. After an error it ends. Where one of the conditions is met by
// few changes, only these are read.
func (s *Store) WalkChanges(ctx context.Context, f watcher.ChangeFilter) iter.Seq2[watcher.Change, error] {
	return func(yield func(watcher.Change, error) bool) {
		left := f.Limit
		c, err := s.changeConditions(ctx, f)
		if err != nil {
			yield(watcher.Change{}, fmt.Errorf("changes: %w", err))
			return
		}
		for {
			size := pageSize
			if left > 0 {
				size = min(size, left)
			}
			page, err := s.changesPage(ctx, c, f.Before, size)
			if err != nil {
				yield(watcher.Change{}, fmt.Errorf("changes: %w", err))
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if len(page) < size {
				return
			}
			f.Before = page[len(page)-1].ID
		}
	}
}

// noKey is not less than any key of a change.
var noKey = bytes.Repeat([]byte{0xff}, len(ulid.ULID{}))

func (s *Store) changesPage(ctx context.Context, c where, before string, size int) (page []watcher.Change, err error) {
	key := noKey
	if before != "" {
		var ok bool
		if key, ok = changeKey(before); !ok {
			return nil, nil // nothing lies before what never was
		}
	}
	c.parts, c.args = slices.Clone(c.parts), slices.Clone(c.args)
	c.add("changes.id < %s", key)
	return s.queryChanges(ctx, s.decoded.change, "SELECT "+changeColumns+" FROM changes WHERE "+c.sql()+
		fmt.Sprintf(" ORDER BY changes.id DESC LIMIT %d", size), c.args...)
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

// changeConditions is a filter as SQL over changes. Each condition that has an
// index is tried for whether few changes meet it; all others are written so
// that no index is used: a database without statistics would take it, and sort
// a million changes.
func (s *Store) changeConditions(ctx context.Context, f watcher.ChangeFilter) (where, error) {
	var c where
	var indexed []where // conditions with an index, over changes i
	if f.Site != "" {
		// Always few, and in order in the index.
		c.add("changes.site_id = (SELECT id FROM sites WHERE origin = %s)", f.Site)
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
	return s.narrow(ctx, c, indexed)
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
func (s *Store) narrow(ctx context.Context, c where, indexed []where) (where, error) {
	var rarest [][]byte
	found := false
	for _, by := range indexed {
		ids, err := s.changeIDs(ctx, by)
		if err != nil {
			return c, err
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
	return c, nil
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
