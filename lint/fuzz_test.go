package lint

import (
	"bytes"
	"slices"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/robotswatch/robotswatch/agents"
)

// FuzzFile takes the input for a robots.txt: whatever is found stands on a
// line of it and can be printed.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"User-agent: *\nDisallow: /a\nAllow: /a$\nDisalow: /b\n\nUser-agent: anthropic-ai/1.0\nCrawl-delay: 86400\n",
		"Disallow: /\nSitemap: /x\nContent-Signal: ai-train=yes, ai-train=no, search=maybe\nUser-agent: *\n\nUser-agent: *\nDisallow: /*a*b*c$\n",
		"\ufeffUser-agent:\u00a0GPTBot\nDisallow: /\x00\n", "\xff\xfeU\x00", "<html>", "\r\r\n",
	} {
		f.Add([]byte(seed), false)
	}
	catalogue, err := agents.Load()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, truncated bool) {
		begin := time.Now()
		list, _ := File(text, Options{Catalogue: catalogue, Truncated: truncated})
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%d octets took %v", len(text), took)
		}
		lines := 1 + bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r"))
		for i, found := range list {
			if found.Line < 0 || found.Line > lines || found.Code == "" || found.Reason == "" || i > 0 && found.Line < list[i-1].Line {
				t.Errorf("of %d lines: %+v", lines, found)
			}
			if !utf8.ValidString(found.Reason) || slices.ContainsFunc([]rune(found.Reason), unicode.IsControl) || len(found.Reason) > 2000 {
				t.Errorf("%.3000q cannot be printed", found.Reason)
			}
		}
	})
}
