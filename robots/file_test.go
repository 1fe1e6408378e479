package robots

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestRFC9309_2_2_lineEnds(t *testing.T) {
	for name, body := range map[string]string{
		"LF":                "User-agent: a\n\nDisallow: /x",
		"CRLF":              "User-agent: a\r\n\r\nDisallow: /x\r\n",
		"CR":                "User-agent: a\r\rDisallow: /x\r",
		"mixed":             "User-agent: a\r\n\rDisallow: /x\n",
		"other white space": "\tUser-agent \t:\ta \v\f\n\n  Disallow:/x\t",
	} {
		f := Parse([]byte(body), Options{})
		check(t, f, verdict{"a", "/x", false, SourceNamed, 3})
		if f.Lines != 3 {
			t.Errorf("%s: %d lines, want 3", name, f.Lines)
		}
		checkWarnings(t, f)
	}
	if f := Parse([]byte("User-agent: a\r\r\nDisallow: /x\r\r\n"), Options{}); f.Rules("a").Decide("/x").Rule.Line != 3 {
		t.Error("CR CR LF is two ends of line")
	}
}

func TestRFC9309_2_2_byteOrderMarks(t *testing.T) {
	body := "User-agent: a\nDisallow: /x"
	units := utf16.Encode([]rune("\ufeff" + body + "\u00e9"))
	var le, be []byte
	for _, u := range units {
		le, be = append(le, byte(u), byte(u>>8)), append(be, byte(u>>8), byte(u))
	}
	for name, c := range map[string]struct{ body, code string }{
		"whole":      {"\xef\xbb\xbf" + body, "1 byte-order-mark"},
		"two octets": {"\xef\xbb" + body, "1 byte-order-mark"},
		"one octet":  {"\xef" + body, "1 byte-order-mark"},
		"UTF-16LE":   {string(le), "1 utf-16"},
		"UTF-16BE":   {string(be), "1 utf-16"},
	} {
		f := Parse([]byte(c.body), Options{})
		if f.Rules("a").Decide("/x\u00e9").Allowed {
			t.Errorf("%s: not read", name)
		}
		checkWarnings(t, f, c.code)
	}
	f := Parse([]byte("\xef\xbb\xbf\xef\xbb\xbf"+body), Options{})
	if f.Names("a") {
		t.Error("a second mark is part of the line")
	}
	checkWarnings(t, f, "1 byte-order-mark", "1 odd-white-space", "2 rule-before-group")
}

func TestRFC9309_2_2_oddWhiteSpaceMakesALineUnknown(t *testing.T) {
	for _, odd := range []string{"\u00a0", "\u200b", "\ufeff", "\u3000", "\xa0"} {
		f := Parse([]byte("User-agent: a\n"+odd+"Disallow: /x\nDisallow: /y"), Options{})
		check(t, f, verdict{"a", "/x", true, SourceNamed, 0}, verdict{"a", "/y", false, SourceNamed, 3})
		checkWarnings(t, f, "2 odd-white-space")
		if f.Records[1].Kind != KindUnknown {
			t.Errorf("%q: %+v", odd, f.Records[1])
		}
	}
}

func TestRFC9309_2_2_4_slipsOfThePen(t *testing.T) {
	for _, key := range []string{"disalow", "Dissallow", "dissalow", "disallaw", "DIASLLOW"} {
		f := Parse([]byte("UserAgent: a\n"+key+": /x"), Options{})
		check(t, f, verdict{"a", "/x", false, SourceNamed, 2})
		checkWarnings(t, f, "1 key-typo", "2 key-typo")
		if got := f.Groups[0].Rules[0].Text; got != "Disallow: /x" {
			t.Errorf("quoted as %q", got)
		}
	}
	for _, line := range []string{"Disallow /x", "disallow\t/x", "Disallow  /x # y"} {
		f := Parse([]byte("user agent a\n"+line), Options{})
		check(t, f, verdict{"a", "/x", false, SourceNamed, 2})
		checkWarnings(t, f, "1 missing-colon", "1 key-typo", "2 missing-colon")
	}
	f := Parse([]byte("User-agent *\nDisallow /x:y\nSitemap https://e.com/s.xml"), Options{})
	check(t, f, verdict{"a", "/x:y", false, SourceWildcard, 2}, verdict{"a", "/x", true, SourceWildcard, 0})
	if len(f.Sitemaps) != 1 || f.Sitemaps[0].URL != "https://e.com/s.xml" {
		t.Errorf("sitemaps %v", f.Sitemaps)
	}
}

