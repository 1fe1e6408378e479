package notify

import (
	"slices"
	"testing"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

func blockedChange(site string, tokens ...string) watcher.Change {
	c := watcher.Change{
		Schema: watcher.ChangeSchema, ID: "01J00000000000000000000000", At: day(0), Site: site, Kind: watcher.KindAccess,
		Severity: watcher.Critical, Cause: watcher.CauseRules, Watched: true,
		State: watcher.StateChange{Before: fetch.Policy, After: fetch.Policy},
	}
	rule, line := "Disallow: /", 12
	for _, t := range tokens {
		c.Agents = append(c.Agents, diff.AgentChange{
			Agent: t, Direction: diff.Tightened, Proven: true,
			Before:          diff.Access{Level: diff.Allowed, Source: robots.SourceDefault},
			After:           diff.Access{Level: diff.Blocked, Source: robots.SourceNamed},
			NewlyDisallowed: []diff.Entry{{Example: "/", Rule: &rule, Line: &line}}, NewlyAllowed: []diff.Entry{},
		})
	}
	return c
}

func stateChange(site string, before, after fetch.State) watcher.Change {
	return watcher.Change{
		Schema: watcher.ChangeSchema, ID: "01J00000000000000000000001", At: day(0), Site: site, Kind: watcher.KindState,
		Severity: watcher.Warning, Cause: watcher.CauseStatus, Watched: true, Agents: []diff.AgentChange{},
		State: watcher.StateChange{Before: before, After: after},
	}
}

func TestRoute(t *testing.T) {
	cat, err := agents.Load()
	if err != nil {
		t.Fatal(err)
	}
	with := func(c watcher.Change, f func(*watcher.Change)) watcher.Change { f(&c); return c }
	gptbot := blockedChange("https://a.example", "GPTBot")
	delays := []watcher.Kind{watcher.KindCrawlDelay}
	delay := func(agent string) watcher.Change {
		return with(blockedChange("https://a.example"), func(c *watcher.Change) {
			c.Kind, c.Severity, c.CrawlDelays = watcher.KindCrawlDelay, watcher.Info, []diff.CrawlDelayChange{{Agent: agent}}
		})
	}
	prefers := func(scopes ...string) watcher.Change {
		return with(blockedChange("https://a.example"), func(c *watcher.Change) {
			c.Kind = watcher.KindSignal
			for _, s := range scopes {
				c.Signals = append(c.Signals, diff.SignalChange{Scope: s, Name: "content-signal", After: "ai-train=no"})
			}
		})
	}
	for _, tc := range []struct {
		name   string
		config ReceiverConfig
		change watcher.Change
		want   bool
	}{
		{"by default", ReceiverConfig{}, gptbot, true},
		{"unwatched agent", ReceiverConfig{}, with(gptbot, func(c *watcher.Change) { c.Watched = false }), false},
		{"unwatched agent asked for", ReceiverConfig{Agents: []string{"gptbot"}}, with(gptbot, func(c *watcher.Change) { c.Watched = false }), true},
		{"another agent asked for", ReceiverConfig{Agents: []string{"CCBot"}}, gptbot, false},
		{"group asked for", ReceiverConfig{Agents: []string{"@ai"}}, gptbot, true},
		{"agents asked for, change about the site", ReceiverConfig{Agents: []string{"CCBot"}}, stateChange("https://a.example", fetch.Policy, fetch.Unreachable), true},
		{"preference for another", ReceiverConfig{Agents: []string{"GPTBot"}}, prefers("ccbot"), false},
		{"preference for several", ReceiverConfig{Agents: []string{"GPTBot"}}, prefers("ccbot", "gptbot"), true},
		{"preference for everyone", ReceiverConfig{Agents: []string{"GPTBot"}}, prefers("*"), true},
		{"preference of a file", ReceiverConfig{Agents: []string{"GPTBot"}}, prefers(""), true},
		{"preference for whom the agent goes by", ReceiverConfig{Agents: []string{"Applebot"}}, prefers("googlebot"), true},
		{"crawl delay of another", ReceiverConfig{Agents: []string{"GPTBot"}, Kinds: delays, MinSeverity: watcher.Info}, delay("CCBot"), false},
		{"crawl delay of whom the agent goes by", ReceiverConfig{Agents: []string{"Applebot"}, Kinds: delays, MinSeverity: watcher.Info}, delay("Googlebot"), true},
		{"crawl delay of everyone", ReceiverConfig{Agents: []string{"GPTBot"}, Kinds: delays, MinSeverity: watcher.Info}, delay("*"), true},
		{"backfilled", ReceiverConfig{}, with(gptbot, func(c *watcher.Change) { c.Backfilled = true }), false},
		{"expected", ReceiverConfig{}, with(gptbot, func(c *watcher.Change) { c.Expected = "relaunch" }), false},
		{"severity at the bound", ReceiverConfig{MinSeverity: watcher.Critical}, gptbot, true},
		{"severity below", ReceiverConfig{MinSeverity: watcher.Critical}, with(gptbot, func(c *watcher.Change) { c.Severity = watcher.Warning }), false},
		{"info by default", ReceiverConfig{}, with(gptbot, func(c *watcher.Change) { c.Severity = watcher.Info }), false},
		{"kind not asked for", ReceiverConfig{Kinds: []watcher.Kind{watcher.KindState}}, gptbot, false},
		{"cosmetic by default", ReceiverConfig{MinSeverity: watcher.Info}, with(gptbot, func(c *watcher.Change) { c.Kind = watcher.KindCosmetic }), false},
		{"cosmetic asked for", ReceiverConfig{MinSeverity: watcher.Info, Kinds: []watcher.Kind{watcher.KindCosmetic}}, with(gptbot, func(c *watcher.Change) { c.Kind = watcher.KindCosmetic }), true},
		{"tag", ReceiverConfig{Tags: []string{"eu", "news"}}, with(gptbot, func(c *watcher.Change) { c.Tags = []string{"news"} }), true},
		{"tag missing", ReceiverConfig{Tags: []string{"eu"}}, with(gptbot, func(c *watcher.Change) { c.Tags = []string{"news"} }), false},
		{"not tag", ReceiverConfig{Tags: []string{"!news"}}, with(gptbot, func(c *watcher.Change) { c.Tags = []string{"news"} }), false},
		{"not another tag", ReceiverConfig{Tags: []string{"!eu"}}, with(gptbot, func(c *watcher.Change) { c.Tags = []string{"news"} }), true},
		{"tag and not tag", ReceiverConfig{Tags: []string{"news", "!eu"}}, with(gptbot, func(c *watcher.Change) { c.Tags = []string{"eu", "news"} }), false},
		{"state after", ReceiverConfig{States: []fetch.State{fetch.Unreachable}}, stateChange("https://a.example", fetch.Policy, fetch.Unreachable), true},
		{"state before", ReceiverConfig{States: []fetch.State{fetch.Unreachable}}, stateChange("https://a.example", fetch.Unreachable, fetch.Policy), true},
		{"other state", ReceiverConfig{States: []fetch.State{fetch.Denied}}, stateChange("https://a.example", fetch.Unreachable, fetch.Policy), false},
		{"end of an outage, critical only", ReceiverConfig{MinSeverity: watcher.Critical, To: LogConfig{}}, stateChange("https://a.example", fetch.Unreachable, fetch.Policy), false},
		{"end of an outage, where it is shown until then", ReceiverConfig{MinSeverity: watcher.Critical, To: AlertmanagerConfig{}}, stateChange("https://a.example", fetch.Unreachable, fetch.Policy), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.config.Name = "r"
			r, err := NewRouter([]ReceiverConfig{tc.config}, cat)
			if err != nil {
				t.Fatal(err)
			}
			got, key := r.Route(tc.change)
			if slices.Contains(got, "r") != tc.want || (key != "") != tc.want {
				t.Errorf("Route gave %q with key %q, want %v", got, key, tc.want)
			}
		})
	}
	if _, err := NewRouter([]ReceiverConfig{{Name: "r", Agents: []string{"@nobody"}}}, cat); err == nil {
		t.Error("an unknown group is no error")
	}
}

