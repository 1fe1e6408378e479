package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheReferenceIsCurrent(t *testing.T) {
	golden(t, "../docs/configuration.md", reference())
}

// reference is docs/configuration.md, made of the tables of keys.
func reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration

The configuration is one TOML file: ` + "`--config FILE`, else `$ROBOTSWATCH_CONFIG`, else `./config.toml`, else `/etc/robotswatch/config.toml`" + `.
It is read strictly: unknown keys, bad values and contradictions are errors,
and ` + "`robotswatch config check`" + ` lists all of them at once as
` + "`file:line:column: key: what is wrong, what is allowed`. `robotswatch config show`" + `
prints what is in effect, defaults filled in and secrets masked.
` + "[config.example.toml](../config.example.toml)" + ` is complete and works as it is.

- **Durations** are written as in Go, plus days: ` + "`\"30s\"`, `\"5m\"`, `\"1h30m\"`, `\"7d\"`" + `.
- **Schedules** are ` + "`@every 6h`" + ` or the five fields of cron, in UTC unless
  ` + "`CRON_TZ=Zone `" + ` stands in front.
- **Secrets** can be set in three ways: inline, by file (` + "`…_file`" + `), or by systemd
  credential (` + "`…_credential`, read from `$CREDENTIALS_DIRECTORY`" + `). They never
  appear in logs, errors, pages or ` + "`config show`" + `.
- **Paths** are relative to the configuration file; that of the store is
  relative to the working directory.
- **Sites** are origins. A bare host means https; upper case, Unicode names,
  default ports and a trailing slash are brought to one form, and a site that is
  there twice after that is an error. So is a path: a robots.txt is one per origin.

This page is made from the table of keys that the program reads with; a test
keeps it current.
`)
	for _, s := range sections() {
		referenceTable(&b, "["+s.name+"]", s.doc, s.fields)
	}
	referenceTable(&b, "[[sites]]", "One a site.", siteFields())
	referenceTable(&b, "[[site_files]]", "Files with many sites. They are read by streaming: a million lines cost no memory.", siteFileFields())
	referenceTable(&b, "[[receivers]]", "One for each place that hears of changes.", receiverFields())
	return b.String()
}

func referenceTable[T any](b *strings.Builder, title, doc string, fields []field[T]) {
	fmt.Fprintf(b, "\n## `%s`\n\n%s\n\n| key | type | default | |\n|---|---|---|---|\n", title, doc)
	for _, f := range fields {
		def, text := "", f.doc
		switch {
		case f.required:
			def = "required"
		case f.def != "":
			def = "`" + f.def + "`"
		}
		if f.only != nil {
			text = "*" + strings.Join(f.only, ", ") + "*: " + text
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.name, f.kind, def, strings.ReplaceAll(text, "|", "\\|"))
	}
}

func TestTheExampleIsValidAndComplete(t *testing.T) {
	const path = "../config.example.toml"
	c, err := Load(path, options())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Store.URL.Reveal(); !strings.HasPrefix(got, "sqlite:data/") {
		t.Errorf("the store is %q, want it under data/", got)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(keys []string) {
		for _, key := range keys {
			if !regexp.MustCompile(`(?m)\b` + key + `\b`).Match(text) {
				t.Errorf("the example says nothing of %s", key)
			}
		}
	}
	for _, s := range sections() {
		check([]string{s.name})
		check(names(s.fields))
	}
	check(names(siteFields()))
	check(names(siteFileFields()))
	check(names(receiverFields()))
}

// What the example shows as the default is the default.
func TestTheExampleShowsDefaults(t *testing.T) {
	example, err := Load("../config.example.toml", options())
	if err != nil {
		t.Fatal(err)
	}
	show := func(c *Config) string {
		var b strings.Builder
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain := parse(t, "[store]\nurl = \"sqlite:data/robotswatch.db\"\n[[sites]]\nurl = \"example.com\"\ntags = [\"example\"]\n[[sites]]\nurl = \"example.org\"\n[[receivers]]\nname = \"log\"\ntype = \"log\"\n")
	if got, want := show(example), show(plain); got != want {
		t.Errorf("--- example\n%s--- defaults\n%s", got, want)
	}
}
