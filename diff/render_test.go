package diff

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the stories give into their files")

// The words that a user reads, for the stories of how files really change.
func TestStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no stories", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			story, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			section := make(map[string]string)
			for _, f := range story.Files {
				section[f.Name] = string(f.Data)
			}
			_, tokens, _ := strings.Cut(string(story.Comment), "agents:")
			got := Render(files(section["old"], section["new"], strings.Fields(tokens)...))
			if *update {
				story.Files[len(story.Files)-1].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(story), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != section["want"] {
				t.Errorf("got\n%s\nwant\n%s", got, section["want"])
			}
		})
	}
}

// What a report says when it is not sure, and what it does with a stranger's
// text.
func TestRenderIsHonestAndSafe(t *testing.T) {
	rule, line := "Disallow: /\x1b[2J", 3
	got := Render(&Report{Compared: 2, Agents: []AgentChange{
		{Agent: "a\u202eb", Before: Access{Allowed, "default"}, After: Access{Partial, "named"}, Direction: Tightened,
			NewlyDisallowed: []Entry{{Example: "/x", Rule: &rule, Line: &line, AllowedBy: "Allow: /*x", AllowedLine: 2}}},
		{Agent: Everyone, Before: Access{Partial, "wildcard"}, After: Access{Partial, "wildcard"}},
	}, Sitemaps: SitemapsChange{Added: []string{"http://e/\n"}}, Text: TextStat{1, 0}})
	want := `Access changed: 1 agent may fetch less, of 2 compared.
Not proven for 2 agents: the search gave up at its limit. What is listed is true, but there may be more.

a\u{202e}b
  allowed → partial (tightened)
  rules: no group → its own group
  not proven: there may be more than what follows
  newly disallowed
    /x  Allow: /*x (old line 2) → Disallow: /\x1b[2J (new line 3)

all others (*)
  partial as before
  not proven: there may be more than what follows

sitemaps
  added http://e/\x0a

text: 1 line added, 0 lines removed
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Googlebot's parser takes a longer key for Disallow; the RFC does not.
func TestNoteOnOtherReading(t *testing.T) {
	before, after := NewInput([]byte("User-agent: *\nDisallow: /a\n")), NewInput([]byte("User-agent: *\nDisallow: /a\nDisallowed: /\n"))
	report := Files(before, after, []Agent{{Token: "Googlebot", Reading: "google"}, {Token: "AdsBot", Operator: "google"}, {Token: "GPTBot"}})
	if len(report.Agents) != 1 || report.Agents[0].Agent != "Googlebot" || report.Agents[0].After.Level != Blocked {
		t.Fatalf("got %+v", report.Agents)
	}
	if got, want := report.Agents[0].Note, "read as RFC 9309 says: partial as before"; got != want {
		t.Errorf("note %q, want %q", got, want)
	}
	if want := "AdsBot, read as its operator does (google): partial → blocked (tightened)"; len(report.Notes) != 1 || report.Notes[0] != want {
		t.Errorf("notes %q, want %q", report.Notes, want)
	}
}
