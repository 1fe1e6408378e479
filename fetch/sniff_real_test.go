//go:build !race

// Nothing runs at once here: the race detector would only make it long.

package fetch

import (
	"bytes"
	"net/http"
	"regexp"
	"testing"
)

// A file with a line that any crawler reads is a robots.txt, unless it is a
// page; judged here in another way than by the code.
func TestSniffRealFiles(t *testing.T) {
	line := regexp.MustCompile(`(?im)^[ \t]*(user-?agent|disallow|allow|sitemap|crawl-delay)[ \t]*:`)
	tag := regexp.MustCompile(`(?i)<(!doctype|html|head|body|meta|script|span|div|title|h1|\?xml|error|figure)\b`)
	counts := make(map[Reason]int)
	for name, body := range corpus(t, "robots-2024.tar.xz") {
		k := sniff(http.Header{}, body)
		counts[k.reason]++
		first := bytes.TrimSpace(body)
		page := tag.Match(first[:min(len(first), 1000)]) && len(first) > 0 && first[0] == '<'
		switch {
		case line.Match(body) && !page && k.reason != NoReason:
			t.Errorf("%s: %s, but it has records: %.80q", name, k.reason, body)
		case page && !line.Match(body) && k.reason == NoReason:
			t.Errorf("%s is taken for a robots.txt: %.80q", name, body)
		case !page && !line.Match(body):
			t.Logf("%-40s %-10s %.60q", name, k.reason, body)
		}
	}
	t.Log(counts)
}
