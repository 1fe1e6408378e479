package diff

import (
	"strings"
	"sync"
	"testing"

	"github.com/robotswatch/robotswatch/robots"
)

// fuzzOctets maps any octet to one that patterns of the oracle are made of.
const fuzzOctets = "/a*/b*$a/bab+-\n\n"

// FuzzCompare lets the engine and the oracle look at rule sets that the fuzzer
// makes up.
func FuzzCompare(f *testing.F) {
	o := newOracle(robots.ReadingRFC9309, "/abx", 6)
	deeper := sync.OnceValue(func() *oracle { return newOracle(robots.ReadingRFC9309, "/abx", 8) })
	f.Add([]byte("-/a\n+/ab\n-/*b$"), []byte("-/a*\n-/*b"))
	f.Add([]byte("-/*a*b\n+/a*a"), []byte("-/*a*b"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		b, a := fuzzRules(before), fuzzRules(after)
		if err := check(o, deeper, b, a); err != nil {
			t.Error(err)
		}
	})
}

// fuzzRules reads one rule a line, at most six of at most six octets.
func fuzzRules(text []byte) (rules []robots.Rule) {
	var b strings.Builder
	for _, c := range text {
		if c < 0x20 || !strings.ContainsRune(fuzzOctets, rune(c)) {
			c = fuzzOctets[c%byte(len(fuzzOctets))]
		}
		b.WriteByte(c)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		allow := strings.HasPrefix(line, "+")
		pattern := strings.Trim(line, "+-")
		pattern = pattern[:min(len(pattern), 6)]
		if len(rules) < 6 && pattern != "" && (pattern[0] == '/' || pattern[0] == '*') && !strings.ContainsAny(pattern, "+-") && !strings.Contains(pattern[:len(pattern)-1], "$") {
			rules = append(rules, robots.Rule{Allow: allow, Pattern: pattern})
		}
	}
	return rules
}

// FuzzFiles: whatever the bytes, a report holds what it says.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /%C3%A4"), []byte("User-agent: a\nDisallow: /%2\nCrawl-delay: 1"))
	f.Add([]byte("\xef\xbb\xbfUser-agent:*\rDisallow:%\rDisallow:/*%"), []byte{})
	f.Fuzz(func(t *testing.T, before, after []byte) {
		b, a := NewInput(before), NewInput(after)
		for _, reading := range []robots.Reading{robots.ReadingRFC9309, robots.ReadingGoogle} {
			agents := []Agent{{Token: "a", Reading: reading}, {Token: Everyone, Reading: reading}}
			report := Files(b, a, agents)
			for _, c := range report.Agents {
				agent := Agent{Token: c.Agent, Reading: reading}
				old, now := b.Rules(agent), a.Rules(agent)
				for _, e := range c.NewlyDisallowed {
					if !old.Decide(e.Example).Allowed || now.Decide(e.Example).Allowed {
						t.Errorf("%s: %q is not newly disallowed", reading, e.Example)
					}
				}
				for _, e := range c.NewlyAllowed {
					if old.Decide(e.Example).Allowed || !now.Decide(e.Example).Allowed {
						t.Errorf("%s: %q is not newly allowed", reading, e.Example)
					}
				}
			}
			if same := Files(b, b, agents); !same.Equivalent && len(before) < 1000 {
				t.Errorf("%s: a file differs from itself: %+v", reading, same)
			}
			Render(report)
		}
	})
}
