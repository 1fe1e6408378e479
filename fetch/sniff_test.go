package fetch

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
)

// corpus gives the files of one archive of real files by name.
func corpus(t testing.TB, name string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for path, body := range realdata.Archive(t, name) {
		files[filepath.Base(path)] = body
	}
	return files
}

func TestSniff(t *testing.T) {
	html := "<!DOCTYPE html>\n<html><head><title>%</title></head><body>\n<p>hello</p>\n</body></html>\n"
	page := func(title string) string { return strings.ReplaceAll(html, "%", title) }
	for _, c := range []struct {
		name, body string
		want       Reason
	}{
		{"a file", "User-agent: *\nDisallow: /\n", ""},
		{"one record", "Sitemap: https://example.com/s.xml", ""},
		{"upper case, odd spaces", "  USER-AGENT\t: *\n DISALLOW : /x", ""},
		{"carriage returns", "User-agent: *\rDisallow: /x\r", ""},
		{"a slip of the pen", "Disalow: /x", ""},
		{"missing colon", "User-agent *\nDisallow /x", ""},
		{"BOM", "\xef\xbb\xbfUser-agent: *\n", ""},
		{"half a BOM", "\xef\xbbUser-agent: *\n", ""},
		{"UTF-16, little end first", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00 \x00*\x00\n\x00", ""},
		{"UTF-16, big end first", "\xfe\xff\x00A\x00l\x00l\x00o\x00w\x00:\x00/", ""},
		{"UTF-16 page", "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", HTML},
		{"UTF-16, nothing in it", "\xff\xfe", ""},
		{"Latin-1 comment", "# caf\xe9\nUser-agent: *\nDisallow: /caf\xe9\n", ""},
		{"NUL among records", "\x00User-agent: *\x00\nDisallow: /x\n", ""},
		{"file that ends in a comment of HTML", "User-agent: *\nDisallow: /\n<!-- cached -->", ""},
		{"file with line breaks of HTML", "User-agent: *<br/>Sitemap: https://example.com/s.xml", ""},
		{"warning in front", "<br />\n<b>Warning</b>: include() failed\nUser-agent: *\nDisallow: /a\nDisallow: /b\n", ""},
		{"records with 404 in a path", "Disallow: /404\n", ""},
		{"comment with 404", "# 404 not found\n", ""},
		{"only spaces", " \r\n\t", ""},
		{"nothing", "", ""},
		{"other text", "hello", ""},
		{"long text", strings.Repeat("lorem ipsum forbidden ", 100), ""},
		{"a key of other formats", "Host: example.com\n", ""},

		{"page", page("Welcome"), HTML},
		{"page after blank lines", "\n\n  \t" + page("Welcome"), HTML},
		{"page after a comment", "<!-- build 7 -->\n" + page("Welcome"), HTML},
		{"page after a BOM", "\xef\xbb\xbf" + page("Welcome"), HTML},
		{"piece of a page", "<span>hello</span>", HTML},
		{"page about robots.txt", page("How to") + "<pre>\nUser-agent: *\nDisallow: /\n</pre>\n<p>one</p>\n<p>two</p>\n<p>three</p>\n", HTML},
		{"page that quotes an agent", page("DNS error") + "<li>User-Agent: python</li>", HTML},
		{"script", "<script>location.href='/'</script>", HTML},
		{"not found page", page("Page Not Found"), SoftNotFound},
		{"heading says it", "<html><body><h1>403 Forbidden</h1>", SoftNotFound},
		{"not found text", "404 page not found\n", SoftNotFound},
		{"forbidden text", "Forbidden", SoftNotFound},
		{"challenge", page("Just a moment..."), Challenge},
		{"JSON", `{"message":"Not Found"}`, JSON},
		{"JSON list", "[]", JSON},
		{"JSON with a file inside", `{"body":"User-agent: *\nDisallow: /"}`, JSON},
		{"XML", `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`, XML},
		{"XHTML", `<?xml version="1.0"?><!DOCTYPE html><html><head><title>Hi</title></head></html>`, HTML},
		{"PHP", "<?php header('Content-Type: text/plain'); echo 'User-agent: *';", SourceCode},
		{"ASP", "<% Response.Write(1) %>", SourceCode},
		{"PNG", "\x89PNG\r\n\x1a\n\x00\x00", Binary},
		{"gzip", "\x1f\x8b\x08\x00", Binary},
		{"PDF", "%PDF-1.7\n", Binary},
		{"noise", "\x01\x02\x03\x04hello\x05\x06", Binary},
		{"NUL", "hello\x00world", Binary},
	} {
		k := sniff(http.Header{}, []byte(c.body))
		if k.reason != c.want {
			t.Errorf("%s: %q (%s), want %q", c.name, k.reason, k.detail, c.want)
		}
		// What the server calls it changes nothing.
		for _, name := range []string{"text/html", "text/plain; charset=utf-8", "application/json", "image/png"} {
			if got := sniff(http.Header{"Content-Type": {name}}, []byte(c.body)); got != k {
				t.Errorf("%s as %s: %q", c.name, name, got.reason)
			}
		}
	}
}

// One file of each kind that breaks tools.
func TestSniffOddFiles(t *testing.T) {
	want := map[string]Reason{
		"html_body.txt": HTML, "bom_mid_file.txt": HTML, "comment_with_slashes.txt": SoftNotFound, "html_with_directives.txt": HTML, "json_or_xml_or_php.txt": JSON, "not_utf8.txt": Binary,
	}
	for name, body := range corpus(t, "odd.tar.xz") {
		if k := sniff(http.Header{}, body); k.reason != want[name] {
			t.Errorf("%s: %q (%s), want %q", name, k.reason, k.detail, want[name])
		}
	}
}
