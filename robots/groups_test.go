package robots

import (
	"slices"
	"strings"
	"testing"
)

// lines joins lines to a file.
func lines(l ...string) []byte { return []byte(strings.Join(l, "\n") + "\n") }

// verdict is what one agent may do with one path.
type verdict struct {
	agent, path string
	allowed     bool
	source      Source
	line        int // of the deciding rule, 0 for none
}

func check(t *testing.T, f *File, want ...verdict) {
	t.Helper()
	for _, v := range want {
		r := f.Rules(v.agent)
		d := r.Decide(v.path)
		line := 0
		if d.Rule != nil {
			line = d.Rule.Line
		}
		if d.Allowed != v.allowed || r.Source != v.source || line != v.line {
			t.Errorf("%s on %s: allowed %v by line %d (%s), want %v by line %d (%s)",
				v.agent, v.path, d.Allowed, line, r.Source, v.allowed, v.line, v.source)
		}
	}
}

// codes gives "line code" of each warning.
func codes(f *File) []string {
	var out []string
	for _, w := range f.Warnings {
		out = append(out, itoa(w.Line)+" "+string(w.Code))
	}
	return out
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func checkWarnings(t *testing.T, f *File, want ...string) {
	t.Helper()
	if got := codes(f); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q\n%v", got, want, f.Warnings)
	}
}

func TestRFC9309_2_2_1_runOfUserAgentLines(t *testing.T) {
	f := Parse(lines("User-agent: GPTBot", "User-agent: CCBot", "", "# note", "User-agent: ClaudeBot", "Disallow: /"), Options{})
	check(t, f,
		verdict{"GPTBot", "/x", false, SourceNamed, 6},
		verdict{"CCBot", "/x", false, SourceNamed, 6},
		verdict{"claudebot", "/x", false, SourceNamed, 6},
		verdict{"bingbot", "/x", true, SourceDefault, 0},
	)
	checkWarnings(t, f, "3 blank-in-group")
	if got := f.Tokens(); !slices.Equal(got, []string{"gptbot", "ccbot", "claudebot"}) {
		t.Errorf("tokens %q", got)
	}
}

func TestRFC9309_2_2_4_otherRecordsDoNotEndTheRun(t *testing.T) {
	for _, between := range []string{"Sitemap: https://e.com/s.xml", "Crawl-delay: 10", "Noindex: /x", "Foo: bar", "no colon here", "Content-Signal: search=yes"} {
		f := Parse(lines("User-agent: *", between, "User-agent: badbot", "Disallow: /"), Options{})
		check(t, f,
			verdict{"GPTBot", "/x", false, SourceWildcard, 4},
			verdict{"badbot", "/x", false, SourceNamed, 4},
		)
		checkWarnings(t, f, "2 groups-joined")
		if len(f.Groups) != 1 || f.Groups[0].Line != 1 || f.Groups[0].EndLine != 4 {
			t.Errorf("%s: groups %+v", between, f.Groups)
		}
	}
}

func TestRFC9309_2_2_1_ruleEndsTheRunEvenWithoutMeaning(t *testing.T) {
	for _, rule := range []string{"Disallow:", "Allow:", "Disallow: 404.html", "Disallow # nothing :", "Disallow: # all"} {
		f := Parse(lines("User-agent: a", rule, "User-agent: b", "Disallow: /"), Options{})
		want := SourceNamed
		allowed, line := true, 0
		if strings.HasPrefix(rule, "Disallow #") { // no colon, no value: not a rule
			allowed, line = false, 4
		}
		check(t, f, verdict{"a", "/x", allowed, want, line}, verdict{"b", "/x", false, SourceNamed, 4})
	}
}

func TestRFC9309_2_2_1_tokensAreEqualOrNot(t *testing.T) {
	f := Parse(lines("User-agent: Google", "Disallow: /g", "User-agent: Googlebot", "Disallow: /b", "User-agent: *", "Disallow: /w"), Options{})
	check(t, f,
		verdict{"GOOGLEBOT", "/b", false, SourceNamed, 4},
		verdict{"Googlebot", "/g", true, SourceNamed, 0},
		verdict{"Googlebot-Image", "/b", true, SourceWildcard, 0},
		verdict{"Googlebot-Image", "/w", false, SourceWildcard, 6},
		verdict{"Googlebo", "/w", false, SourceWildcard, 6},
	)
}

