package robots

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// Files as they are found, and what they must come out as.
func TestStories(t *testing.T) {
	t.Run("Crawl-delay between User-agent lines blocks everyone", func(t *testing.T) {
		f := Parse(lines("User-agent: *", "Crawl-delay: 10", "User-agent: badbot", "Disallow: /"), Options{})
		check(t, f, verdict{"Googlebot", "/", false, SourceWildcard, 4}, verdict{"badbot", "/", false, SourceNamed, 4})
		checkWarnings(t, f, "2 groups-joined")
		const want = "this line does not end the list of User-agent lines: the rules below also apply to the agents above (2.2.4)"
		if f.Warnings[0].Text != want {
			t.Errorf("warning %q", f.Warnings[0].Text)
		}
	})
	t.Run("a list of agents is blocked whole", func(t *testing.T) {
		f := Parse(lines("User-agent: GPTBot", "User-agent: CCBot", "User-agent: ClaudeBot", "Disallow: /"), Options{})
		for _, agent := range []string{"GPTBot", "CCBot", "ClaudeBot"} {
			check(t, f, verdict{agent, "/x", false, SourceNamed, 4})
		}
	})
	t.Run("one file of a closed directory is open", func(t *testing.T) {
		f := Parse(lines("User-agent: *", "Disallow: /wp-admin/", "Allow: /wp-admin/admin-ajax.php"), Options{})
		check(t, f, verdict{"a", "/wp-admin/admin-ajax.php", true, SourceWildcard, 3}, verdict{"a", "/wp-admin/", false, SourceWildcard, 2})
	})
	t.Run("a managed block stands above the site's own", func(t *testing.T) {
		f := Parse(lines("# BEGIN managed", "User-agent: *", "Content-Signal: search=yes,ai-train=no", "Allow: /", "",
			"User-agent: Amazonbot", "Disallow: /", "# END managed", "", "User-agent: *", "Disallow: /private/"), Options{})
		check(t, f,
			verdict{"Amazonbot", "/x", false, SourceNamed, 7},
			verdict{"GPTBot", "/x", true, SourceWildcard, 4},
			verdict{"GPTBot", "/private/x", false, SourceWildcard, 11})
		if len(f.Signals) != 1 || f.Signals[0].Scope != "*" || f.Signals[0].Value != "search=yes, ai-train=no" {
			t.Errorf("signals %+v", f.Signals)
		}
	})
	t.Run("a Sitemap line in a list of AI tokens blocks everyone", func(t *testing.T) {
		f := Parse(lines("User-agent: *", "Sitemap: https://e.com/s.xml", "User-agent: GPTBot", "User-agent: CCBot", "Disallow: /"), Options{})
		check(t, f, verdict{"Googlebot", "/", false, SourceWildcard, 5})
		checkWarnings(t, f, "2 groups-joined")
	})
}

// Files that break tools, in small: what is left of each.
func TestOddFiles(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		groups   int
		warnings string
	}{
		"nothing":                     {"", 0, ""},
		"a byte order mark alone":     {byteOrderMark, 0, "1 byte-order-mark"},
		"an end of line alone":        {"\r", 0, ""},
		"a web page":                  {"<!DOCTYPE html>\r\n<html lang=\"en\">\r\n<style>body{color:red}</style>\r\n</html>", 0, ""},
		"a page glued to a file":      {"<p>Not found</p>User-agent: *\nDisallow: /", 0, "2 rule-before-group"},
		"JSON":                        {`{"message":"Forbidden"}`, 0, ""},
		"a comment of another kind":   {"/*Not found*/", 0, ""},
		"binary data":                 {"\xa1\xb0\x01\x00 v\xb6\n\x8d:\xf8", 0, "1 nul-byte"},
		"binary data before the key":  {"!t\x00\x04User-agent: *\ncrawl-delay: 10\x03", 0, "1 nul-byte 2 crawl-delay-invalid"},
		"rules alone":                 {"Disallow: /\n", 0, "1 rule-before-group"},
		"one line":                    {"User-agent: * Disallow: /", 1, "1 agent-trailing-text"},
		"two rules on a line":         {"User-agent: *\nDisallow: /a Disallow: /b", 1, "2 rule-trailing-record"},
		"a host in a rule":            {"User-agent: *\nDisallow: e.com/x", 1, "2 pattern-outside"},
		"an ideographic space":        {"User-agent: *\nAllow:\xa1\xa1/", 1, "2 pattern-outside"},
		"text that ends in octet A0":  {"User-agent: *\nDisallow: /章\n章: x", 1, ""},
		"a no-break space in a value": {"User-agent: *\nDisallow: /a\u00a0\nSitemap:\u00a0https://e.com/s", 1, "2 odd-white-space 3 odd-white-space"},
		"a sitemap without host":      {"Sitemap: /sitemap.xml", 0, "1 sitemap-relative"},
		"a dollar in the middle":      {"User-agent: *\nDisallow: /*.aspx$%", 1, "2 pattern-dollar"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Parse([]byte(c.body), Options{})
			if len(f.Groups) != c.groups {
				t.Errorf("%d groups, want %d", len(f.Groups), c.groups)
			}
			if got := strings.Join(codes(f), " "); got != c.warnings {
				t.Errorf("warnings %q, want %q", got, c.warnings)
			}
		})
	}
}

// Whatever a stranger writes costs little. The bounds are far from what is
// needed, so that only a change of order breaks them.
func TestHostileFilesStayCheap(t *testing.T) {
	const (
		mostTime   = 5 * time.Second
		mostMemory = 200 << 20 // octets allocated in total, not at once
	)
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			f := Parse([]byte(h.body), Options{})
			f.Rules("x").Decide(h.path)
			for i, token := range f.Tokens() {
				if f.Rules(token); i == 100 {
					break
				}
			}
			runtime.ReadMemStats(&after)
			if took := time.Since(start); took > mostTime {
				t.Errorf("took %v", took)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > mostMemory {
				t.Errorf("allocated %d MiB", used>>20)
			}
		})
	}
}
