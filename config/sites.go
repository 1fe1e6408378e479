package config

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// maxTag is how long a tag may be, in octets.
const maxTag = 100

func siteFields() []field[Site] {
	return []field[Site]{
		must(key("url", text("site", func(_ *input, s string) (string, error) { return NormalizeOrigin(s) }, quote), "",
			"An origin, such as `https://example.com`. A bare host means https.", func(s *Site) *string { return &s.Origin })),
		key("tags", list(tag()), "", "For filters, receivers and pages.", func(s *Site) *[]string { return &s.Tags }),
		key("schedule", siteSchedule(), "", "Default is that of [schedule].", func(s *Site) *string { return &s.Schedule }),
		key("agents", list(agent()), "", "Agents and groups watched here; default is `watch` of [agents].", func(s *Site) *[]string { return &s.Agents }),
	}
}

func siteFileFields() []field[siteFile] {
	return []field[siteFile]{
		must(key("path", plain("path", nil), "", "A text file with a URL or host a line, optionally a tab and tags with commas between; or, named .csv, with a header: url, tags, schedule, agents. `#` begins a comment. Relative to the configuration file.",
			func(f *siteFile) *string { return &f.Path })),
		key("tags", list(tag()), "", "Added to the tags of each line.", func(f *siteFile) *[]string { return &f.Tags }),
		key("schedule", siteSchedule(), "", "For lines without their own; default is that of [schedule].", func(f *siteFile) *string { return &f.Schedule }),
		key("agents", list(agent()), "", "For lines without their own; default is `watch` of [agents].", func(f *siteFile) *[]string { return &f.Agents }),
	}
}

func tag() codec[string] {
	return text("tag", func(_ *input, s string) (string, error) { return s, checkTag(s) }, quote)
}

// tagFilter is a tag, or !tag for sites without it.
func tagFilter() codec[string] {
	return text("tag", func(_ *input, s string) (string, error) {
		if s == "!" {
			return s, errors.New("\"!\" names no tag; write such as \"!test\" for sites without it")
		}
		return s, checkTag(strings.TrimPrefix(s, "!"))
	}, quote)
}

func checkTag(s string) error {
	bad := func(r rune) bool {
		return r <= ' ' || r == ',' || r == ';' || r == '"' || r == 0x7f || r == utf8.RuneError
	}
	if s == "" || len(s) > maxTag || strings.HasPrefix(s, "!") || strings.ContainsFunc(s, bad) {
		return fmt.Errorf("%q is not a tag; use up to %d letters, digits and signs without spaces, commas and a leading \"!\"", s, maxTag)
	}
	return nil
}

// SiteCount is how many sites there were when the configuration was checked.
func (c *Config) SiteCount() int { return c.siteCount }

// Sites yields every site: those of the configuration, then those of the
// site files in their order. Files are read anew each time and never held in
// memory. An error ends it: a file that cannot be read any more, or that was
// changed since it was checked and has a mistake now.
func (c *Config) Sites() iter.Seq2[Site, error] {
	return func(yield func(Site, error) bool) {
		for _, s := range c.sites {
			if !yield(s, nil) {
				return
			}
		}
		for i := range c.siteFiles {
			f := &c.siteFiles[i]
			stopped := false
			err := f.each(c.check, func(at place, s Site, err error) bool {
				if err != nil {
					err = Problem{File: f.path, Line: at.line, Column: at.column, Key: "site", Text: err.Error()}
				}
				stopped = !yield(s, err) || err != nil
				return !stopped
			})
			if stopped {
				return
			}
			if err != nil {
				yield(Site{}, fmt.Errorf("site file: %w", err))
				return
			}
		}
	}
}

// Error makes a single problem an error.
func (p Problem) Error() string { return p.String() }
