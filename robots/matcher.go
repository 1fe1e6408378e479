package robots

import (
	"cmp"
	"slices"
	"strings"
)

// scanUpTo is the number of rules up to which trying each is faster than
// asking a matcher.
const scanUpTo = 8

// matcher answers which of many rules decides on a path.
//
// Patterns without a star (a trailing one changes nothing) stand sorted in
// nodes, each with a link to the longest other node that is a prefix of it.
// All that can match a path are then on the chain of links that starts at the
// path's place in the order. The few patterns with a star inside are tried
// one after the other, heaviest first, after a look at which pairs of octets
// the path has at all.
type matcher struct {
	nodes []node
	wild  []wildcard // heaviest first
}

// choice is a rule and its weight, so that choices compare without a look at
// the rule. The zero value is worse than any rule.
type choice struct {
	weight int
	order  int // index of the rule plus one; 0 is none
}

func (c choice) better(than choice) bool {
	return c.weight > than.weight || c.weight == than.weight && c.order < than.order
}

type node struct {
	text   string
	parent int    // index of the longest node that is a proper prefix, -1 for none
	exact  choice // of patterns that end in $
	prefix choice // of this node's own patterns and those of all nodes above
}

type wildcard struct {
	choice
	pattern string
	pairs   uint64 // see pairsOf: what a path must have to match
}

func newMatcher(rules []Rule) *matcher {
	m := &matcher{nodes: make([]node, 0, len(rules))}
	for i := range rules {
		c := choice{weight: rules[i].weight(), order: i + 1}
		text, anchored := strings.CutSuffix(rules[i].Pattern, "$")
		if !anchored {
			text = strings.TrimRight(text, "*")
		}
		switch {
		case strings.Contains(text, "*"):
			m.wild = append(m.wild, wildcard{c, rules[i].Pattern, pairsOfPattern(text)})
		case anchored:
			m.nodes = append(m.nodes, node{text: text, exact: c})
		default:
			m.nodes = append(m.nodes, node{text: text, prefix: c})
		}
	}
	m.link()
	slices.SortFunc(m.wild, func(a, b wildcard) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.order, b.order))
	})
	return m
}

// link sorts the nodes, makes equal ones one, and links each to the longest
// one that is a prefix of it.
func (m *matcher) link() {
	slices.SortStableFunc(m.nodes, func(a, b node) int { return strings.Compare(a.text, b.text) })
	n := 0
	for _, d := range m.nodes {
		if n > 0 && m.nodes[n-1].text == d.text {
			last := &m.nodes[n-1]
			last.exact, last.prefix = pick(last.exact, d.exact), pick(last.prefix, d.prefix)
			continue
		}
		m.nodes[n] = d
		n++
	}
	m.nodes = slices.Clip(m.nodes[:n])
	for i := range m.nodes {
		// A prefix of a node stands on the chain of its predecessor, or is it.
		up := i - 1
		for up >= 0 && !strings.HasPrefix(m.nodes[i].text, m.nodes[up].text) {
			up = m.nodes[up].parent
		}
		m.nodes[i].parent = up
		if up >= 0 {
			m.nodes[i].prefix = pick(m.nodes[i].prefix, m.nodes[up].prefix)
		}
	}
}

func pick(a, b choice) choice {
	if a.order == 0 || b.order != 0 && b.better(a) {
		return b
	}
	return a
}

// decider is the index of the rule that decides, -1 for none.
func (m *matcher) decider(path string) int {
	best := m.literal(path)
	if len(m.wild) > 0 {
		have := pairsOf(path)
		for i := range m.wild {
			w := &m.wild[i]
			if !w.better(best) {
				break
			}
			if w.pairs&^have == 0 && Match(w.pattern, path) {
				best = w.choice
				break
			}
		}
	}
	return best.order - 1
}

// literal is the best of the patterns without a star.
func (m *matcher) literal(path string) choice {
	low, high := 0, len(m.nodes) // nodes before low are <= path
	for low < high {
		mid := int(uint(low+high) >> 1)
		if m.nodes[mid].text <= path {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return choice{}
	}
	i := low - 1
	common := commonPrefix(m.nodes[i].text, path)
	for i >= 0 && len(m.nodes[i].text) > common {
		i = m.nodes[i].parent
	}
	if i < 0 {
		return choice{}
	}
	if len(m.nodes[i].text) == len(path) {
		return pick(m.nodes[i].prefix, m.nodes[i].exact)
	}
	return m.nodes[i].prefix
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// pairsOf is the set of pairs of neighbouring octets in s, hashed to 64 bits.
// A path can match a pattern only if it has all pairs of the pattern.
func pairsOf(s string) (set uint64) {
	for i := 1; i < len(s); i++ {
		set |= 1 << ((uint(s[i-1])*7 + uint(s[i])) & 63)
	}
	return set
}

func pairsOfPattern(pattern string) (set uint64) {
	for piece := range strings.SplitSeq(pattern, "*") {
		set |= pairsOf(piece)
	}
	return set
}
