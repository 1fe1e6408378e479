package lint

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/robots"
)

func text(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

func catalogue(t *testing.T) *agents.Catalogue {
	t.Helper()
	c, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func show(list []Finding, _ bool) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%d %s [%s] %s\n", f.Line, f.Code, f.Section, f.Reason)
	}
	return b.String()
}

func TestFile(t *testing.T) {
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"a file of good style": {
			text("# welcome", "User-agent: *", "Disallow: /private/", "Allow: /private/open", "",
				"User-agent: GPTBot", "User-agent: CCBot", "Disallow: /", "",
				"User-agent: Googlebot", "Allow: /", "", "User-agent: bingbot", "Disallow:", "", "Sitemap: https://e.com/s.xml"),
			"",
		},
		"an empty file": {nil, ""},
		"rules before any group": {
			text("Disallow: /", "User-agent: *", "Disallow: /a"),
			"1 rule-before-group [2.2.1] no User-agent line stands above this rule, so it is for nobody\n",
		},
		"a stray record joins two groups": {
			text("User-agent: *", "Crawl-delay: 10", "User-agent: badbot", "Disallow: /"),
			"2 groups-joined [2.2.4] this line does not end the list of User-agent lines: the rules below also apply to the agents above; that is one group for *, badbot\n",
		},
		"a stray record between the same agent": {text("User-agent: *", "Crawl-delay: 10", "User-agent: *", "Disallow: /"), ""},
		"a group with a delay alone frees its agents": {
			text("User-agent: *", "Disallow: /a", "", "User-agent: bingbot", "Crawl-delay: 5"),
			"4 group-without-rules [2.2.1] the group has no rule, so bingbot may fetch everything: the rules for * (line 1) do not apply to agents with a group of their own\n",
		},
		"an agent with rules elsewhere is not free": {
			text("User-agent: *", "Disallow: /a", "", "User-agent: bingbot", "Disallow: /b", "", "User-agent: bingbot", "Crawl-delay: 5"), "",
		},
		"a pattern that matches nothing": {
			text("User-agent: *", "Disallow: ?utm=", "Disallow: /x%zz", "Disallow: /robots.txt$"),
			"2 pattern-outside [2.2.2] \"?utm=\" starts with neither / nor *, so it matches nothing; begin it with /*\n" +
				"3 rule-without-effect [2.2.2] Disallow: /x%zz matches no path that a URL can have\n" +
				"4 rule-without-effect [2.2.2] Disallow: /robots.txt$ concerns /robots.txt alone, which is always allowed\n",
		},
		"rules without effect": {
			text("User-agent: *", "Disallow: /a", "Disallow: /a/b", "Disallow: /a", "Disallow: /c", "Allow: /c", "Allow: /d"),
			"3 rule-without-effect [2.2.2] Disallow: /a/b adds nothing to Disallow: /a in line 2\n" +
				"4 rule-without-effect [2.2.2] Disallow: /a stands in line 2 already\n" +
				"5 rule-without-effect [2.2.2] Disallow: /c never decides: Allow: /c in line 6 is stronger\n" +
				"7 rule-without-effect [2.2.2] Allow: /d allows what no rule disallows\n",
		},
		"a rule that works for one of two sets": {
			// foo merges both groups and could do without line 4, bar could not.
			text("User-agent: foo", "Disallow: /a", "User-agent: foo", "User-agent: bar", "Disallow: /a/b"), "",
		},
		"superseded tokens": {
			text("User-agent: anthropic-ai", "User-agent: Claude-Web", "User-agent: ClaudeBot", "Disallow: /"),
			"1 token-superseded [] Anthropic goes by ClaudeBot now, no longer by anthropic-ai\n" +
				"2 token-superseded [] Anthropic goes by ClaudeBot, Claude-User, Claude-SearchBot now, no longer by Claude-Web; the file has no group for Claude-User, Claude-SearchBot\n",
		},
		"contradicting signals": {
			text("User-agent: *", "Content-Signal: search=yes, ai-train=no", "Content-Signal: ai-train=yes, ai-input=maybe", "Content-Usage: train-ai=y",
				"Allow: /", "User-agent: a", "Content-Signal: ai-train=yes", "Content-Usage: /x train-ai=n", "Allow: /"),
			"3 signal-contradiction [] ai-train=yes contradicts ai-train=no in line 2, for *\n" +
				"3 signal-value [] \"ai-input=maybe\" says neither yes nor no\n" +
				"4 signal-contradiction [] train-ai=y contradicts ai-train=no in line 2, for *\n",
		},
		"marks and odd white space": {
			text("\xef\xbb\xbfUser-agent: *", "\u00a0Disallow: /"),
			"1 byte-order-mark [2.2] the file starts with a byte order mark; it is skipped\n" +
				"2 odd-white-space [2.2] white space that is not ASCII makes this line unknown; use plain spaces\n",
		},
		"a crawl delay of hours": {
			text("User-agent: *", "Crawl-delay: 7200", "Disallow:"),
			"2 crawl-delay-long [] a crawl delay of 7200 seconds leaves 12 pages a day\n",
		},
		"a web page": {
			text("", "<!DOCTYPE html>", "<p>Not found</p>"),
			"2 nothing-readable [2.2] not one line is a record of a robots.txt: everything is allowed to everyone\n",
		},
		"a stranger's control characters": {
			text("User-agent: *", "Disallow: /\x1b[31m", "Disallow: /\x1b[31mx"),
			"3 rule-without-effect [2.2.2] Disallow: /\\x1b[31mx adds nothing to Disallow: /\\x1b[31m in line 2\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(File(c.body, Options{Catalogue: catalogue(t)})); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestFile_size(t *testing.T) {
	line := "# " + strings.Repeat("x", 61) + "\n" // 64 octets
	body := []byte("User-agent: *\nDisallow: /\n" + strings.Repeat(line, leastRead/64-1))
	if rest := leastRead - len(body); rest > 0 {
		body = append(body, strings.Repeat("#", rest)...)
	}
	if got := show(File(body, Options{})); got != "" {
		t.Errorf("%d octets: %s", len(body), got)
	}
	got := show(File(append(body, '\n'), Options{}))
	if want := fmt.Sprintf("%d beyond-500-kib [2.5] ", leastRead/64+2); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	got = show(File(text("User-agent: *", "Disallow: /"), Options{Truncated: true}))
	if !strings.HasPrefix(got, "2 truncated [2.5] the file goes on after this line") {
		t.Errorf("truncated: %s", got)
	}
}

// Every code of the parser has its section, or is known to have none.
func TestSections(t *testing.T) {
	source, err := os.ReadFile("../robots/warnings.go")
	if err != nil {
		t.Fatal(err)
	}
	without := map[robots.WarningCode]bool{robots.WarnTooManySignals: true, robots.WarnTooManyWarnings: true}
	n := 0
	for line := range strings.Lines(string(source)) {
		_, rest, isCode := strings.Cut(line, "WarningCode = \"")
		if !isCode {
			continue
		}
		n++
		code, _, _ := strings.Cut(rest, `"`)
		if _, has := sections[robots.WarningCode(code)]; has == without[robots.WarningCode(code)] {
			t.Errorf("%s: section known %v", code, has)
		}
	}
	if n < 20 {
		t.Errorf("only %d codes found", n)
	}
}

// Whatever a file holds, looking at it is bounded.
func TestFile_bounded(t *testing.T) {
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, body := range map[string]string{
		"many groups":        many("User-agent: a%[1]d\nDisallow: /%[1]d\n", 20_000),
		"many rules":         "User-agent: *\n" + many("Disallow: /%d\n", 40_000),
		"many starred rules": "User-agent: *\n" + many("Disallow: /*%d*x\n", 20_000),
		"many allows":        "User-agent: *\nDisallow: /\n" + many("Allow: /*a%d$\n", 20_000),
		"shared and own":     many("User-agent: a%d\n", 8_000) + many("Disallow: /%d\n", 8_000) + many("User-agent: a%[1]d\nAllow: /%[1]d/x\n", 8_000),
		"many signals":       many("User-agent: a%d\n", 5_000) + strings.Repeat("Content-Signal: a=b, c=d\n", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			list, complete := File([]byte(body), Options{Catalogue: catalogue(t)})
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if len(list) > 50_000 {
				t.Errorf("%d findings", len(list))
			}
			t.Logf("%v, %d findings, complete %v", time.Since(start), len(list), complete)
		})
	}
}
