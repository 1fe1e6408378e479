package diff

import (
	"encoding/json"
	"slices"
	"testing"
)

func files(before, after string, tokens ...string) *Report {
	var agents []Agent
	for _, t := range tokens {
		agents = append(agents, Agent{Token: t})
	}
	b, a := NewInput([]byte(before)), NewInput([]byte(after))
	return Files(b, a, append(agents, Named(b, a, agents)...))
}

func TestFilesJSON(t *testing.T) {
	report := files("User-agent: *\nDisallow: /tmp/\n",
		"User-agent: *\nCrawl-delay: 10\nContent-Signal: search=yes,ai-train=no\nDisallow: /tmp/\n\nUser-agent: GPTBot\nDisallow: /\n\nSitemap: https://example.com/s.xml\n",
		"GPTBot", "CCBot")
	got, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"robotswatch.diff/v1","equivalent":false,"agents":[{"agent":"GPTBot","direction":"tightened","proven":true,"before":{"access":"partial","source":"wildcard"},"after":{"access":"blocked","source":"named"},"newly_disallowed":[{"example":"/","rule":"Disallow: /","line":7}],"newly_allowed":[]}],"signals":[{"scope":"*","name":"content-signal","before":"","after":"search=yes, ai-train=no"}],"crawl_delays":[{"agent":"*","before":null,"after":10}],"sitemaps":{"added":["https://example.com/s.xml"],"removed":[]},"text":{"added":7,"removed":0},"agents_compared":2}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSourceAloneIsEquivalent(t *testing.T) {
	report := files("User-agent: *\nDisallow: /a\n", "User-agent: *\nUser-agent: GPTBot\nDisallow: /a\n", "GPTBot", "CCBot")
	if !report.Equivalent || len(report.Agents) != 1 || report.Agents[0].Direction != Same {
		t.Errorf("got %+v", report)
	}
}

func TestNamedSpeaksForEveryone(t *testing.T) {
	known := []Agent{{Token: "GPTBot"}}
	b := NewInput([]byte("User-agent: *\nUser-agent: GPTBot\nUser-agent: FooBot\nDisallow: /a\n"))
	if got := Named(b, b, known); len(got) != 2 || got[0].Token != "foobot" || got[1].Token != Everyone {
		t.Errorf("all are named, so somebody must stand for the rest; got %+v", got)
	}
	known = append(known, Agent{Token: "CCBot"})
	if got := Named(b, NewInput(nil), known); len(got) != 1 || got[0].Token != "foobot" {
		t.Errorf("CCBot goes by the * group; got %+v", got)
	}
}

// Rules that an agent no longer goes by, but that stand where they stood, were
// neither added nor removed.
func TestNoEffectIsAboutEdits(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []NoEffect
	}{
		{"own group", "User-agent: *\nDisallow: /a\n", "User-agent: *\nDisallow: /a\nUser-agent: GPTBot\nDisallow: /a\nDisallow: /a/b\n",
			[]NoEffect{{Added: true, Rule: "Disallow: /a/b", Line: 5, CoveredBy: "Disallow: /a", CoveredLine: 4}}},
		{"group gone", "User-agent: *\nDisallow: /a\nDisallow: /a/b\nUser-agent: GPTBot\nDisallow: /a\n", "User-agent: *\nDisallow: /a\nDisallow: /a/b\n", nil},
		{"replaced", "User-agent: *\nDisallow: /fish*\n", "User-agent: *\nDisallow: /fish\n", []NoEffect{
			{Rule: "Disallow: /fish*", Line: 2, CoveredBy: "Disallow: /fish", CoveredLine: 2, CoveredInOther: true},
			{Added: true, Rule: "Disallow: /fish", Line: 2, CoveredBy: "Disallow: /fish*", CoveredLine: 2, CoveredInOther: true}}},
	} {
		report := files(c.before, c.after, "GPTBot")
		got := report.NoEffect
		for _, a := range report.Agents {
			got = append(got, a.NoEffect...)
		}
		if !slices.Equal(got, c.want) || !report.Equivalent {
			t.Errorf("%s: got %+v, equivalent %v", c.name, got, report.Equivalent)
		}
	}
}