func TestRFC9309_2_2_4_otherKeysAreNotForgiven(t *testing.T) {
	for _, line := range []string{"Disallowed: /", "Disallow-all: /", "Alow: /", "Disallows: /", "User-agents: b", "-Disallow: /", "Sitemaps: x"} {
		f := Parse([]byte("User-agent: a\n"+line), Options{})
		check(t, f, verdict{"a", "/", true, SourceNamed, 0})
		checkWarnings(t, f, "2 key-unknown")
	}
	f := Parse([]byte("User-agent: a\nDisallowAITraining: /"), Options{})
	check(t, f, verdict{"a", "/", true, SourceNamed, 0})
	checkWarnings(t, f, "2 key-misread")
	for _, line := range []string{"Host: e.com", "Noindex: /", "Clean-param: a /", "Disallow the bots", "X: /", "display: none"} {
		f := Parse([]byte("User-agent: a\n"+line), Options{})
		check(t, f, verdict{"a", "/", true, SourceNamed, 0})
		checkWarnings(t, f)
	}
}

func TestRFC9309_2_3_1_5_everyLineIsKept(t *testing.T) {
	f := Parse([]byte("<html>\nUser-agent: a # me\n# c\n\nFoo : bar\nDisallow: /x # y\nDisallow\n: z\n"), Options{})
	want := []Record{
		{1, KindUnknown, "", "<html>"},
		{2, KindUserAgent, "User-agent", "a"},
		{5, KindUnknown, "Foo", "bar"},
		{6, KindDisallow, "Disallow", "/x"},
		{7, KindUnknown, "", "Disallow"},
		{8, KindUnknown, "", "z"},
	}
	if !reflect.DeepEqual(f.Records, want) {
		t.Errorf("records %+v, want %+v", f.Records, want)
	}
}

func TestRFC9309_2_5_limit(t *testing.T) {
	body := "User-agent: a\nDisallow: /x\nDisallow: /yes"
	for _, c := range []struct {
		limit     int
		truncated bool
		rules     string
	}{
		{len(body) + 1, false, "/x /yes"},
		{len(body), false, "/x /yes"},
		{len(body) - 1, true, "/x"},
		{27, true, "/x"},
		{28, true, "/x"},
		{26, true, "/x"}, // only the end of the line lies beyond
		{25, true, ""},
		{5, true, ""},
	} {
		f := Parse([]byte(body), Options{MaxBytes: c.limit})
		var got []string
		for _, r := range f.Rules("a").Rules {
			got = append(got, r.Pattern)
		}
		if strings.Join(got, " ") != c.rules || f.Truncated != c.truncated || f.Bytes != len(body) {
			t.Errorf("limit %d: rules %q truncated %v, want %q %v", c.limit, got, f.Truncated, c.rules, c.truncated)
		}
		if c.truncated != slices.ContainsFunc(f.Warnings, func(w Warning) bool { return w.Code == WarnTruncated }) {
			t.Errorf("limit %d: warnings %v", c.limit, f.Warnings)
		}
	}
	for name, c := range map[string]struct {
		body  string
		limit int
		want  string
	}{
		"UTF-16, end of line beyond":  {"\xff\xfea\x00\n\x00b\x00", 4, "\xff\xfea\x00"},
		"UTF-16, within a code unit":  {"\xff\xfea\x00\n\x00b\x00", 7, "\xff\xfea\x00\n\x00"},
		"UTF-16, an octet like an LF": {"\xfe\xff\x00a\x0a\x41\x00b", 7, ""},
		"CRLF":                        {"a\r\nb", 2, "a\r"},
		"no end of line":              {"abc", 2, ""},
	} {
		if got, more := Cut([]byte(c.body), c.limit); string(got) != c.want || !more {
			t.Errorf("%s: %q", name, got)
		}
	}
	big := append([]byte("User-agent: a\nDisallow: /x\n#"), make([]byte, DefaultMaxBytes)...)
	if f := Parse(append(big, "\nDisallow: /y"...), Options{}); !f.Truncated || f.Rules("a").Decide("/x").Allowed {
		t.Error("default limit")
	}
}

