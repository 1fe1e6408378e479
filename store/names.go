package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const (
	// namesChunk is how many origins one read takes while names are loaded.
	namesChunk = 20_000
	// namesOverlap is how many ids are read again when sites were added: in
	// PostgreSQL a lower id may be committed after a higher one.
	namesOverlap = 2 * syncBatch
)

// names holds the origins of all sites, for the one question that no index
// answers in both databases: which contain a text. A million take about 30 MB,
// from LoadNames or the first such question on, and are searched in
// milliseconds; an index of parts would cost each site several times its name
// on disk, and every new site the writing of it.
type names struct {
	mu   sync.Mutex // held while names are loaded, so that one caller loads
	text []byte     // origins in order, a line each; replaced, never changed
	last int64      // the greatest id among them
}

// LoadNames reads the names of all sites ahead of the first search for a part
// of one, which would wait for that: a second or two for a million.
func (s *Store) LoadNames(ctx context.Context) error {
	if _, err := s.names.load(ctx, s); err != nil {
		return fmt.Errorf("names of sites: %w", err)
	}
	return nil
}

// load gives the names as they are now.
func (n *names) load(ctx context.Context, s *Store) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var last int64
	if err := s.QueryRow(ctx, "SELECT COALESCE(max(id), 0) FROM sites").Scan(&last); err != nil {
		return nil, err
	}
	if last == n.last {
		return n.text, nil
	}
	var text []byte
	var err error
	if n.text == nil {
		text, err = s.allNames(ctx)
	} else {
		var added []string
		added, err = s.namesSince(ctx, max(0, n.last-namesOverlap))
		text = mergeNames(n.text, added)
	}
	if err != nil {
		return nil, err
	}
	n.text, n.last = text, last
	return text, nil
}

// allNames reads every origin, in order.
func (s *Store) allNames(ctx context.Context) ([]byte, error) {
	text := []byte{}
	for after, n := "", namesChunk; n == namesChunk; {
		n = 0
		rows, err := s.Query(ctx, "SELECT origin FROM sites WHERE origin > $1 ORDER BY origin "+fmt.Sprintf("LIMIT %d", namesChunk), after)
		if err != nil {
			return nil, err
		}
		if err := each(rows, func(scan Scan) error {
			n++
			err := scan(&after)
			text = append(append(text, after...), '\n')
			return err
		}); err != nil {
			return nil, err
		}
	}
	return slices.Clip(text), nil
}

// namesSince reads the origins of sites with a greater id, in no order.
func (s *Store) namesSince(ctx context.Context, id int64) (added []string, err error) {
	rows, err := s.Query(ctx, "SELECT origin FROM sites WHERE id > $1", id)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(scan Scan) error {
		var origin string
		err := scan(&origin)
		added = append(added, origin)
		return err
	})
	return added, err
}

// mergeNames puts names among others, once each.
func mergeNames(text []byte, added []string) []byte {
	slices.Sort(added)
	size := len(text)
	for _, a := range added {
		size += len(a) + 1
	}
	merged := make([]byte, 0, size)
	for _, a := range added {
		i := nameAfter(text, a)
		merged, text = append(merged, text[:i]...), text[i:]
		if line := a + "\n"; !lastLineIs(merged, line) {
			merged = append(merged, line...)
		}
	}
	return append(merged, text...)
}

func lastLineIs(text []byte, line string) bool {
	rest, ok := bytes.CutSuffix(text, []byte(line))
	return ok && (len(rest) == 0 || rest[len(rest)-1] == '\n')
}

// nameAfter is where the first name greater than another begins.
func nameAfter(text []byte, name string) int {
	lo, hi := 0, len(text) // beginnings of names
	for lo < hi {
		begin := lo + bytes.LastIndexByte(text[lo:(lo+hi)/2], '\n') + 1
		end := begin + bytes.IndexByte(text[begin:], '\n')
		if string(text[begin:end]) <= name {
			lo = end + 1
		} else {
			hi = begin
		}
	}
	return lo
}

// namesWith gives up to limit names greater than after that contain a part.
func namesWith(text []byte, part, after string, limit int) (found []string) {
	text = text[nameAfter(text, after):]
	if strings.Contains(part, "\n") {
		return nil
	}
	for len(found) < limit {
		i := bytes.Index(text, []byte(part))
		if i < 0 || len(text) == 0 {
			break
		}
		begin := bytes.LastIndexByte(text[:i], '\n') + 1
		end := i + bytes.IndexByte(text[i:], '\n')
		found = append(found, string(text[begin:end]))
		text = text[end+1:]
	}
	return found
}
