package notify

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenMessages has one message of each kind that people get to see.
func goldenMessages() map[string]Message {
	links := Links{External: "https://robots.example"}
	one := Totals{Deliveries: 1, Sites: 1, First: day(0), Last: day(0)}
	entry := func(example, rule string, line int) []diff.Entry {
		return []diff.Entry{{Example: example, Rule: &rule, Line: &line}}
	}
	change := func(id string, edit func(*watcher.Change)) watcher.Change {
		c := watcher.Change{
			Schema: watcher.ChangeSchema, ID: "01KBA7Q8" + id, At: day(0), Site: "https://example.com", Tags: []string{"eu", "news"},
			Kind: watcher.KindAccess, Severity: watcher.Critical, Cause: watcher.CauseRules, Watched: true, Agents: []diff.AgentChange{},
			State: watcher.StateChange{Before: fetch.Policy, After: fetch.Policy},
		}
		edit(&c)
		return c
	}
	agent := func(token string, d diff.Direction, before, after diff.Level, from, to robots.Source, lost, won []diff.Entry) diff.AgentChange {
		return diff.AgentChange{Agent: token, Direction: d, Proven: true, Before: diff.Access{Level: before, Source: from},
			After: diff.Access{Level: after, Source: to}, NewlyDisallowed: lost, NewlyAllowed: won}
	}
	mixed := change("0000000000000001", func(c *watcher.Change) {
		all := entry("/", "Disallow: /", 12)
		c.Agents = []diff.AgentChange{
			agent("GPTBot", diff.Tightened, diff.Allowed, diff.Blocked, robots.SourceDefault, robots.SourceNamed, all, nil),
			agent("CCBot", diff.Tightened, diff.Allowed, diff.Blocked, robots.SourceDefault, robots.SourceNamed, all, nil),
			agent("Googlebot", diff.Loosened, diff.Partial, diff.Partial, robots.SourceWildcard, robots.SourceNamed, nil, entry("/archive/", "Disallow: /archive/", 3)),
			agent("*", diff.Mixed, diff.Partial, diff.Partial, robots.SourceWildcard, robots.SourceWildcard,
				entry("/search?q=", "Disallow: /search?q=*&page=", 8), entry("/tmp/", "Disallow: /tmp/", 4)),
		}
	})
	hostile := change("0000000000000002", func(c *watcher.Change) {
		c.Site = "http://xn--mnchen-3ya.example:8080"
		c.Agents = []diff.AgentChange{agent("<!channel>\u202e*bot*`", diff.Tightened, diff.Partial, diff.Partial, robots.SourceWildcard, robots.SourceWildcard,
			entry("/<@U123>&`|\n\x1b[31m", "Disallow: /<https://evil.example|click>`&amp;", 1), nil)}
	})
	managed := change("0000000000000003", func(c *watcher.Change) {
		c.Managed = "cloudflare"
		for _, token := range []string{"GPTBot", "CCBot", "ClaudeBot", "Bytespider", "Amazonbot", "meta-externalagent", "Applebot-Extended", "Google-Extended"} {
			c.Agents = append(c.Agents, agent(token, diff.Tightened, diff.Allowed, diff.Blocked, robots.SourceWildcard, robots.SourceNamed, entry("/", "Disallow: /", 31), nil))
		}
	})
	var many []watcher.Change
	for i := range sampleChanges {
		c := managed
		c.ID, c.Site = fmt.Sprintf("01KBA7Q8%016d", 100+i), fmt.Sprintf("https://site%d.example", i)
		many = append(many, c)
	}
	state := func(id string, before, after fetch.State, reason fetch.Reason, severity watcher.Severity) watcher.Change {
		return change(id, func(c *watcher.Change) {
			c.Kind, c.Cause, c.Severity = watcher.KindState, watcher.CauseStatus, severity
			c.State, c.Reason = watcher.StateChange{Before: before, After: after}, reason
		})
	}
	ten, none := 10.0, (*float64)(nil)
	signal := change("0000000000000010", func(c *watcher.Change) {
		c.Kind, c.Severity = watcher.KindSignal, watcher.Warning
		c.Signals = []diff.SignalChange{{Scope: "*", Name: "content-signal", After: "ai-train=no, search=yes"}, {Scope: "gptbot", Name: "license", Path: "/a", Before: "https://a.example/old", After: "https://a.example/new"}}
	})
	delay := change("0000000000000011", func(c *watcher.Change) {
		c.Kind, c.Severity = watcher.KindCrawlDelay, watcher.Info
		c.CrawlDelays = []diff.CrawlDelayChange{{Agent: "*", Before: none, After: &ten}}
	})
	sitemap := change("0000000000000012", func(c *watcher.Change) {
		c.Kind, c.Severity = watcher.KindSitemap, watcher.Info
		c.Sitemaps = &diff.SitemapsChange{Added: []string{"https://example.com/sitemap-2.xml"}, Removed: []string{"https://example.com/sitemap.xml"}}
	})
	cosmetic := change("0000000000000013", func(c *watcher.Change) { c.Kind, c.Severity = watcher.KindCosmetic, watcher.Info })
	gone := change("0000000000000014", func(c *watcher.Change) {
		c.Cause, c.State = watcher.CauseStatus, watcher.StateChange{Before: fetch.Policy, After: fetch.Absent}
		c.Agents = []diff.AgentChange{agent("GPTBot", diff.Loosened, diff.Blocked, diff.Allowed, robots.SourceNamed, robots.SourceStatus, nil, entry("/", "Disallow: /", 2))}
	})
	sum := newSummary()
	for i := range 7 {
		c := managed
		c.ID, c.Site = fmt.Sprintf("01KBA7Q8%016d", 200+i), fmt.Sprintf("https://site%d.example", i)
		sum.add("managed", c)
	}
	sum.add("mixed", mixed)
	sum.add("signal", signal)
	totals := Totals{Deliveries: 9, Sites: 8, First: day(0), Last: day(1)}
	digest := *sum
	digest.totals = []AgentTotal{{Agent: "GPTBot", Access: diff.Blocked, Sites: 1203}, {Agent: "GPTBot", Access: diff.Allowed, Sites: 8797}}

	tell := func(c watcher.Change) Message { return changeMessage([]watcher.Change{c}, one, links, nil) }
	recovered := tell(state("0000000000000021", fetch.Unreachable, fetch.Policy, "", watcher.Warning))
	first := state("0000000000000026", fetch.Denied, fetch.Policy, "", watcher.Warning)
	first.AfterSHA256 = strings.Repeat("a1", 32)
	began := state("0000000000000020", fetch.Policy, fetch.Unreachable, "http_503", watcher.Critical)
	began.At = day(0).Add(-130 * time.Minute)
	recovered.end(began, "")
	return map[string]Message{
		"access":        changeMessage([]watcher.Change{mixed}, one, links, []diff.AgentChange{{Agent: "DotBot"}, {Agent: "SemrushBot"}}),
		"access_absent": tell(gone),
		"access_many":   changeMessage(many, Totals{Deliveries: 312, Sites: 312, First: day(0), Last: day(0).Add(time.Minute)}, links, nil),
		"hostile":       tell(hostile),
		"unreachable":   tell(state("0000000000000020", fetch.Policy, fetch.Unreachable, "http_503", watcher.Critical)),
		"recovered":     recovered,
		"denied":        tell(state("0000000000000022", fetch.Policy, fetch.Denied, "http_403", watcher.Warning)),
		"answers":       tell(state("0000000000000024", fetch.Unreachable, fetch.Absent, "http_404", watcher.Warning)),
		"appeared":      tell(state("0000000000000025", fetch.Absent, fetch.Policy, "", watcher.Warning)),
		"first":         tell(first),
		"never_read":    tell(state("0000000000000027", fetch.Unreachable, fetch.NotRobots, "html", watcher.Warning)),
		"not_robots":    tell(state("0000000000000023", fetch.Policy, fetch.NotRobots, "html", watcher.Warning)),
		"signal":        tell(signal),
		"crawl_delay":   tell(delay),
		"sitemap":       tell(sitemap),
		"cosmetic":      tell(cosmetic),
		"held":          heldMessage(sum, totals, day(1), links),
		"digest":        digestMessage(&digest, totals, day(0), day(1), links),
		"digest_empty":  digestMessage(newSummary(), Totals{}, day(0), day(1), links),
		"limit":         limitMessage(totals, 60, day(1), links),
		"test":          TestMessage(day(0), links),
	}
}

