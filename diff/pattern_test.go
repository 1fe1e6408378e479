package diff

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/robots"
)

func somePattern(t *rapid.T, name string) string {
	return rapid.StringMatching(`[/*][ab*/]{0,5}\$?`).Draw(t, name)
}

func someText(t *rapid.T, name string) string {
	return rapid.StringMatching(`[abx/]{0,7}`).Draw(t, name)
}

// run gives the position after a text, and whether the pattern was complete on
// the way.
func (t *automaton) run(at uint32, text string) (uint32, bool) {
	for i := range len(text) {
		if at == dead || t.complete(at) {
			break
		}
		at = t.step(at, text[i])
	}
	return at, at != dead && t.accepts(at)
}

func TestAutomatonIsTheMatcher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern, path := somePattern(t, "pattern"), "/"+someText(t, "path")
		if _, got := compile(pattern).run(0, path); got != naiveMatch(pattern, path) {
			t.Errorf("%s on %s: %v", pattern, path, got)
		}
	})
}

// What the search takes for granted about positions.
func TestPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := compile(somePattern(t, "pattern"))
		p, _ := a.run(0, "/"+someText(t, "one way"))
		q, _ := a.run(0, "/"+someText(t, "other way"))
		on := someText(t, "on")
		matches := func(at uint32) bool {
			_, ok := a.run(at, on)
			return at != dead && ok
		}
		if !a.complete(p) && !a.complete(q) && a.within(p, q) && matches(p) && !matches(q) {
			t.Errorf("%s matches after %d and not after %d", on, p, q)
		}
		if p == dead || a.complete(p) {
			return
		}
		for _, c := range []byte("abx/") {
			next := a.step(p, c)
			back := next == dead || next == a.seg[p] && next != p+1
			if a.marks[p].has(c) == back && p >= a.fixed {
				t.Errorf("position %d, %c: marked %v, leads to %d", p, c, a.marks[p].has(c), next)
			}
		}
	})
}

func TestLooksAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q, path := somePattern(t, "p"), somePattern(t, "q"), "/"+someText(t, "path")
		matchesP, matchesQ := naiveMatch(p, path), naiveMatch(q, path)
		if covers(p, q) && matchesQ && !matchesP {
			t.Errorf("%s does not cover %s: %s", p, q, path)
		}
		if !compatible(p, q) && matchesP && matchesQ {
			t.Errorf("%s and %s are compatible: %s", p, q, path)
		}
		if matchesP && len(path) < least(p) {
			t.Errorf("%s matches %s, which is shorter than %d", p, path, least(p))
		}
		if s := shortest(p); len(s) != least(p) || !naiveMatch(p, s) {
			t.Errorf("%s: shortest is %s, least %d", p, s, least(p))
		}
	})
}

// Long beginnings are compared another way.
func TestCompatibleLong(t *testing.T) {
	long := "/" + strings.Repeat("a", 40)
	for _, c := range []struct {
		p, q string
		want bool
	}{
		{long, long + "b", true},
		{long + "$", long + "b", false},
		{long + "$", long + "*b", true},
		{long + "b", long + "c", false},
		{long + "*b", long + "c", true},
		{long + "$", long + "$", true},
	} {
		if compatible(c.p, c.q) != c.want || compatible(c.q, c.p) != c.want {
			t.Errorf("%s, %s: want %v", c.p, c.q, c.want)
		}
	}
}

// The language is what normalisation gives for URLs without broken escapes.
func TestLanguageIsNormalised(t *testing.T) {
	broken := func(s string) bool {
		for i := range len(s) {
			if s[i] == '%' && (i+2 >= len(s) || !strings.ContainsRune(hexDigits, rune(s[i+1])) || !strings.ContainsRune(hexDigits, rune(s[i+2]))) {
				return true
			}
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := "/" + string(rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("%%2Aa4$*"))), 0, 8).Draw(t, "raw"))
		if path := robots.NormalizePath(raw); !broken(path) && !rfcLanguage.contains(path) {
			t.Errorf("%q is normal and not in the language", path)
		}
		for _, reading := range []robots.Reading{robots.ReadingRFC9309, robots.ReadingGoogle} {
			if l := languageOf(reading); l.contains(raw) && (reading.NormalizePath(raw) != raw || broken(raw)) {
				t.Errorf("%q is in the language and not normal (%s)", raw, reading)
			}
			if l := languageOf(reading); l.contains(raw) != (&oracle{reading: reading}).valid(raw) {
				t.Errorf("%q: the oracle has another language (%s)", raw, reading)
			}
		}
	})
}
