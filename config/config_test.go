package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the tests get as what they want")

// options with a small catalogue of agents.
func options() Options {
	return Options{CheckAgent: func(entry string) error {
		switch {
		case entry == "@ai" || entry == "@all":
			return nil
		case strings.HasPrefix(entry, "@"):
			return fmt.Errorf("%q is no group", entry)
		case strings.ContainsAny(entry, " /*"):
			return fmt.Errorf("%q is no token", entry)
		}
		return nil
	}}
}

// parse reads a configuration that must be right.
func parse(t *testing.T, toml string) *Config {
	t.Helper()
	c, err := Parse(filepath.Join(t.TempDir(), "config.toml"), []byte(toml), options())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// problems of a configuration that must be wrong, one a line.
func problems(t *testing.T, toml string) string {
	t.Helper()
	_, err := Parse("c.toml", []byte(toml), options())
	var ps Problems
	if !errors.As(err, &ps) || len(ps) == 0 {
		t.Fatalf("got %v, want problems", err)
	}
	return ps.Error()
}

// golden compares with a file under testdata.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s\n--- got\n%s--- want\n%s", path, got, want)
	}
}

func TestEachMistakeHasItsMessage(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.toml")
	if err != nil || len(files) < 90 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			_, err := Load(file, options())
			if !IsProblems(err) {
				t.Fatalf("got %v, want problems", err)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("a secret is in the message: %v", err)
			}
			golden(t, strings.TrimSuffix(file, "toml")+"want", err.Error()+"\n")
		})
	}
}

func TestAllMistakesAtOnceInReadingOrder(t *testing.T) {
	got := problems(t, `
[fetch]
timeout = "soon"
concurrency = -1
colour = "red"
oops
[[receivers]]
type = "log"
[confirm]
failures = 0
`)
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.Join(strings.SplitN(line, ":", 4)[:3], ":"))
	}
	want := []string{"c.toml:3:11", "c.toml:4:15", "c.toml:5:1", "c.toml:6:5", "c.toml:7:3", "c.toml:10:12"}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q in\n%s", lines, want, got)
	}
}

func TestAMissingFileIsNoProblemOfTheContents(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.toml"), options())
	if !errors.Is(err, os.ErrNotExist) || IsProblems(err) {
		t.Errorf("got %v", err)
	}
}

func TestKindsThatAreNeverSentAreWarnedOf(t *testing.T) {
	for receiver, want := range map[string]string{
		`kinds = ["access", "sitemap"]`:                                 "4:9: receivers.kinds: warning: sitemap is never sent: its severity is info at most, and min_severity is \"warning\"",
		`kinds = ["signal", "state"]` + "\nmin_severity = \"critical\"": "4:9: receivers.kinds: warning: signal is never sent: its severity is warning at most, and min_severity is \"critical\"",
		`kinds = ["cosmetic"]` + "\nmin_severity = \"info\"":            "",
		`kinds = ["access", "state", "signal"]`:                         "",
		`min_severity = "critical"`:                                     "",
	} {
		c := parse(t, "[[receivers]]\nname = \"x\"\ntype = \"log\"\n"+receiver)
		if got := c.Warnings.Error(); strings.TrimPrefix(got, c.File+":") != want {
			t.Errorf("%s: %q, want %q", receiver, got, want)
		}
	}
}

// A filter by a tag that no site has sends nothing, or everything.
func TestTagsThatNoSiteHasAreWarnedOf(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "more.txt"), []byte("b.example\tnews,eu\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const sites = "[[sites]]\nurl = \"https://a.example\"\ntags = [\"shops\"]\n[[site_files]]\npath = \"more.txt\"\n"
	for _, c := range []struct{ sites, tags, want string }{
		{sites, `["news", "!shops"]`, ""},
		{sites, `[]`, ""},
		{sites, `["News"]`, `9:9: receivers.tags: warning: no site has the tag "News"; did you mean "news"?`},
		{sites, `["eu", "!shop"]`, `9:15: receivers.tags: warning: no site has the tag "shop"; did you mean "shops"?`},
		{sites, `["banks"]`, `9:9: receivers.tags: warning: no site has the tag "banks"; there are ["eu" "news" "shops"]`},
		{"[[sites]]\nurl = \"https://a.example\"\n\n\n\n", `["eu"]`, `9:9: receivers.tags: warning: no site has the tag "eu"; none has any`},
		{"", `["eu"]`, ""}, // no sites yet
	} {
		text := c.sites + "[[receivers]]\nname = \"x\"\ntype = \"log\"\ntags = " + c.tags + "\n"
		got, err := Parse(filepath.Join(dir, "config.toml"), []byte(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if w := strings.TrimPrefix(got.Warnings.Error(), got.File+":"); w != c.want {
			t.Errorf("%s: %q, want %q", c.tags, w, c.want)
		}
	}
}

func TestACommandMayRepeatArguments(t *testing.T) {
	c := parse(t, "[[receivers]]\nname = \"x\"\ntype = \"exec\"\ncommand = [\"/bin/x\", \"-v\", \"-v\"]\n")
	if got := c.Receivers[0].Command; !slices.Equal(got, []string{"/bin/x", "-v", "-v"}) {
		t.Errorf("the command is %q", got)
	}
}