func TestRFC9309_2_2_1_agentValues(t *testing.T) {
	for _, c := range []struct{ value, token, code string }{
		{"FooBot", "foobot", ""},
		{"FooBot/1.2", "foobot", "agent-version"},
		{"MJ12bot", "mj12bot", ""},
		{"360Spider", "360spider", ""},
		{"archive.org_bot", "archive.org_bot", ""},
		{"*", "*", ""},
		{"* Allow: /", "*", "agent-trailing-text"},
		{"*\tx", "*", "agent-trailing-text"},
		{"PowerMapper Allow: /", "powermapper", "agent-trailing-text"},
		{"Sogou web spider", "sogou", "agent-trailing-text"},
		{"", "", "agent-empty"},
		{`"Arachni/v1.5.1"`, "", "agent-nobody"},
		{"'FooBot'", "", "agent-nobody"},
		{"itm-sonar,axios", "", "agent-nobody"},
		{"GPTBot, CCBot", "", "agent-nobody"},
		{"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "", "agent-nobody"},
		{"*bot*", "", "agent-nobody"},
		{"Mediapartners-Google*", "", "agent-nobody"},
		{"**", "", "agent-nobody"},
		{"*/", "", "agent-nobody"},
		{"/FooBot", "", "agent-nobody"},
		{"Yahoo!", "", "agent-nobody"},
		{"Böt", "", "agent-nobody"},
		{"FooBot\u00a0", "", "odd-white-space"},
	} {
		f := Parse(lines("User-agent: "+c.value, "Disallow: /"), Options{})
		var want []string
		if c.token != "" {
			want = []string{c.token}
		}
		if got := f.Groups[0].Tokens; !slices.Equal(got, want) {
			t.Errorf("%q: tokens %q, want %q", c.value, got, want)
		}
		if c.code == "" {
			checkWarnings(t, f)
		} else {
			checkWarnings(t, f, "1 "+c.code)
		}
	}
}

func TestRFC9309_2_2_1_groupsOfOneTokenMerge(t *testing.T) {
	f := Parse(lines(
		"User-agent: *", "Disallow: /a", "",
		"User-agent: foo", "User-agent: bar", "Disallow: /b", "Crawl-delay: 3", "",
		"User-agent: *", "Disallow: /c", "",
		"User-agent: FOO", "Allow: /b/ok", "Crawl-delay: 7", "Crawl-delay: 2"), Options{})
	check(t, f,
		verdict{"zed", "/a", false, SourceWildcard, 2},
		verdict{"zed", "/c", false, SourceWildcard, 10},
		verdict{"foo", "/b/no", false, SourceNamed, 6},
		verdict{"foo", "/b/ok", true, SourceNamed, 13},
		verdict{"bar", "/b/ok", false, SourceNamed, 6},
		verdict{"foo", "/a", true, SourceNamed, 0},
	)
	foo := f.Rules("foo")
	if !slices.Equal(foo.GroupLines, []int{4, 12}) || foo.Token != "foo" {
		t.Errorf("group lines %v of %q", foo.GroupLines, foo.Token)
	}
	if foo.CrawlDelay == nil || foo.CrawlDelay.Seconds != 7 || f.Rules("bar").CrawlDelay.Seconds != 3 || f.Rules("zed").CrawlDelay != nil {
		t.Error("crawl delays: want 7 for foo, 3 for bar, none for zed")
	}
	checkWarnings(t, f, "15 crawl-delay-conflict")
}

func TestRFC9309_2_2_1_groupWithoutRulesShields(t *testing.T) {
	for _, own := range [][]string{{"User-agent: foo"}, {"User-agent: foo", "Disallow:"}, {"User-agent: foo", "Crawl-delay: 1"}} {
		f := Parse(append(lines("User-agent: *", "Disallow: /"), lines(own...)...), Options{})
		check(t, f, verdict{"foo", "/x", true, SourceNamed, 0}, verdict{"bar", "/x", false, SourceWildcard, 2})
	}
}

func TestRFC9309_2_2_1_ruleAboveEveryGroupIsForNobody(t *testing.T) {
	f := Parse(lines("Disallow: /", "Crawl-delay: 5", "User-agent: foo", "Disallow: /a"), Options{})
	check(t, f, verdict{"foo", "/x", true, SourceNamed, 0}, verdict{"bar", "/", true, SourceDefault, 0})
	checkWarnings(t, f, "1 rule-before-group", "2 record-before-group")
}

func TestRules_documentedFallback(t *testing.T) {
	f := Parse(lines("User-agent: Googlebot", "Disallow: /b", "User-agent: *", "Disallow: /"), Options{})
	r := f.Rules("Applebot", "Googlebot")
	if r.Source != SourceNamed || r.Token != "googlebot" || r.Decide("/x").Allowed != true {
		t.Errorf("Applebot: %+v", r)
	}
	if r := f.Rules("*"); r.Source != SourceWildcard || r.Decide("/x").Allowed {
		t.Errorf("*: %+v", r)
	}
	if f.Names("*") || !f.Names("GoogleBot") || f.Names("Applebot") {
		t.Error("Names: want googlebot only")
	}
}
