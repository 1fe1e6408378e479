package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzSiteFile takes the input for a list of sites.
func FuzzSiteFile(f *testing.F) {
	f.Add([]byte("\ufeff# a list\n\nexample.org\n  EXAMPLE.net:8443\tnews, eu,b  # with tags\r\nhttp://example.net\tb\n#last\nbücher.example\nhttp://user:password@x"), false)
	f.Add([]byte("# a list\nTags,Host,schedule,agents\n\"news;eu\",example.edu,@every 1h,\"GPTBot, @ai\"\n,https://example.edu:444/,@every 99999999h,*\n\"\n"), true)
	f.Add([]byte("url,url\n"), true)
	f.Add([]byte(strings.Repeat("a", maxLine+1)+"\nb.example"), false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, csv bool) {
		name := "list.txt"
		if csv {
			name = "list.csv"
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		list := siteFile{Tags: []string{"own"}, path: path}
		err := list.each(options().CheckAgent, func(at place, s Site, err error) bool {
			if err != nil {
				checkWords(t, err.Error())
				return true
			}
			if again, err := NormalizeOrigin(s.Origin); err != nil || again != s.Origin {
				t.Errorf("%q is %q when it is read again: %v", s.Origin, again, err)
			}
			if at.line < 1 || at.column < 1 || !slices.Contains(s.Tags, "own") {
				t.Errorf("%+v at %+v", s, at)
			}
			if s.Schedule != "" && checkSiteSchedule(s.Schedule) != nil {
				t.Errorf("schedule %q", s.Schedule)
			}
			return true
		})
		if err != nil {
			t.Fatalf("no content is to end a reading: %v", err)
		}
	})
}

// FuzzOrigin takes the input for what people write for a site.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"example.com", "HTTPS://Example.com:443/robots.txt", "http://user:password@x", "[::1]:80", "0x7f.1", "bücher.example.", "a_b.example", "xn--a.example",
		"http://[fe80::1%25eth0]", "1.2.3", "a--b.example:0", "\u3002x", "ß.example", "x:99999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		origin, err := NormalizeOrigin(text)
		if err != nil {
			checkWords(t, err.Error())
			return
		}
		if again, err := NormalizeOrigin(origin); err != nil || again != origin {
			t.Errorf("%q is %q, and that is %q: %v", text, origin, again, err)
		}
		if strings.ToLower(origin) != origin || strings.ContainsFunc(origin, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.ContainsAny(origin, "@?#\\%") {
			t.Errorf("%q is %q", text, origin)
		}
	})
}

// checkWords: what is said about bad input fits on a line.
func checkWords(t *testing.T, s string) {
	t.Helper()
	if s == "" || !utf8.ValidString(s) || slices.ContainsFunc([]rune(s), unicode.IsControl) {
		t.Errorf("%.3000q cannot be printed", s)
	}
}
