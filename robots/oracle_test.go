package robots

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// matchOracle is the definition of 2.2.3 as a table: what of the path each
// beginning of the pattern can have used up. Quadratic and obvious.
func matchOracle(pattern, path string) bool {
	anchored := strings.HasSuffix(pattern, "$")
	if anchored {
		pattern = pattern[:len(pattern)-1]
	}
	reach := make([]bool, len(path)+1)
	reach[0] = true
	for _, c := range []byte(pattern) {
		next := make([]bool, len(path)+1)
		for i := range reach {
			switch {
			case c == '*' && (reach[i] || i > 0 && next[i-1]):
				next[i] = true
			case c != '*' && i > 0 && reach[i-1] && path[i-1] == c:
				next[i] = true
			}
		}
		reach = next
	}
	if anchored {
		return reach[len(path)]
	}
	return slices.Contains(reach, true)
}

// decideOracle looks at every rule and sorts the ones that match.
func decideOracle(rules []Rule, path string) int {
	var matching []int
	for i := range rules {
		if matchOracle(rules[i].Pattern, path) {
			matching = append(matching, i)
		}
	}
	if len(matching) == 0 {
		return -1
	}
	slices.SortStableFunc(matching, func(a, b int) int {
		if c := cmp.Compare(len(rules[b].Pattern), len(rules[a].Pattern)); c != 0 {
			return c
		}
		switch {
		case rules[a].Allow == rules[b].Allow:
			return 0
		case rules[a].Allow:
			return -1
		}
		return 1
	})
	return matching[0]
}

func TestMatch_againstTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("/ab*$")), 0, 12, -1).Draw(t, "pattern")
		path := rapid.StringOfN(rapid.RuneFrom([]rune("/ab$")), 0, 12, -1).Draw(t, "path")
		if got, want := Match(pattern, path), matchOracle(pattern, path); got != want {
			t.Fatalf("Match(%q, %q) = %v", pattern, path, got)
		}
	})
}

// Every path up to length 6 over a small alphabet, against every pattern up
// to length 5.
func TestMatch_exhaustive(t *testing.T) {
	patterns, paths := words("/a*$", 4), words("/ab", 6)
	for _, pattern := range patterns {
		for _, path := range paths {
			if got, want := Match(pattern, path), matchOracle(pattern, path); got != want {
				t.Fatalf("Match(%q, %q) = %v", pattern, path, got)
			}
		}
	}
}

func words(alphabet string, n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		to := len(all)
		for _, w := range all[from:to] {
			for _, c := range alphabet {
				all = append(all, w+string(c))
			}
		}
		from = to
	}
	return all
}

func drawRules(t *rapid.T, most int) []Rule {
	pattern := rapid.StringOfN(rapid.RuneFrom([]rune("/aab*")), 0, 6, -1)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rule {
		p := rapid.SampledFrom([]string{"/", "/", "*"}).Draw(t, "first") + pattern.Draw(t, "rest") +
			rapid.SampledFrom([]string{"", "", "", "$"}).Draw(t, "last")
		return Rule{Allow: rapid.Bool().Draw(t, "allow"), Pattern: p}
	}), 0, most).Draw(t, "rules")
}

func TestMatcher_decidesLikeLookingAtEveryRule(t *testing.T) {
	paths := words("/ab", 5)
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t, 40)
		m, byHand := newMatcher(rules), &Rules{Rules: rules}
		for _, path := range paths {
			if path == "" || path[0] != '/' {
				continue
			}
			want := decideOracle(rules, path)
			if got := m.decider(path); got != want {
				t.Fatalf("matcher on %q: rule %d, want %d", path, got, want)
			}
			if got := byHand.decider(path); got != want {
				t.Fatalf("scan on %q: rule %d, want %d", path, got, want)
			}
		}
	})
}

