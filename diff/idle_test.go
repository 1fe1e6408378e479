package diff

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/robots"
)

func TestIdleRules(t *testing.T) {
	const file = `User-agent: *
Disallow: /a
Disallow: /a/b
Disallow: /c
Allow: /c
Allow: /free
Disallow: /d
Disallow: /d
Disallow: /e*
Disallow: /e
Disallow: /f%zz
Disallow: /robots.txt$
Allow: /a/ok
`
	type found struct {
		line, by int
		nothing  bool
	}
	want := []found{
		{3, 2, false}, {4, 5, false}, {6, 0, false}, {8, 7, false}, {9, 10, false},
		{11, 0, true},  // a broken escape
		{12, 0, false}, // always allowed
	}
	list, proven := IdleRules(robots.Parse([]byte(file), robots.Options{}).Rules("x"))
	var got []found
	for _, n := range list {
		f := found{line: n.Rule.Line, nothing: n.Nothing}
		if n.CoveredBy != nil {
			f.by = n.CoveredBy.Line
		}
		got = append(got, f)
	}
	if !proven || !slices.Equal(got, want) {
		t.Errorf("got %v, proven %v; want %v", got, proven, want)
	}
}

// All idle rules together change nothing, and every other rule does in its
// turn: tried with every path up to a length that shows the effect of patterns
// so short.
func TestIdleRules_againstEveryPath(t *testing.T) {
	paths := []string{"/"}
	for from := 0; len(paths[from]) < 7; from++ {
		for _, c := range "/abx" { // x stands for all that no rule mentions
			paths = append(paths, paths[from]+string(c))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{6, 2 * indexFrom}).Draw(t, "most")
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) robots.Rule {
			return robots.Rule{
				Allow:   rapid.Bool().Draw(t, "allow"),
				Pattern: rapid.StringMatching(`/[ab*/]{0,3}\$?`).Draw(t, "pattern"),
			}
		}), most/4, most).Draw(t, "rules")
		for i := range rules {
			rules[i].Line = i + 1
		}
		idle, proven := IdleRules(&robots.Rules{Rules: rules})
		if !proven {
			t.Fatal("not proven")
		}
		var left []robots.Rule
		for _, r := range rules {
			if !slices.ContainsFunc(idle, func(n Idle) bool { return n.Rule.Line == r.Line }) {
				left = append(left, r)
			}
		}
		same := func(p, q []robots.Rule) string {
			for _, path := range paths {
				if naiveAllowed(p, path) != naiveAllowed(q, path) {
					return path
				}
			}
			return ""
		}
		if path := same(rules, left); path != "" {
			t.Fatalf("without %v, %s has another verdict: %v", idle, path, rules)
		}
		for _, r := range left {
			// What could go before r was looked at is gone; a Disallow that
			// could go after it may be all that an Allow overrules.
			set := slices.DeleteFunc(slices.Clone(rules), func(o robots.Rule) bool {
				gone := slices.ContainsFunc(idle, func(n Idle) bool { return n.Rule.Line == o.Line })
				return gone && (len(o.Pattern) > len(r.Pattern) || len(o.Pattern) == len(r.Pattern) &&
					(o.Allow && !r.Allow || o.Allow == r.Allow && o.Line > r.Line))
			})
			without := slices.DeleteFunc(slices.Clone(set), func(o robots.Rule) bool { return o.Line == r.Line })
			if same(set, without) == "" {
				t.Fatalf("%v in %v has no effect", r, rules)
			}
		}
	})
}
