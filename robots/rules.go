package robots

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Tokens lists the product tokens that the file names, lower case, in order
// of first appearance, without "*".
func (f *File) Tokens() []string { return slices.Clone(f.index().tokens) }

// Names reports whether a group names one of the tokens.
func (f *File) Names(token string) bool {
	token = foldToken(token, f.reading)
	return token != wildcardToken && f.index().named[token] != nil
}

// Reading is how the file was read.
func (f *File) Reading() Reading { return f.reading }

// Rules gives the effective rules for a crawler. tokens is its own product
// token, then, where the crawler documents such a chain, the tokens it falls
// back to; the first one that a group names counts, "*" after all of them.
//
// The groups that name the token are merged into one (2.2.1); its Crawl-delay
// is the longest of theirs. The answer is shared by all who ask for the same;
// do not change it.
func (f *File) Rules(tokens ...string) *Rules {
	ix := f.index()
	for _, t := range tokens {
		t = foldToken(t, f.reading)
		if n := ix.named[t]; n != nil && t != wildcardToken {
			return n.effective(f, SourceNamed, t)
		}
	}
	if n := ix.named[wildcardToken]; n != nil {
		return n.effective(f, SourceWildcard, wildcardToken)
	}
	return &Rules{Source: SourceDefault, reading: f.reading}
}

// index says which groups name a token.
type index struct {
	tokens []string // without "*"
	named  map[string]*named
	kept   atomic.Int64 // rules kept in merged sets
}

// named is a token and the groups that name it.
type named struct {
	set   *groupSet
	rules atomic.Pointer[Rules] // made when first asked for
}

func (n *named) effective(f *File, source Source, token string) *Rules {
	if r := n.rules.Load(); r != nil {
		return r
	}
	m, kept := n.set.merge(f)
	r := &Rules{
		Source: source, Token: token, Rules: m.rules, CrawlDelay: m.delay, GroupLines: m.lines,
		reading: f.reading, set: m,
	}
	if kept {
		n.rules.Store(r)
	}
	return r
}

// groupSet is the groups that one or more tokens share.
type groupSet struct {
	groups []int
	merged atomic.Pointer[merged]
}

// merged is a groupSet read as one group.
type merged struct {
	rules []Rule
	delay *CrawlDelay
	lines []int

	build sync.Once
	built *matcher
}

func (m *merged) matcher() *matcher {
	m.build.Do(func() { m.built = newMatcher(m.rules) })
	return m.built
}

// index is made when it is first asked for.
func (f *File) index() *index {
	f.indexOnce.Do(func() { f.indexed = newIndex(f.Groups) })
	return f.indexed
}

func newIndex(groups []Group) *index {
	lists := make(map[string][]int)
	ix := &index{}
	for i := range groups {
		for _, t := range groups[i].Tokens {
			if lists[t] == nil && t != wildcardToken {
				ix.tokens = append(ix.tokens, t)
			}
			lists[t] = append(lists[t], i)
		}
	}
	ix.named = make(map[string]*named, len(lists))
	entries := make([]named, 0, len(lists))
	shared := make(map[string]*groupSet)
	var key []byte
	for t, list := range lists {
		key = key[:0]
		for _, g := range list {
			key = binary.AppendUvarint(key, uint64(g))
		}
		set := shared[string(key)]
		if set == nil {
			set = &groupSet{groups: list}
			shared[strings.Clone(string(key))] = set
		}
		entries = append(entries, named{set: set})
		ix.named[t] = &entries[len(entries)-1]
	}
	return ix
}

// keptRules bounds what a file remembers of merged groups: a hostile file can
// name the same long group together with many short ones.
const keptRules = 200_000

func (s *groupSet) merge(f *File) (m *merged, kept bool) {
	if m := s.merged.Load(); m != nil {
		return m, true
	}
	m = &merged{lines: make([]int, 0, len(s.groups))}
	for _, g := range s.groups {
		m.lines = append(m.lines, f.Groups[g].Line)
		m.delay = longer(m.delay, f.Groups[g].CrawlDelay)
	}
	if len(s.groups) == 1 {
		m.rules = f.Groups[s.groups[0]].Rules
	} else {
		for _, g := range s.groups {
			m.rules = append(m.rules, f.Groups[g].Rules...)
		}
	}
	if f.indexed.kept.Add(int64(len(m.rules))) > keptRules && len(s.groups) > 1 {
		return m, false
	}
	if !s.merged.CompareAndSwap(nil, m) {
		return s.merged.Load(), true
	}
	return m, true
}
