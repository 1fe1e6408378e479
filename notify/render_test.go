package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/notify/slacktest"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// hostile is text that tries to break out of whatever it is put into.
var hostile = rapid.Custom(func(t *rapid.T) string {
	switch rapid.IntRange(0, 3).Draw(t, "hostility") {
	case 0:
		return rapid.SampledFrom([]string{
			"<!channel>", "<!here|x>", "<@U123>", "<#C123>", "<https://evil.example|click>", "&lt;!channel&gt;", "&amp", "&",
			"`<!channel>`", "```", "*_~`", "\x1b[31mred\x1b[0m", "\u202egnp.exe", "a\x00b", "\xff\xfe", "\u200b\u2060", "@everyone",
			"[x](javascript:1)", "|", "a|b>c", "\r\n\r\nX: y", strings.Repeat("&", 4000), strings.Repeat("😀", 4000), "",
		}).Draw(t, "trick")
	case 1:
		return rapid.StringN(0, 40, -1).Draw(t, "text")
	case 2:
		return string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "octets"))
	}
	return rapid.StringOfN(rapid.RuneFrom([]rune("<>&`*_~|\n😀é漢\U000e0001\u202e /")), 0, 30, -1).Draw(t, "specials") +
		strings.Repeat(rapid.SampledFrom([]string{"a", "<", "&", "😀", "`"}).Draw(t, "filler"), rapid.SampledFrom([]int{0, 0, 0, 200, 8000}).Draw(t, "times"))
})

var (
	anyLevel  = rapid.SampledFrom([]diff.Level{diff.Allowed, diff.Partial, diff.Restricted, diff.Blocked, diff.Unknown})
	anySource = rapid.SampledFrom([]robots.Source{robots.SourceNamed, robots.SourceWildcard, robots.SourceDefault, robots.SourceStatus, ""})
	anyState  = rapid.SampledFrom(allStates)
)

func anyEntries(t *rapid.T) []diff.Entry {
	list := make([]diff.Entry, rapid.IntRange(0, 5).Draw(t, "entries"))
	for i := range list {
		list[i].Example = "/" + hostile.Draw(t, "path")
		if rapid.Bool().Draw(t, "ruled") {
			rule, line := "Disallow: /"+hostile.Draw(t, "rule"), rapid.IntRange(1, 1<<30).Draw(t, "line")
			list[i].Rule, list[i].Line = &rule, &line
		}
	}
	return list
}

