package diff_test

import (
	"testing"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/robots"
)

func TestTheRuleToShowDecidesAnOrdinaryPath(t *testing.T) {
	for _, test := range []struct{ rules, ordinary, telling string }{
		{"", "", ""},
		{"Disallow: /", "Disallow: /", "Disallow: /"},
		{"Allow: /\nDisallow: /a", "Allow: /", "Allow: /"},
		{"Allow: /b\nDisallow: /a\nDisallow: /c", "", "Disallow: /a"},
		{"Allow: /b", "", ""},
		{"Disallow: /$", "", "Disallow: /$"}, // the home page is no ordinary path
		{"Disallow: /%FF", "", "Disallow: /%FF"},
		{"Disallow: /*", "Disallow: /*", "Disallow: /*"},
	} {
		rules := diff.NewInput([]byte("User-agent: *\n" + test.rules + "\n")).Rules(diff.Agent{Token: "GPTBot"})
		if got := text(diff.Ordinary(rules)); got != test.ordinary {
			t.Errorf("%q: %q decides an ordinary path, want %q", test.rules, got, test.ordinary)
		}
		if got := text(diff.Telling(rules)); got != test.telling {
			t.Errorf("%q: shown is %q, want %q", test.rules, got, test.telling)
		}
		if level, _ := diff.AccessOf(rules); (level == diff.Restricted || level == diff.Blocked) != (test.ordinary != "" && test.ordinary[0] == 'D') {
			t.Errorf("%q: %s, yet %q decides an ordinary path", test.rules, level, test.ordinary)
		}
	}
}

func text(r *robots.Rule) string {
	if r == nil {
		return ""
	}
	return r.Text
}

func TestGrantsAreThoseOfEachAgentAskedAlone(t *testing.T) {
	in := diff.NewInput([]byte("User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nDisallow: /a\n"))
	list := []diff.Agent{
		{Token: "GPTBot"}, {Token: "Bytespider"}, {Token: "CCBot"}, {Token: diff.Everyone},
		{Token: "Applebot", Fallbacks: []string{"GPTBot"}}, {Token: "GPTBot", Reading: robots.ReadingGoogle},
	}
	for i, got := range in.Grants(list) {
		rules := in.Rules(list[i])
		level, _ := diff.AccessOf(rules)
		if want := (diff.Access{Level: level, Source: rules.Source}); got.Access != want {
			t.Errorf("%v: %v, want %v", list[i], got.Access, want)
		}
		if text(diff.Telling(got.Rules)) != text(diff.Telling(rules)) {
			t.Errorf("%v: shown is %q", list[i], text(diff.Telling(got.Rules)))
		}
	}
}
