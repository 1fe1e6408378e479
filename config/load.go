package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Options are what a configuration needs of the process.
type Options struct {
	// CheckAgent reports what is wrong with an entry of a list of agents: a
	// group that does not exist, a text that is no product token.
	CheckAgent func(entry string) error
	// CheckService reports what is wrong with a service URL of shoutrrr; its
	// error holds no secrets.
	CheckService func(url string) error
	// CheckWebConfig reports what is wrong with a web configuration file.
	CheckWebConfig func(path string) error
	// CredentialsDir is $CREDENTIALS_DIRECTORY, "" outside of systemd.
	CredentialsDir string
}

// Load reads a configuration file, the secrets and site files that it names
// included. The error is Problems when the file could be read and is wrong.
func Load(path string, options Options) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data, options)
}

// Parse reads the text of a configuration; relative paths in it are relative
// to the directory of path. The error is Problems.
func Parse(path string, data []byte, options Options) (*Config, error) {
	for _, check := range []*func(string) error{&options.CheckAgent, &options.CheckService, &options.CheckWebConfig} {
		if *check == nil {
			*check = func(string) error { return nil }
		}
	}
	l := &loader{file: path, options: options, bad: map[string]bool{}, badPlaces: map[place]bool{}, schedules: map[string]error{}}
	root, problems := parseDocument(data)
	for _, p := range problems {
		l.report(p.at, p.key, "%s", p.text)
	}
	c := l.config(root)
	if p, wrong := arbiter(data); wrong && len(problems) == 0 && !l.badAt(p.at) {
		l.report(p.at, p.key, "%s", p.text)
	}
	if len(l.problems) > 0 {
		return nil, l.problems.sorted(path)
	}
	c.Warnings = l.warnings.sorted(path)
	return c, nil
}

// loader collects problems while one configuration is read.
type loader struct {
	file      string
	options   Options
	problems  Problems
	warnings  Problems        // nothing wrong, but hardly meant
	bad       map[string]bool // keys with problems
	badPlaces map[place]bool  // in the configuration file
	schedules map[string]error
	tagsUsed  []tagUse
}

func (l *loader) report(at place, key, format string, args ...any) {
	l.badPlaces[at] = true
	l.reportIn(l.file, at, key, format, args...)
}

func (l *loader) reportIn(file string, at place, key, format string, args ...any) {
	l.bad[key] = true
	l.problems = append(l.problems, Problem{file, at.line, at.column, key, fmt.Sprintf(format, args...)})
}

func (l *loader) warn(at place, key, format string, args ...any) {
	l.warnings = append(l.warnings, Problem{l.file, at.line, at.column, key, fmt.Sprintf("warning: "+format, args...)})
}

func (l *loader) badAt(at place) bool { return l.badPlaces[at] }

// resolve makes a path relative to the configuration file one that can be
// opened.
func (l *loader) resolve(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.file), path)
}

// siteSchedule is checkSiteSchedule, each text once.
func (l *loader) siteSchedule(s string) error {
	err, known := l.schedules[s]
	if !known {
		err = checkSiteSchedule(s)
		l.schedules[s] = err
	}
	return err
}

// config reads the whole tree.
func (l *loader) config(root *table) *Config {
	c := &Config{File: l.file, check: l.options.CheckAgent}
	all := sections()
	allowed := make([]string, 0, len(all)+3)
	for _, s := range all {
		allowed = append(allowed, s.name)
	}
	allowed = append(allowed, "sites", "site_files", "receivers")
	tables := map[string]*table{}
	siteKeys, fileKeys, receiverKeys := siteFields(), siteFileFields(), receiverFields()
	for _, e := range root.entries {
		switch e.key {
		case "sites":
			for _, n := range l.tables(e) {
				c.sites = append(c.sites, readSite(l, n, siteKeys))
			}
		case "site_files":
			for _, n := range l.tables(e) {
				c.siteFiles = append(c.siteFiles, readSiteFile(l, n, fileKeys))
			}
		case "receivers":
			for _, n := range l.tables(e) {
				c.Receivers = append(c.Receivers, readReceiver(l, n, receiverKeys))
			}
		default:
			tables[e.key] = l.section(e, allowed)
		}
	}
	g := map[string]given{}
	for _, s := range all {
		g[s.name] = decode(l, tables[s.name], s.name, s.fields, c)
	}
	checkTogether(l, c, g)
	l.finishReceivers(c, root)
	c.dropEmpty()
	checkSites(l, c)
	return c
}

// section gives the table of a top-level key, nil when it is none.
func (l *loader) section(e *entry, allowed []string) *table {
	for _, name := range allowed {
		if e.key != name {
			continue
		}
		if e.value.kind != unstable.Table {
			l.report(e.at, e.key, "must be a table, written [%s], not %s", e.key, kindName(e.value))
			return nil
		}
		return e.value.table
	}
	l.report(e.at, e.key, "unknown key; %s", suggest(e.key, allowed))
	return nil
}

// tables gives the elements of a [[list]].
func (l *loader) tables(e *entry) []*node {
	wrong := func(n *node) {
		l.report(n.at, e.key, "must be tables, each written [[%s]], not %s", e.key, kindName(n))
	}
	if e.value.kind != unstable.Array {
		wrong(e.value)
		return nil
	}
	var out []*node
	for _, n := range e.value.items {
		if n.kind != unstable.Table {
			wrong(n)
			continue
		}
		out = append(out, n)
	}
	return out
}

func readSite(l *loader, n *node, fields []field[Site]) Site {
	var s Site
	g := decode(l, n.table, "sites", fields, &s)
	s.at = g.value("url")
	if !g.has("url") {
		l.report(g.at, "sites", "url is missing; write such as url = \"https://example.com\"")
	}
	return s
}

func readSiteFile(l *loader, n *node, fields []field[siteFile]) siteFile {
	var f siteFile
	g := decode(l, n.table, "site_files", fields, &f)
	f.at = g.value("path")
	f.path = l.resolve(f.Path)
	if f.Path == "" && !l.badAt(f.at) {
		l.report(f.at, "site_files", "path is missing; write such as path = \"sites.txt\"")
	}
	return f
}

// dropEmpty forgets what was reported already and cannot be looked at.
func (c *Config) dropEmpty() {
	c.sites = filter(c.sites, func(s Site) bool { return s.Origin != "" })
	c.siteFiles = filter(c.siteFiles, func(f siteFile) bool { return f.Path != "" })
}

func filter[T any](list []T, keep func(T) bool) []T {
	var out []T
	for _, v := range list {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// finishReceivers fills in what depends on other tables, and reports names
// that stand twice.
func (l *loader) finishReceivers(c *Config, root *table) {
	lines := map[string]int{}
	var nodes []*node
	if e := root.get("receivers"); e != nil {
		nodes = filter(e.value.items, func(n *node) bool { return n.table != nil })
	}
	for i := range c.Receivers {
		r := &c.Receivers[i]
		if r.Mode == ModeDigest && r.Digest == "" {
			r.Digest = c.Schedule.Digest
		}
		at := nodes[i].at
		if e := nodes[i].table.get("name"); e != nil {
			at = e.value.at
		}
		if line, twice := lines[r.Name]; twice {
			l.report(at, "receivers.name", "%q is there twice, first at line %d; give each receiver its own name", r.Name, line)
		} else if r.Name != "" {
			lines[r.Name] = at.line
		}
	}
}

// IsProblems reports whether an error is about the contents of a
// configuration.
func IsProblems(err error) bool {
	var ps Problems
	return errors.As(err, &ps)
}