// A file is drawn as groups, then written down with all the freedom that a
// file has; reading it must give the groups back.
func TestParse_readsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(rapid.Custom(drawGroup), 1, 5).Draw(t, "groups")
		body := writeFile(t, groups)
		f := Parse([]byte(body), Options{})
		if len(f.Groups) != len(groups) {
			t.Fatalf("%d groups, want %d:\n%s", len(f.Groups), len(groups), body)
		}
		for i, g := range f.Groups {
			if !slices.Equal(g.Tokens, unique(groups[i].agents)) || !reflect.DeepEqual(verdicts(g.Rules), verdicts(groups[i].rules)) {
				t.Fatalf("group %d: %+v, want %+v:\n%s", i, g, groups[i], body)
			}
		}
		for _, agent := range []string{"a", "b", "c1", "none"} {
			want := mergeOracle(groups, agent)
			got := f.Rules(agent)
			if !reflect.DeepEqual(verdicts(got.Rules), verdicts(want)) {
				t.Fatalf("%s: %+v, want %+v:\n%s", agent, got.Rules, want, body)
			}
			for _, path := range []string{"/", "/a", "/a/b", "/aab", "/b"} {
				at := decideOracle(want, path)
				if allowed := at < 0 || want[at].Allow; got.Decide(path).Allowed != allowed {
					t.Fatalf("%s on %s: want allowed %v:\n%s", agent, path, allowed, body)
				}
			}
		}
	})
}

type drawn struct {
	agents []string
	rules  []Rule
}

func drawGroup(t *rapid.T) drawn {
	rules := drawRules(t, 5)
	if len(rules) == 0 {
		rules = []Rule{{Pattern: "/"}} // without a rule the next group would join
	}
	return drawn{rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c1", "*"}), 1, 3).Draw(t, "agents"), rules}
}

func writeFile(t *rapid.T, groups []drawn) string {
	eol := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "eol")
	space := func() string { return rapid.SampledFrom([]string{"", " ", "\t", "  "}).Draw(t, "space") }
	var b strings.Builder
	write := func(key, value string) {
		if rapid.Bool().Draw(t, "noise") {
			b.WriteString(rapid.SampledFrom([]string{"", "# c", "Sitemap: https://e.com/s", "Crawl-delay: x", "Foo: bar", "junk", "Disallowed: /"}).Draw(t, "line") + eol)
		}
		if rapid.Bool().Draw(t, "upper") {
			key = strings.ToUpper(key)
		}
		comment := rapid.SampledFrom([]string{"", "", "#", " # c: /"}).Draw(t, "comment")
		b.WriteString(space() + key + space() + ":" + space() + value + space() + comment + eol)
	}
	for _, g := range groups {
		for _, a := range g.agents {
			write("User-agent", a)
		}
		for _, r := range g.rules {
			if r.Allow {
				write("Allow", r.Pattern)
			} else {
				write("Disallow", r.Pattern)
			}
		}
	}
	return rapid.SampledFrom([]string{"", byteOrderMark}).Draw(t, "mark") + b.String()
}

func mergeOracle(groups []drawn, agent string) (rules []Rule) {
	for _, token := range []string{agent, "*"} {
		named := false
		for _, g := range groups {
			if slices.Contains(g.agents, token) {
				named = true
				rules = append(rules, g.rules...)
			}
		}
		if named {
			return rules
		}
	}
	return nil
}

func unique(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// verdicts are rules without their place and their text. A drawn pattern may
// have a $ that becomes %24 when read.
func verdicts(rules []Rule) []Rule {
	out := []Rule{}
	for _, r := range rules {
		out = append(out, Rule{Allow: r.Allow, Pattern: NormalizePattern(r.Pattern)})
	}
	return out
}

func TestNormalize_twiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("/aF2%45*$#é \x00")), 0, 14, -1).Draw(t, "s")
		checkNormal(t, s)
	})
}

// checkNormal holds what normalising must not break.
func checkNormal(t interface{ Fatalf(string, ...any) }, s string) {
	path, pattern := NormalizePath(s), NormalizePattern(s)
	if again := NormalizePath(path); again != path {
		t.Fatalf("path %q: %q, then %q", s, path, again)
	}
	if again := NormalizePattern(pattern); again != pattern {
		t.Fatalf("pattern %q: %q, then %q", s, pattern, again)
	}
	if strings.ContainsAny(path, "*$#") || path[0] != '/' {
		t.Fatalf("path %q: %q", s, path)
	}
	for _, out := range []string{path, pattern} {
		for i := range len(out) {
			if out[i] <= ' ' || out[i] >= 0x7f {
				t.Fatalf("%q: octet %#x in %q", s, out[i], out)
			}
		}
	}
	if strings.HasPrefix(s, "/") && !strings.ContainsAny(s, "*$#") {
		if path != pattern {
			t.Fatalf("%q is %q as a path and %q as a pattern", s, path, pattern)
		}
		if !Match(pattern, path) {
			t.Fatalf("%q does not match itself", s)
		}
	}
}
