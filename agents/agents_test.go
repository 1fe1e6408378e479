package agents

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func load(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryEntryMakesSense(t *testing.T) {
	c := load(t)
	published, err := time.Parse(time.DateOnly, c.Version)
	if err != nil {
		t.Fatalf("version: %v", err)
	}
	categories := []string{"training", "search", "assistant", "dataset", "data_provider", "ads", "preview", "tool", "other"}
	honours := []string{"yes", "no", "may_not", "depends", "disputed", "unclear", "undocumented"}
	for _, a := range c.Agents {
		t.Run(a.Token, func(t *testing.T) {
			if !slices.Contains(categories, a.Category) {
				t.Errorf("category %q is none of %q", a.Category, categories)
			}
			if !slices.Contains(honours, a.Honours) {
				t.Errorf("honours_robots %q is none of %q", a.Honours, honours)
			}
			if a.Operator == "" || a.Source == "" {
				t.Error("operator and source must be said")
			}
			if at, err := time.Parse(time.DateOnly, a.AsOf); err != nil || at.After(published) {
				t.Errorf("as_of %q is not a day up to %s", a.AsOf, c.Version)
			}
			if a.DocURL != "" {
				if u, err := url.Parse(a.DocURL); err != nil || u.Scheme != "https" || u.Host == "" {
					t.Errorf("doc_url %q is not an https URL", a.DocURL)
				}
			}
			if a.Reading != "" && a.Reading != "google" {
				t.Errorf("reading %q is unknown", a.Reading)
			}
			for _, g := range a.Groups {
				if !slices.Contains(Groups(), g) {
					t.Errorf("group %q is unknown", g)
				}
			}
			if !a.In(GroupAll) {
				t.Error("not in @all")
			}
			if a.Retired && len(a.Groups) != 1 {
				t.Errorf("retired, yet in %q", a.Groups)
			}
			if a.In(GroupTraining) && !a.In(GroupAI) {
				t.Error("in @training but not in @ai")
			}
			for _, s := range a.SupersededBy {
				if b, ok := c.Lookup(s); !ok || b.Retired {
					t.Errorf("superseded by %q, which is not a live entry", s)
				}
			}
			for _, s := range a.Fallbacks {
				if _, ok := c.Lookup(s); !ok || strings.EqualFold(s, a.Token) {
					t.Errorf("falls back to %q, which is not another entry", s)
				}
			}
		})
	}
}

func TestWellKnownAgentsAreWhereTheyBelong(t *testing.T) {
	c := load(t)
	tests := []struct {
		group    string
		in, miss []string
	}{
		{GroupAI, []string{"GPTBot", "ClaudeBot", "CCBot", "Google-Extended", "PerplexityBot", "Bytespider", "meta-externalagent",
			"Amazonbot", "Applebot-Extended", "OAI-SearchBot", "ChatGPT-User", "FacebookBot", "Diffbot", "cohere-ai"},
			[]string{"Googlebot", "bingbot", "facebookexternalhit", "anthropic-ai", "Claude-Web"}},
		{GroupTraining, []string{"GPTBot", "ClaudeBot", "CCBot", "Google-Extended", "Applebot-Extended", "Bytespider"},
			[]string{"ChatGPT-User", "OAI-SearchBot", "PerplexityBot", "Googlebot", "anthropic-ai"}},
		{GroupSearch, []string{"Googlebot", "bingbot", "OAI-SearchBot", "PerplexityBot", "Applebot"}, []string{"GPTBot", "ChatGPT-User"}},
		{GroupAssistant, []string{"ChatGPT-User", "Claude-User", "Perplexity-User", "Google-Agent"}, []string{"GPTBot", "Operator"}},
		{GroupAll, []string{"GPTBot", "Googlebot", "anthropic-ai", "Claude-Web", "omgilibot", "Operator"}, nil},
	}
	for _, tt := range tests {
		got, err := c.Expand([]string{tt.group})
		if err != nil {
			t.Fatal(err)
		}
		has := func(token string) bool {
			return slices.ContainsFunc(got, func(a Agent) bool { return a.Token == token })
		}
		for _, token := range tt.in {
			if !has(token) {
				t.Errorf("%s lacks %s", tt.group, token)
			}
		}
		for _, token := range tt.miss {
			if has(token) {
				t.Errorf("%s contains %s", tt.group, token)
			}
		}
	}
	if got, _ := c.Expand([]string{GroupAll}); len(got) != len(c.Agents) {
		t.Errorf("@all has %d of %d agents", len(got), len(c.Agents))
	}
}

func TestFallbacksAndReadingsThatOperatorsDocument(t *testing.T) {
	c := load(t)
	applebot, _ := c.Lookup("applebot")
	if !slices.Equal(applebot.Fallbacks, []string{"Googlebot"}) {
		t.Errorf("Applebot falls back to %q, want Googlebot", applebot.Fallbacks)
	}
	for _, token := range []string{"Googlebot", "Google-Extended", "GoogleOther"} {
		if a, _ := c.Lookup(token); a.Reading != "google" {
			t.Errorf("%s is read as %q, want google", token, a.Reading)
		}
	}
	if a, _ := c.Lookup("GPTBot"); a.Reading != "" || a.Fallbacks != nil {
		t.Errorf("GPTBot has reading %q and fallbacks %q, want neither", a.Reading, a.Fallbacks)
	}
}

func TestLookupIgnoresCase(t *testing.T) {
	c := load(t)
	a, ok := c.Lookup("META-ExternalAgent")
	if !ok || a.Token != "meta-externalagent" {
		t.Errorf("got %q, %v", a.Token, ok)
	}
	if _, ok := c.Lookup("GPT"); ok {
		t.Error("a part of a token was found")
	}
}

func TestExpand(t *testing.T) {
	c := load(t)
	tokens := func(list ...string) string {
		t.Helper()
		got, err := c.Expand(list)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range got {
			names = append(names, a.Token)
		}
		return strings.Join(names, " ")
	}
	if got, want := tokens("MyBot", "ccbot", "other.bot", "GPTBot", "mybot", "CCBot"), "GPTBot CCBot MyBot other.bot"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := tokens("@ai", "GPTBot"), tokens("@ai"); got != want {
		t.Errorf("a token that its group contains appears again: %s", got)
	}
	if got := tokens(); got != "" {
		t.Errorf("the empty list gives %s", got)
	}
}

func TestRefusedEntriesSayWhatIsRight(t *testing.T) {
	c := load(t)
	tests := map[string]string{
		"@robots":     `"@robots" is not a group of agents; groups are @ai, @training, @search, @assistant, @all`,
		"":            "an agent is empty; give a product token such as GPTBot, or a group such as @ai",
		"*":           `"*" is not an agent; any name that no robots.txt mentions is treated as "*" says`,
		"GPTBot/1.0":  `"GPTBot/1.0" is not a product token: '/' cannot stand in one; write it as in a User-agent line, letters, digits, "-", "_" and "." only`,
		"ChatGPT Bot": `"ChatGPT Bot" is not a product token: ' ' cannot stand in one; write it as in a User-agent line, letters, digits, "-", "_" and "." only`,
	}
	for entry, want := range tests {
		if _, err := c.Expand([]string{entry}); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", entry, err, want)
		}
	}
}

func TestDamagedDataAreReportedWithTheirLine(t *testing.T) {
	head := strings.Join(columns, "\t") + "\n"
	tests := map[string]string{
		"token\toperator\n":  "line 1: columns are",
		head + "GPTBot\tx\n": "line 2: 2 columns, want 12",
		head + "#\nA Bot" + strings.Repeat("\t", 11) + "\n": "line 3: \"A Bot\" is not a product token",
	}
	for tsv, want := range tests {
		if _, err := parse(tsv); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s...", err, want)
		}
	}
}

func TestParseToken(t *testing.T) {
	for in, want := range map[string]string{
		"GPTBot": "GPTBot", " GPTBot ": "GPTBot", "GPTBot/1.1": "GPTBot", "*": "*", "360Spider": "360Spider",
		"": "", "@ai": "", "GPTBot,CCBot": "", "GPT Bot": "", "a*b": "",
		"Mozilla/5.0 (compatible; GPTBot/1.1)": "",
	} {
		got, err := ParseToken(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseToken(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}
