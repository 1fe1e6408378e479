package robots

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

func FuzzMatch(f *testing.F) {
	f.Add("/a*b$", "/aXb")
	f.Add("*$", "/")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern)+len(path) > 2000 {
			return // the oracle is quadratic
		}
		if got, want := Match(pattern, path), matchOracle(pattern, path); got != want {
			t.Errorf("Match(%q, %q) = %v", pattern, path, got)
		}
	})
}

func FuzzNormalizePath(f *testing.F) {
	f.Add("/%7euser/%2F?a=*$#b")
	f.Add("/%%34%4%31")
	f.Fuzz(func(t *testing.T, s string) {
		checkNormal(t, s)
		google := ReadingGoogle.NormalizePath(s)
		if again := ReadingGoogle.NormalizePath(google); again != google {
			t.Errorf("%q: %q, then %q", s, google, again)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$ # c\r\nAllow: /\rSitemap: /s\nCrawl-delay: 1\n"), "/aXb", 30)
	f.Add([]byte("\xef\xbb\xbfUser-agent: foo/1.2 x\nContent-Signal: a=b\nuseragent bar\nDisalow:/\xe9\nAllow: /index.html\n"), "/", 9)
	f.Add([]byte("\xff\xfeU\x00s\x00"), "/", 3)
	f.Fuzz(func(t *testing.T, body []byte, path string, limit int) {
		for _, reading := range []Reading{ReadingRFC9309, ReadingGoogle} {
			checkFile(t, body, path, limit, reading)
		}
	})
}

// checkFile holds what is true of every file.
func checkFile(t *testing.T, body []byte, path string, limit int, reading Reading) {
	given := bytes.Clone(body)
	f := Parse(body, Options{Reading: reading})
	if !bytes.Equal(given, body) {
		t.Fatal("the input was changed")
	}
	lastLine := 0
	for _, r := range f.Records {
		if r.Line <= lastLine || r.Line > f.Lines {
			t.Fatalf("record %+v after line %d of %d", r, lastLine, f.Lines)
		}
		lastLine = r.Line
	}
	if !slices.IsSortedFunc(f.Warnings, func(a, b Warning) int { return a.Line - b.Line }) {
		t.Fatalf("warnings out of order: %v", f.Warnings)
	}
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			if r.Line < g.Line || r.Line > g.EndLine || r.Pattern[0] != '/' && r.Pattern[0] != '*' {
				t.Fatalf("rule %+v in group %d-%d", r, g.Line, g.EndLine)
			}
			if reading == ReadingRFC9309 && NormalizePattern(r.Pattern) != r.Pattern {
				t.Fatalf("pattern %q is not normal", r.Pattern)
			}
		}
	}
	for _, token := range append(f.Tokens(), "nobody-has-this-name") {
		rules := f.Rules(token)
		normal := reading.NormalizePath(path)
		want := decideOracle(rules.Rules, normal)
		if got := rules.Decide(path); normal != "/robots.txt" && (got.Allowed != (want < 0 || rules.Rules[want].Allow) ||
			want >= 0 && got.Rule != &rules.Rules[want]) {
			t.Fatalf("%s on %q: %+v, want rule %d", token, path, got, want)
		}
	}
	if limit <= 0 || limit >= len(body) || utf16Order(body) != nil {
		return
	}
	// What is left of a cut file are the first records of the whole one.
	cut := Parse(body, Options{Reading: reading, MaxBytes: limit})
	if !cut.Truncated || len(cut.Records) > len(f.Records) || !reflect.DeepEqual(cut.Records, f.Records[:len(cut.Records)]) {
		t.Fatalf("cut at %d: records %+v, whole %+v", limit, cut.Records, f.Records)
	}
}
