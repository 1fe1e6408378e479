package watcher

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/robots"
)

func TestStatements(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"User-agent: *\nDisallow: /\n", nil},
		{"User-agent: *\nContent-Signal: search=yes, ai-train=no\n", []string{"content-signal ai-train=no for *", "content-signal search=yes for *"}},
		{"User-agent: GPTBot\nContent-Signal: ai-train=no\nDisallow: /\n\nUser-agent: *\nContent-Signal: ai-train=yes\n",
			[]string{"content-signal ai-train=no for gptbot", "content-signal ai-train=yes for *"}},
		{"User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /news/ train-ai=y\n", []string{"content-usage train-ai=n for *", "content-usage train-ai=y for * on paths"}},
		{"License: https://example.com/license.xml\n", []string{"license for *"}},
		{"User-agent: *\nContent-Signal: ai-train=<script>, " + strings.Repeat("x", 80) + "=no\n", []string{"content-signal other for *"}},
	} {
		if got := Statements(robots.Parse([]byte(c.text), robots.Options{})); !slices.Equal(got, c.want) {
			t.Errorf("%q:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

// Whatever a stranger writes becomes few, short, comma-free lines that can be
// read back.
func TestStatementsAreTame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"Content-Signal", "Content-Usage", "License", "User-agent", "DisallowAITraining"})
		var text string
		for range rapid.IntRange(0, 50).Draw(rt, "lines") {
			text += name.Draw(rt, "name") + ": " + rapid.StringMatching(`[ -~]{0,30}|[a-z]{1,3}=[a-z]{1,3}(, [a-z]=n)*|/a [a-z]=y`).Draw(rt, "value") + "\n"
		}
		list := Statements(robots.Parse([]byte(text), robots.Options{}))
		if len(list) > maxStatements || !slices.IsSorted(list) {
			rt.Fatalf("%d statements: %q", len(list), list)
		}
		for _, s := range list {
			if back, ok := ParseStatement(s); !ok || back.String() != s || strings.Contains(s, ",") || len(s) > 4*maxWord {
				rt.Fatalf("%q reads back as %+v, %v", s, back, ok)
			}
		}
	})
}