func TestSitemapsAndCrawlDelays(t *testing.T) {
	f := Parse(lines("Sitemap: https://e.com/a.xml", "User-agent: a", "SITEMAP:https://e.com/b.xml#x", "Disallow: /x", "Crawl-delay: 1.5", "site-map: /c.xml"), Options{})
	want := []Sitemap{{"https://e.com/a.xml", 1}, {"https://e.com/b.xml", 3}, {"/c.xml", 6}}
	if !reflect.DeepEqual(f.Sitemaps, want) {
		t.Errorf("sitemaps %v, want %v", f.Sitemaps, want)
	}
	if d := f.Rules("a").CrawlDelay; d == nil || *d != (CrawlDelay{1.5, 5}) {
		t.Errorf("crawl delay %v", d)
	}
	checkWarnings(t, f, "6 key-typo", "6 sitemap-relative")
	for _, v := range []string{"ten", "-1", "10s", "1e3", "1,5", "0x10", "inf", "NaN", "1.2.3", ".", "", "99999999999999", "10\x03"} {
		f := Parse(lines("User-agent: a", "Crawl-delay: "+v, "Disallow: /x"), Options{})
		if d := f.Rules("a").CrawlDelay; d != nil {
			t.Errorf("%q: %v", v, d)
		}
		checkWarnings(t, f, "2 crawl-delay-invalid")
		check(t, f, verdict{"a", "/x", false, SourceNamed, 3})
	}
	for v, want := range map[string]float64{"0": 0, ".5": .5, "5.": 5, "007": 7, "31536000": MaxCrawlDelay} {
		if d := Parse(lines("User-agent: a", "Crawl-delay: "+v), Options{}).Rules("a").CrawlDelay; d == nil || d.Seconds != want {
			t.Errorf("%q: %v, want %v", v, d, want)
		}
	}
}

func TestSignals(t *testing.T) {
	f := Parse(lines(
		"License: https://e.com/l.xml",
		"User-agent: *",
		"Content-Signal: Search=yes ,ai-train = no,AI-Input=no",
		"Allow: /",
		"Content-Usage: /img/  train-ai=n",
		"content-usage: train-ai=y",
		"User-agent: GPTBot", "User-agent: CCBot",
		"DisallowAITraining: /a%62",
		"Content-Signal: ,",
		"Disallow: /",
	), Options{})
	want := []Signal{
		{"", "license", "", "https://e.com/l.xml", 1},
		{"*", "content-signal", "", "search=yes, ai-train=no, ai-input=no", 3},
		{"*", "content-usage", "/img/", "train-ai=n", 5},
		{"*", "content-usage", "", "train-ai=y", 6},
		{"gptbot", "disallowaitraining", "/ab", "/ab", 9},
		{"ccbot", "disallowaitraining", "/ab", "/ab", 9},
	}
	if !reflect.DeepEqual(f.Signals, want) {
		t.Errorf("signals %+v\nwant %+v", f.Signals, want)
	}
}

func TestBounds(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "User-agent: a%d\n", i)
	}
	for range 51 {
		b.WriteString("Content-Signal: ai-train=no\n")
	}
	f := Parse([]byte(b.String()), Options{})
	if len(f.Signals) != MaxSignals {
		t.Errorf("%d signals", len(f.Signals))
	}
	checkWarnings(t, f, "251 too-many-signals")
	f = Parse([]byte(strings.Repeat("Disallow: /\n", MaxWarnings)), Options{})
	if len(f.Warnings) != MaxWarnings {
		t.Errorf("%d warnings at the limit", len(f.Warnings))
	}
	f = Parse([]byte(strings.Repeat("Disallow: /\n", MaxWarnings+5)), Options{})
	if len(f.Warnings) != MaxWarnings+1 || f.Warnings[MaxWarnings].Code != WarnTooManyWarnings {
		t.Errorf("%d warnings beyond the limit", len(f.Warnings))
	}
}
