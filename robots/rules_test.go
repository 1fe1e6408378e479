package robots

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A file is asked by many at once: its index and its matchers are made when
// they are first needed.
func TestFile_isSafeForConcurrentUse(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "User-agent: a%d\nUser-agent: shared\nDisallow: /%d/\nAllow: /%d/*open$\n", i, i, i)
	}
	f := Parse([]byte(b.String()), Options{})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				own, shared := f.Rules(fmt.Sprintf("a%d", j)), f.Rules("Shared")
				path := fmt.Sprintf("/%d/%d", j, i)
				if own.Decide(path).Allowed || shared.Decide(path).Allowed || !shared.Decide(path+"/open").Allowed {
					t.Errorf("%s", path)
				}
			}
		})
	}
	wg.Wait()
	if n := len(f.Rules("shared").Rules); n != 100 {
		t.Errorf("%d rules", n)
	}
}

// Changing what Tokens gave changes nothing for others.
func TestFile_tokensAreACopy(t *testing.T) {
	f := Parse(lines("User-agent: b", "User-agent: a", "Disallow: /"), Options{})
	f.Tokens()[0] = "x"
	if got := f.Tokens(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("%q", got)
	}
}

// The order of rules, and how a group is cut into groups, never matter.
func TestRFC9309_2_2_2_orderNeverMatters(t *testing.T) {
	rules := []string{"Allow: /p", "Disallow: /", "Disallow: /page*", "Allow: /page", "Disallow: /*.gif$", "Allow: /a/*.gif", "Crawl-delay: 3", "Crawl-delay: 5"}
	paths := []string{"/", "/p", "/page", "/page1", "/a/x.gif", "/b/x.gif", "/b/x.gif?y", "/z"}
	verdicts := func(body []byte) string {
		r := Parse(body, Options{}).Rules("a")
		s := fmt.Sprint(r.CrawlDelay.Seconds)
		for _, p := range paths {
			s += fmt.Sprint(" ", r.Decide(p).Allowed)
		}
		return s
	}
	want := verdicts(append([]byte("User-agent: a\n"), lines(rules...)...))
	for turn := range rules {
		turned := append(slices.Clone(rules[turn:]), rules[:turn]...)
		slices.Reverse(turned)
		whole := append([]byte("User-agent: a\n"), lines(turned...)...)
		var split []byte
		for _, r := range turned {
			split = append(split, lines("User-agent: a", r, "User-agent: other", "Disallow: /x")...)
		}
		// A Crawl-delay does not end its run: other has it too, and a has
		// the rule for /x.
		for _, body := range [][]byte{whole, split} {
			if got := verdicts(body); got != want {
				t.Errorf("%s: %s, want %s", body, got, want)
			}
		}
	}
}

// What is skipped costs no allocation, a rule that is kept at most two, beyond
// what grows with the whole file.
func TestParse_allocations(t *testing.T) {
	count := func(line string, n int) float64 {
		body := []byte("User-agent: a\n" + strings.Repeat(line, n))
		return testing.AllocsPerRun(5, func() { Parse(body, Options{}) })
	}
	for _, c := range []struct {
		line string
		most float64
	}{
		{"# a comment\n", 0},
		{"\r\n", 0},
		{"some-key: some value\n", 0},
		{"text without a key\n", 0},
		{"Disallow: /path/of/a/site\n", 0},
		{"Disallow: /*?utm_source=$\n", 0},
		{"disallow:/path\n", 1},
		{"disallow:/%7euser/caf\u00e9/%C3%A9\n", 2},
	} {
		const few, many, slack = 500, 1500, 30 // slices that grow
		if got := count(c.line, many) - count(c.line, few); got > c.most*(many-few)+slack {
			t.Errorf("%q: %v allocations for %d lines more", c.line, got, many-few)
		}
	}
	r := Parse(lines("User-agent: a", "Disallow: /a", "Disallow: /b*c", "Allow: /d$", "Allow: /1", "Allow: /2", "Allow: /3", "Allow: /4", "Allow: /5", "Allow: /6"), Options{}).Rules("a")
	if got := testing.AllocsPerRun(100, func() { r.Decide("/b/x/c?d=e") }); got != 0 {
		t.Errorf("a decision allocates %v times", got)
	}
}
