//go:build !race

// Nothing runs at once here: the race detector would only make it long.

package robots

import (
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
)

// The reference table gives, for each pair of files and each agent, how often
// Google's parser changed its mind, in which direction, and one URL on which
// it did.
func TestGoogleReading_referenceTable(t *testing.T) {
	files := realdata.Archive(t, "pairs.tar.xz")
	flips := 0
	for row := range strings.Lines(string(files["pairs/google_reading.tsv"])) {
		col := strings.Split(strings.TrimSpace(row), "\t")
		if len(col) != 8 || col[0] == "n" { // without a URL nothing flipped
			continue
		}
		n, agent, tightened, loosened := col[0], col[1], col[5], col[6]
		path, ok := strings.CutPrefix(col[7], "https://e.com")
		if !ok {
			t.Fatalf("unexpected URL %s", col[7])
		}
		flips++
		for _, reading := range []Reading{ReadingGoogle, ReadingRFC9309} {
			decide := func(side string) bool {
				return Parse(files["pairs/"+n+"/"+side+".txt"], Options{Reading: reading}).Rules(agent).Decide(path).Allowed
			}
			before, after := decide("before"), decide("after")
			if before == after || after && loosened == "0" || before && tightened == "0" {
				t.Errorf("pair %s, %s: %s on %s: allowed %v, then %v; want a flip (%s to block, %s to allow)",
					n, reading, agent, path, before, after, tightened, loosened)
			}
		}
	}
	if flips < 1000 {
		t.Errorf("only %d flips in the table", flips)
	}
}

func TestGoogleReading(t *testing.T) {
	type probe struct {
		agent, path         string
		allowedRFC, allowed bool
	}
	for name, c := range map[string]struct {
		body   string
		probes []probe
	}{
		"keys count by their beginning": {
			"User-agents: a\nDisallowed: /x\nDisallow-all: /y\nAllowed: /x/ok\n",
			[]probe{{"a", "/x", true, false}, {"a", "/x/ok", true, true}, {"a", "/y", true, false}},
		},
		"DisallowAITraining is a Disallow": {"User-agent: *\nDisallowAITraining: /\n", []probe{{"a", "/x", true, false}}},
		"a token ends at a digit": {
			"User-agent: AI2Bot\nDisallow: /a\nUser-agent: *\nDisallow: /w\n",
			[]probe{{"AI2Bot", "/a", false, true}, {"AI2Bot", "/w", true, false}, {"AI", "/a", true, false}},
		},
		"a whole header is its first word": {
			"User-agent: Mozilla/5.0 (compatible; FooBot/1.0)\nDisallow: /\n",
			[]probe{{"Mozilla", "/", true, false}, {"FooBot", "/", true, true}},
		},
		"a star after the token": {"User-agent: Foo*\nDisallow: /\n", []probe{{"Foo", "/", true, false}}},
		"a star and more":        {"User-agent: * x\nDisallow: /\n", []probe{{"a", "/", false, false}}},
		"a star and no space":    {"User-agent: *x\nDisallow: /\n", []probe{{"a", "/", true, true}, {"x", "/", true, true}}},
		"escapes are not decoded": {
			"User-agent: *\nDisallow: /%7euser\nDisallow: /b%61r\nDisallow: /\u00e9\nDisallow: /city docs\n",
			[]probe{
				{"a", "/~user", false, true}, {"a", "/%7Euser", false, false}, {"a", "/%7euser", false, true},
				{"a", "/bar", false, true}, {"a", "/b%61r", false, false},
				{"a", "/%C3%A9", false, false}, {"a", "/\u00e9", false, false},
				{"a", "/city%20docs", false, true}, {"a", "/city docs", false, false},
			},
		},
		"Allow for an index page": {
			"User-agent: *\nDisallow: /\nAllow: /a/index.html\nAllow: /b/index.htm\nAllow: /c/index.php\nAllow: /*/d/index.html5\n",
			[]probe{
				{"a", "/a/index.html", true, true}, {"a", "/a/", false, true}, {"a", "/a/x", false, false}, {"a", "/a", false, false},
				{"a", "/b/", false, true}, {"a", "/c/", false, false}, {"a", "/x/d/", false, true}, {"a", "/x/d/?q", false, false},
			},
		},
		"Disallow for an index page": {"User-agent: *\nDisallow: /a/index.html\n", []probe{{"a", "/a/", true, true}}},
		"/robots.txt has no place":   {"User-agent: *\nDisallow: /\n", []probe{{"a", "/robots.txt", true, false}}},
		"a line ends at a NUL":       {"User-agent: *\nDisallow: /a\x00b\n", []probe{{"a", "/ac", true, false}}},
		"a literal star in a path":   {"User-agent: *\nDisallow: /a%2A\n", []probe{{"a", "/a*", false, true}, {"a", "/a%2A", false, false}}},
		"a missing colon":            {"User-agent *\nDisallow /x\nDisallow / y\n", []probe{{"a", "/x", false, false}, {"a", "/z", true, true}}},
		"a long line is cut": {
			"User-agent: *\nDisallow: /" + strings.Repeat("a", 20_000) + "\n",
			[]probe{{"a", "/" + strings.Repeat("a", googleLineLimit-11), true, false}, {"a", "/" + strings.Repeat("a", googleLineLimit-12), true, true}},
		},
		"other records do not end the run": {
			"User-agent: a\nSitemap: https://e.com/s\nFoo: x\nUser-agent: b\nDisallow: /\n",
			[]probe{{"a", "/x", false, false}, {"b", "/x", false, false}},
		},
	} {
		rfc, google := Parse([]byte(c.body), Options{}), Parse([]byte(c.body), Options{Reading: ReadingGoogle})
		for _, p := range c.probes {
			if got := rfc.Rules(p.agent).Decide(p.path).Allowed; got != p.allowedRFC {
				t.Errorf("%s, RFC: %s on %.40s: %v", name, p.agent, p.path, got)
			}
			if got := google.Rules(p.agent).Decide(p.path).Allowed; got != p.allowed {
				t.Errorf("%s, Google: %s on %.40s: %v", name, p.agent, p.path, got)
			}
		}
	}
}