var anyChange = rapid.Custom(func(t *rapid.T) watcher.Change {
	c := watcher.Change{
		Schema: watcher.ChangeSchema, ID: "01J" + rapid.StringMatching(`[0-9A-Z]{23}`).Draw(t, "id"), At: day(0),
		Site: "https://" + rapid.StringMatching(`[a-z0-9]{1,60}(\.[a-z0-9]{1,60}){1,3}(:[1-9][0-9]{0,3})?`).Draw(t, "host"),
		Kind: rapid.SampledFrom(allKinds).Draw(t, "kind"), Cause: watcher.CauseRules,
		Severity: rapid.SampledFrom([]watcher.Severity{watcher.Info, watcher.Warning, watcher.Critical}).Draw(t, "severity"),
		State:    watcher.StateChange{Before: anyState.Draw(t, "before"), After: anyState.Draw(t, "after")},
		Managed:  rapid.SampledFrom([]string{"", "cloudflare"}).Draw(t, "managed"),
		Detail:   hostile.Draw(t, "detail"), Agents: []diff.AgentChange{},
		Unstable: rapid.SampledFrom([]string{"", watcher.UnstableBegan, watcher.UnstableSettled}).Draw(t, "unstable"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "tags") {
		c.Tags = append(c.Tags, hostile.Draw(t, "tag"))
	}
	// Many agents, few of them distinct: that is how real ones look, and keeps
	// the test fast.
	distinct := rapid.IntRange(0, 6).Draw(t, "distinct agents")
	times := rapid.SampledFrom([]int{1, 1, 10, 100}).Draw(t, "times")
	for range distinct {
		a := diff.AgentChange{
			Agent: hostile.Draw(t, "agent"), Proven: rapid.Bool().Draw(t, "proven"),
			Direction: rapid.SampledFrom([]diff.Direction{diff.Same, diff.Tightened, diff.Loosened, diff.Mixed}).Draw(t, "direction"),
			Before:    diff.Access{Level: anyLevel.Draw(t, "from"), Source: anySource.Draw(t, "from source")},
			After:     diff.Access{Level: anyLevel.Draw(t, "to"), Source: anySource.Draw(t, "to source")},
			Note:      hostile.Draw(t, "note"), NewlyDisallowed: anyEntries(t), NewlyAllowed: anyEntries(t),
		}
		for i := range times {
			b := a
			b.Agent += fmt.Sprint(i)
			c.Agents = append(c.Agents, b)
		}
	}
	for range rapid.IntRange(0, 20).Draw(t, "signals") {
		c.Signals = append(c.Signals, diff.SignalChange{Scope: hostile.Draw(t, "scope"), Name: hostile.Draw(t, "name"),
			Path: hostile.Draw(t, "path"), Before: hostile.Draw(t, "before"), After: hostile.Draw(t, "after")})
	}
	for range rapid.IntRange(0, 20).Draw(t, "delays") {
		v := rapid.Float64().Draw(t, "delay")
		c.CrawlDelays = append(c.CrawlDelays, diff.CrawlDelayChange{Agent: hostile.Draw(t, "agent"), After: &v})
	}
	if rapid.Bool().Draw(t, "sitemaps") {
		c.Sitemaps = &diff.SitemapsChange{Added: rapid.SliceOfN(hostile, 0, 20).Draw(t, "added"), Removed: rapid.SliceOfN(hostile, 0, 3).Draw(t, "removed")}
	}
	return c
})

var anyMessage = rapid.Custom(func(t *rapid.T) Message {
	links := Links{External: rapid.SampledFrom([]string{"", "https://robots.example/watch/"}).Draw(t, "external")}
	first := anyChange.Draw(t, "change")
	list := []watcher.Change{first}
	totals := Totals{Deliveries: 1, Sites: 1, First: day(0), Last: day(0)}
	if rapid.Bool().Draw(t, "many") {
		totals.Sites = rapid.IntRange(2, 10000).Draw(t, "sites")
		totals.Deliveries = totals.Sites
		for i := range min(totals.Sites, sampleChanges) - 1 {
			c := first
			c.Site = fmt.Sprintf("https://site%d.example", i)
			list = append(list, c)
		}
	}
	switch rapid.IntRange(0, 4).Draw(t, "message") {
	case 0:
		s := newSummary()
		for i := range rapid.SampledFrom([]int{1, 3, 30}).Draw(t, "groups") {
			s.add(fmt.Sprint(i), first)
		}
		s.totals = []AgentTotal{{Agent: hostile.Draw(t, "agent"), Access: diff.Blocked, Sites: 12}}
		return heldMessage(s, totals, day(0), links)
	case 1:
		s := newSummary()
		s.add("", first)
		return digestMessage(s, totals, day(0), day(1), links)
	case 2:
		return limitMessage(totals, 60, day(0), links)
	}
	return changeMessage(list, totals, links, first.Agents)
})

// Slack's limits hold, and nothing that a site writes is more than text.
func TestSlackTakesWhateverSitesWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMessage.Draw(t, "message")
		blocks, fallback := SlackBlocks(m)
		raw, err := json.Marshal(blocks)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range slacktest.Check(fallback, raw) {
			t.Error(p)
		}
	})
}

// Every rendering is valid text without a control or invisible character.
func TestRenderingsShowOnlyVisibleText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMessage.Draw(t, "message")
		for name, s := range map[string]string{"plain": m.Text.Plain(), "markdown": m.Text.Markdown()} {
			if !utf8.ValidString(s) {
				t.Errorf("%s is not valid UTF-8", name)
			}
			for _, r := range s {
				if r != '\n' && r != '\u200b' && !unicode.IsPrint(r) {
					t.Errorf("%s has %U", name, r)
				}
			}
			if n := utf8.RuneCountInString(s); n > 40000 {
				t.Errorf("%s has %d characters", name, n)
			}
		}
	})
}

func TestDurationInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		20 * time.Second: "less than a minute", 90 * time.Minute: "1 h 30 min", 2 * time.Hour: "2 h",
		26 * time.Hour: "1 d 2 h", 48 * time.Hour: "2 d", 5 * time.Minute: "5 min",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
	}
}