// Each message as each kind of receiver gets it. After a wanted change:
// go test ./notify -run Golden -update
func TestGoldenMessages(t *testing.T) {
	for name, m := range goldenMessages() {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			part := func(title, text string) { fmt.Fprintf(&got, "==== %s\n%s\n", title, strings.TrimRight(text, "\n")) }
			part("plain", m.Text.Plain())
			part("markdown", m.Text.Markdown())
			blocks, fallback := SlackBlocks(m)
			raw, err := marshal(blocks)
			if err != nil {
				t.Fatal(err)
			}
			var indented bytes.Buffer
			if err := json.Indent(&indented, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			part("slack", indented.String())
			part("slack fallback", fallback)
			event, err := eventJSON(m)
			if err != nil {
				t.Fatal(err)
			}
			part("webhook, exec", string(event))
			if len(m.Changes) == 1 {
				alerts, ended := alertsOf(m.Changes[0], m.Changes[0].Agents, m)
				list := ""
				for _, a := range alerts {
					labels, _ := json.Marshal(a.Labels)
					list += fmt.Sprintf("begins %s\n", labels)
				}
				for _, key := range ended {
					list += fmt.Sprintf("ends what there is of %q\n", key)
				}
				part("alertmanager", list)
			}
			var logged bytes.Buffer
			log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))
			if _, err := NewLog(log).Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			part("log", logged.String())

			file := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s differs from what is said now:\n%s", file, got.String())
			}
		})
	}
}
