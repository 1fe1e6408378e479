package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// maxTagsKnown is how many tags of sites are kept to find the one that was
	// meant, and maxTagsListed how many are listed where none is like it.
	maxTagsKnown  = 10_000
	maxTagsListed = 8
)

// tagUse is a tag that a receiver filters by.
type tagUse struct {
	tag string
	at  place
}

// tagsUsed remembers what a receiver filters by, for when all sites are known.
func tagsUsed(l *loader, g given) {
	e := g.keys["tags"]
	if e == nil {
		return
	}
	for _, n := range e.value.items {
		if tag := strings.TrimPrefix(n.text, "!"); checkTag(tag) == nil {
			l.tagsUsed = append(l.tagsUsed, tagUse{tag, n.at})
		}
	}
}

// tagsMet are the tags that sites have.
type tagsMet struct {
	met   map[string]bool // those that receivers filter by
	known map[string]bool // all, as far as memory allows
	last  []string        // of the site before: lines of a file share them
}

func (l *loader) tagsMet() *tagsMet {
	m := &tagsMet{met: map[string]bool{}, known: map[string]bool{}}
	for _, u := range l.tagsUsed {
		m.met[u.tag] = false
	}
	return m
}

func (m *tagsMet) add(tags []string) {
	if len(m.met) == 0 || len(tags) == 0 || len(m.last) == len(tags) && &m.last[0] == &tags[0] {
		return
	}
	m.last = tags
	for _, t := range tags {
		if _, used := m.met[t]; used {
			m.met[t] = true
		}
		if len(m.known) < maxTagsKnown {
			m.known[t] = true
		}
	}
}

// warnOfTags finds filters by tags that no site has.
func warnOfTags(l *loader, m *tagsMet) {
	for _, u := range l.tagsUsed {
		if !m.met[u.tag] {
			l.warn(u.at, "receivers.tags", "no site has the tag %q%s", u.tag, m.meant(u.tag))
		}
	}
}

// meant names the tag that was probably meant, or all that there are.
func (m *tagsMet) meant(tag string) string {
	known := slices.Sorted(maps.Keys(m.known))
	best, distance := "", min(3, 1+len(tag)/2)
	for _, k := range known {
		if d := editDistance(strings.ToLower(tag), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %q?", best)
	case len(known) == 0:
		return "; none has any"
	case len(known) <= maxTagsListed:
		return fmt.Sprintf("; there are %q", known)
	}
	return ""
}
