package diff

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/robots"
)

// The oracle knows nothing of the engine: it lists every path up to a length
// over a few octets, matches by trying all ways, and looks.

// oracle holds all valid paths over an alphabet, shortest first, and which of
// them a pattern matches.
type oracle struct {
	reading  robots.Reading
	alphabet string
	paths    []string
	matches  map[string][]uint64
}

func newOracle(reading robots.Reading, alphabet string, longest int) *oracle {
	o := &oracle{reading: reading, alphabet: alphabet, matches: make(map[string][]uint64)}
	level := []string{"/"}
	for range longest {
		for _, p := range level {
			if o.valid(p) {
				o.paths = append(o.paths, p)
			}
		}
		var next []string
		for _, p := range level {
			for i := range len(alphabet) {
				next = append(next, p+alphabet[i:i+1])
			}
		}
		level = next
	}
	return o
}

// valid is the definition of the paths that count. The google reading compares
// them as they are sent.
func (o *oracle) valid(p string) bool {
	if o.reading == robots.ReadingGoogle {
		return naivePath(p, "*$", true)
	}
	return naivePath(p, "", false)
}

// exempt reports whether the path is allowed whatever the rules say.
func (o *oracle) exempt(p string) bool {
	return p == "/robots.txt" && o.reading != robots.ReadingGoogle
}

func naiveValid(p string) bool { return naivePath(p, "", false) }

// naivePath reads the definition off the text: RFC 3986 and more octets, and
// complete escapes, of which those that could be written plainly may be out.
func naivePath(p, more string, plainEscapes bool) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	for i := 0; i < len(p); i++ {
		c := p[i]
		if c == '%' {
			if i+2 >= len(p) || !strings.Contains("0123456789ABCDEF", p[i+1:i+2]) || !strings.Contains("0123456789ABCDEF", p[i+2:i+3]) {
				return false
			}
			n, _ := strconv.ParseUint(p[i+1:i+3], 16, 8)
			if naiveUnreserved(byte(n)) && !plainEscapes {
				return false
			}
			i += 2
			continue
		}
		if !naiveUnreserved(c) && strings.IndexByte(":/?[]@!&'()+,;="+more, c) < 0 {
			return false
		}
	}
	return true
}

func naiveUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// naiveMatch tries all ways.
func naiveMatch(pattern, path string) bool {
	switch {
	case pattern == "":
		return true
	case pattern == "$":
		return path == ""
	case pattern[0] == '*':
		for i := 0; i <= len(path); i++ {
			if naiveMatch(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	}
	return path != "" && path[0] == pattern[0] && naiveMatch(pattern[1:], path[1:])
}

func (o *oracle) match(pattern string) []uint64 {
	set, known := o.matches[pattern]
	if !known {
		set = make([]uint64, (len(o.paths)+63)/64)
		for i, p := range o.paths {
			if naiveMatch(pattern, p) {
				set[i/64] |= 1 << (i % 64)
			}
		}
		o.matches[pattern] = set
	}
	return set
}

// deciders gives, per path, the index of the rule that decides plus one.
func (o *oracle) deciders(rules []robots.Rule) []int {
	out := make([]int, len(o.paths))
	for i := range rules {
		for w, set := range o.match(rules[i].Pattern) {
			for ; set != 0; set &= set - 1 {
				k := w*64 + bits.TrailingZeros64(set)
				if !o.exempt(o.paths[k]) && (out[k] == 0 || naiveStronger(&rules[i], &rules[out[k]-1])) {
					out[k] = i + 1
				}
			}
		}
	}
	return out
}

// naiveStronger: r, which stands later in the file, takes the decision from q.
func naiveStronger(r, q *robots.Rule) bool {
	return len(r.Pattern) > len(q.Pattern) || len(r.Pattern) == len(q.Pattern) && r.Allow && !q.Allow
}

func naiveDecider(rules []robots.Rule, path string) int {
	best := -1
	for i := range rules {
		if naiveMatch(rules[i].Pattern, path) && (best < 0 || naiveStronger(&rules[i], &rules[best])) {
			best = i
		}
	}
	return best
}

func (o *oracle) allowed(rules []robots.Rule, path string) bool {
	i := naiveDecider(rules, path)
	return o.exempt(path) || i < 0 || rules[i].Allow
}

// findings are what the oracle sees of a pair.
type findings struct {
	disallowed, allowed map[int]int     // rule that decides where it is disallowed -> length of a shortest example
	works               [2]map[int]bool // rules of before, after that decide where the other side says the opposite
	levels              [2]Level
}

func (o *oracle) look(before, after []robots.Rule) findings {
	f := findings{map[int]int{}, map[int]int{}, [2]map[int]bool{{}, {}}, [2]Level{}}
	b, a := o.deciders(before), o.deciders(after)
	var some [2][2]bool
	for k, path := range o.paths {
		i, j := b[k]-1, a[k]-1
		allowedB, allowedA := i < 0 || before[i].Allow, j < 0 || after[j].Allow
		if !o.exempt(path) {
			some[0][btoi(allowedB)] = true
			some[1][btoi(allowedA)] = true
		}
		if allowedB == allowedA {
			continue
		}
		f.works[0][i], f.works[1][j] = true, true
		target, rule := f.disallowed, j
		if allowedA {
			target, rule = f.allowed, i
		}
		if n, known := target[rule]; !known || len(path) < n {
			target[rule] = len(path)
		}
	}
	for side, rules := range [][]robots.Rule{before, after} {
		// A control character stands for text that no rule mentions.
		i := naiveDecider(rules, "/\x01\x02\x01")
		ordinary := i < 0 || rules[i].Allow
		switch {
		case !some[side][0]:
			f.levels[side] = Allowed
		case !some[side][1]:
			f.levels[side] = Blocked
		case ordinary:
			f.levels[side] = Partial
		default:
			f.levels[side] = Restricted
		}
	}
	return f
}

// check compares the engine with the oracle. deeper gives one that lists longer
// paths: it is asked where the engine relies on one.
func check(o *oracle, deeper func() *oracle, before, after []robots.Rule) error {
	out := newSolver(o.reading).compare(before, after)
	err := agree(o, out, before, after, false)
	if err != nil {
		err = agree(deeper(), out, before, after, true)
	}
	if err != nil {
		return fmt.Errorf("%w\nbefore %s\nafter  %s\nengine %+v", err, show(before), show(after), out)
	}
	return nil
}

// reaches reports whether the oracle's paths are long enough to show whatever
// two of the rules do together.
func (o *oracle) reaches(sets ...[]robots.Rule) bool {
	var lengths []int
	for _, rules := range sets {
		for _, r := range rules {
			// An escape may have to be completed.
			lengths = append(lengths, len(shortest(r.Pattern))+2*strings.Count(r.Pattern, "%"))
		}
	}
	slices.Sort(lengths)
	n := len(lengths)
	return n < 2 || lengths[n-1]+lengths[n-2] < len(o.paths[len(o.paths)-1])
}

func show(rules []robots.Rule) string {
	var s []string
	for _, r := range rules {
		s = append(s, "-+"[btoi(r.Allow):][:1]+r.Pattern)
	}
	return strings.Join(s, " ")
}

func agree(o *oracle, out outcome, before, after []robots.Rule, last bool) error {
	if !out.proven {
		return fmt.Errorf("not proven")
	}
	f := o.look(before, after)
	longest := len(o.paths[len(o.paths)-1])
	for _, d := range []struct {
		name    string
		engine  []effect
		oracle  map[int]int
		on, off []robots.Rule
	}{{"disallowed", out.disallowed, f.disallowed, after, before}, {"allowed", out.allowed, f.allowed, before, after}} {
		seen := map[int]bool{}
		for _, e := range d.engine {
			if seen[e.rule] {
				return fmt.Errorf("%s: rule %d twice", d.name, e.rule)
			}
			seen[e.rule] = true
			if !o.valid(e.example) || o.exempt(e.example) {
				return fmt.Errorf("%s: %q is no path", d.name, e.example)
			}
			if naiveDecider(d.on, e.example) != e.rule || d.on[e.rule].Allow || !o.allowed(d.off, e.example) {
				return fmt.Errorf("%s: %q is no example for rule %d", d.name, e.example, e.rule)
			}
			n, known := d.oracle[e.rule]
			inReach := len(e.example) <= longest && strings.Trim(e.example, o.alphabet) == ""
			if known && n < len(e.example) || inReach && n != len(e.example) {
				return fmt.Errorf("%s: %q, shortest has %d octets", d.name, e.example, n)
			}
		}
		for rule := range d.oracle {
			if !seen[rule] {
				return fmt.Errorf("%s: rule %d is missing", d.name, rule)
			}
		}
	}
	idle := [2]map[int]bool{{}, {}}
	for _, n := range out.idle {
		idle[btoi(n.added)][n.rule] = true
		if f.works[btoi(n.added)][n.rule] {
			return fmt.Errorf("rule %d (added %v) has an effect", n.rule, n.added)
		}
	}
	b, a := side{rules: before}, side{rules: after}
	match(&b, &a)
	for k, x := range []side{b, a} {
		for _, i := range x.only {
			if !idle[k][i] && !f.works[k][i] && x.rules[i].Allow && (!last || o.reaches(before, after)) {
				return fmt.Errorf("rule %d of side %d has no effect", i, k)
			}
		}
	}
	for k, level := range []Level{out.before, out.after} {
		if level != f.levels[k] {
			return fmt.Errorf("side %d is %s, should be %s", k, level, f.levels[k])
		}
	}
	return nil
}

// generator makes random rule sets.
type generator struct {
	*rand.Rand
	literals string // octets of patterns
	longest  int
	most     int // rules
}

func (g generator) pattern() string {
	b := []byte{"/*"[g.IntN(4)/3]}
	for range g.IntN(g.longest) {
		if g.IntN(4) == 0 {
			b = append(b, '*')
		} else {
			b = append(b, g.literals[g.IntN(len(g.literals))])
		}
	}
	if g.IntN(5) == 0 {
		b = append(b, '$')
	}
	return string(b)
}

func (g generator) rule() robots.Rule {
	return robots.Rule{Allow: g.IntN(5) < 2, Pattern: g.pattern()}
}

func (g generator) pair() (before, after []robots.Rule) {
	for range g.IntN(g.most + 1) {
		before = append(before, g.rule())
	}
	if g.IntN(4) == 0 {
		for range g.IntN(g.most + 1) {
			after = append(after, g.rule())
		}
		return before, after
	}
	after = append(after, before...)
	for range 1 + g.IntN(3) {
		if len(after) == 0 || g.IntN(3) == 0 {
			after = append(after, g.rule())
			continue
		}
		i := g.IntN(len(after))
		switch g.IntN(4) {
		case 0:
			after = append(after[:i], after[i+1:]...)
		case 1:
			after[i].Allow = !after[i].Allow
		case 2:
			after[i] = g.rule()
		case 3:
			j := g.IntN(len(after))
			after[i], after[j] = after[j], after[i]
		}
	}
	return before, after
}

// TestOracle lets the engine and the brute force answer the same random
// questions. ROBOTSWATCH_ORACLE_PAIRS sets how many.
func TestOracle(t *testing.T) {
	pairs := sizes.Of(t, "ROBOTSWATCH_ORACLE_PAIRS", 8_000, 500)
	for _, c := range []struct {
		name, literals, alphabet string
		share                    int
		reading                  robots.Reading
	}{
		{"letters", "/ab", "/abx", 4, robots.ReadingRFC9309},
		{"one letter", "/a", "/ax", 2, robots.ReadingRFC9309},
		{"escapes", "/%204", "/%2041", 2, robots.ReadingRFC9309},
		{"google", "/a$", "/a$x*", 1, robots.ReadingGoogle},
		{"google escapes", "/%4", "/%41", 1, robots.ReadingGoogle},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := newOracle(c.reading, c.alphabet, 6)
			deeper := sync.OnceValue(func() *oracle { return newOracle(c.reading, c.alphabet, 9-len(c.alphabet)/4) })
			for seed := range uint64(pairs / 10 * c.share) {
				g := generator{rand.New(rand.NewPCG(seed, 1)), c.literals, 5, 5}
				before, after := g.pair()
				if err := check(o, deeper, before, after); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

func naiveAllowed(rules []robots.Rule, path string) bool {
	return (&oracle{}).allowed(rules, path)
}