func TestGroupKeyIsEqualForEqualMeaningOnly(t *testing.T) {
	base := blockedChange("https://a.example", "GPTBot", "CCBot")
	same := blockedChange("https://b.example", "CCBot", "GPTBot")
	same.ID, same.Tags = "01J00000000000000000000009", []string{"news"}
	if GroupKey(base) != GroupKey(same) {
		t.Error("the same change of another site has another key")
	}
	for name, edit := range map[string]func(*watcher.Change){
		"agents":    func(c *watcher.Change) { c.Agents = c.Agents[:1] },
		"direction": func(c *watcher.Change) { c.Agents[0].Direction = diff.Mixed },
		"before":    func(c *watcher.Change) { c.Agents[0].Before.Level = diff.Partial },
		"after":     func(c *watcher.Change) { c.Agents[0].After.Level = diff.Restricted },
		"cause":     func(c *watcher.Change) { c.Cause = watcher.CauseStatus },
		"managed":   func(c *watcher.Change) { c.Managed = "cloudflare" },
		"kind":      func(c *watcher.Change) { c.Kind = watcher.KindState },
		"state":     func(c *watcher.Change) { c.State.After = fetch.Absent },
		"severity":  func(c *watcher.Change) { c.Severity = watcher.Warning },
	} {
		c := blockedChange("https://a.example", "GPTBot", "CCBot")
		edit(&c)
		if GroupKey(c) == GroupKey(base) {
			t.Errorf("%s: another meaning has the same key", name)
		}
	}
	a, b := base, base
	a.Kind, b.Kind = watcher.KindSitemap, watcher.KindSitemap
	b.Site = "https://b.example"
	if GroupKey(a) == GroupKey(b) {
		t.Error("sitemaps of two sites have one key")
	}
}
