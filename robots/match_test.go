package robots

import (
	"strings"
	"testing"
)

func TestRFC9309_2_2_3_match(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no string // space separated
	}{
		{"/", "/ /x", ""},
		{"/fish", "/fish /fish.html /fish/salmon.html /fishheads /fish?id=1", "/Fish /catfish /desert/fish /?id=fish"},
		{"/fish*", "/fish /fish.html /fishheads/x", "/Fish /catfish"},
		{"/fish/", "/fish/ /fish/?id=1", "/fish /fish.html"},
		{"/*.php", "/index.php /a/b.php?x /.php", "/ /windows.PHP"},
		{"/*.php$", "/x.php /a/b.php /x.php.php", "/x.php?a /x.php/ /x.phpx"},
		{"/fish*.php", "/fish.php /fishheads/catfish.php?x", "/Fish.PHP"},
		{"/$", "/", "/x"},
		{"*", "/ /x", ""},
		{"/*", "/ /x", ""},
		{"*$", "/ /x", ""},
		{"/a*$", "/a /abc", "/b"},
		{"/**/x", "/a/x //x", "/x"},
		{"/a*b*c", "/abc /aXbYc /abbcc", "/acb /ab"},
		{"/a*b*b$", "/abb /aXbXb", "/ab"},
		{"/a*ab$", "/aab /aXab", "/ab"},
		{"*/x", "/x /a/x/y", "/a"},
	} {
		for _, p := range strings.Fields(c.yes) {
			if !Match(c.pattern, p) {
				t.Errorf("%s does not match %s", c.pattern, p)
			}
		}
		for _, p := range strings.Fields(c.no) {
			if Match(c.pattern, p) {
				t.Errorf("%s matches %s", c.pattern, p)
			}
		}
	}
}

func TestRFC9309_2_2_2_longestPatternDecides(t *testing.T) {
	f := Parse(lines("User-agent: foo",
		"Allow: /p", "Disallow: /",
		"Allow: /folder", "Disallow: /folder",
		"Allow: /page", "Disallow: /*.htm",
		"Disallow: /wp-admin/", "Allow: /wp-admin/admin-ajax.php"), Options{})
	check(t, f,
		verdict{"foo", "/page", true, SourceNamed, 6},
		verdict{"foo", "/page.htm", false, SourceNamed, 7},
		verdict{"foo", "/folder/x", true, SourceNamed, 4},
		verdict{"foo", "/x", false, SourceNamed, 3},
		verdict{"foo", "/pa", true, SourceNamed, 2},
		verdict{"foo", "/wp-admin/x", false, SourceNamed, 8},
		verdict{"foo", "/wp-admin/admin-ajax.php?a=b", true, SourceNamed, 9},
		verdict{"foo", "/robots.txt", true, SourceNamed, 0},
		verdict{"foo", "/robots.txt?x", false, SourceNamed, 3},
	)
}

func TestRFC9309_2_2_2_normalisation(t *testing.T) {
	for _, c := range []struct {
		rule, path string
		match      bool
	}{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz", true},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", false}, // contested: as written
		{"/foo/bar/ツ", "/foo/bar/%E3%83%84", true},
		{"/foo/bar/%E3%83%84", "/foo/bar/ツ", true},
		{"/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", true},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz", true},
		{"/~user", "/%7euser", true},
		{"/a%2Fb", "/a/b", false},
		{"/a/b", "/a%2fb", false},
		{"/a%2fb", "/a%2Fb", true},
		{"/a-%2A.html", "/a-*.html", true},
		{"/a-%2A.html", "/a-x.html", false},
		{"/foo-%24", "/foo-$", true},
		{"/foo-%24", "/foo-", false},
		{"/a$b", "/a$b", true},
		{"/a$b", "/a%24b", true},
		{"/a$b", "/a", false},
		{"/100%", "/100%25", true},
		{"/*%", "/a%20b", true},
		{"/city docs", "/city%20docs", true},
		{"/x{", "/x%7B1", true},
		{"/caf\xe9", "/caf%E9", true},
		{"/a(b+c", "/a(b+c)", true},
		{"/x", "/x#/y", true},
		{"/x#y", "/x", true},
	} {
		f := Parse([]byte("User-agent: *\nDisallow: "+c.rule), Options{})
		if got := !f.Rules("a").Decide(c.path).Allowed; got != c.match {
			t.Errorf("%s matches %s: %v, want %v", c.rule, c.path, got, c.match)
		}
	}
}

func TestNormalizePath(t *testing.T) {
	for in, want := range map[string]string{
		"": "/", "?a": "/?a", "a": "/a", "/#f": "/", "/a*$": "/a%2A%24", "/%2a%24": "/%2A%24",
		"/%%34": "/%%34", "/%4%31": "/%4%31", "/%%2e": "/%.", "/%": "/%", "/%z": "/%z", "/\x00 \"": "/%00%20%22", "/%E3%83%84": "/%E3%83%84",
	} {
		if got := NormalizePath(in); got != want || NormalizePath(got) != got {
			t.Errorf("%q: %q, then %q; want %q", in, got, NormalizePath(got), want)
		}
	}
	for in, want := range map[string]string{"": "", "/a$": "/a$", "/$a$": "/%24a$", "/*%2a": "/*%2A", "404": "404", "/a%$": "/a%$"} {
		if got := NormalizePattern(in); got != want || NormalizePattern(got) != got {
			t.Errorf("%q: %q, then %q; want %q", in, got, NormalizePattern(got), want)
		}
	}
}

func TestRFC9309_2_2_2_patternsOutsideTheGrammarMatchNothing(t *testing.T) {
	for _, v := range []string{"404.html", "https://e.com/", "$", "%2F", "?x", "e.com/x", "\"/\""} {
		f := Parse([]byte("User-agent: *\nDisallow: "+v), Options{})
		check(t, f, verdict{"a", "/404.html", true, SourceWildcard, 0}, verdict{"a", "/", true, SourceWildcard, 0})
		checkWarnings(t, f, "2 pattern-outside")
	}
}
