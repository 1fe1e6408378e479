package config

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLine is how long a line of a site file may be, in octets.
const maxLine = 64 << 10

// each reads the file line by line. yield gets each site or what is wrong
// with its line, and says whether to go on. The error is one of the file.
func (f *siteFile) each(check func(string) error, yield func(place, Site, error) bool) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := &siteLines{file: f, check: check, seen: map[string]string{}}
	if strings.EqualFold(filepath.Ext(f.path), ".csv") {
		return lines.csv(file, yield)
	}
	return lines.text(file, yield)
}

// siteLines turns lines of one site file into sites. Equal lists of tags and
// agents are shared.
type siteLines struct {
	file  *siteFile
	check func(string) error // of an agent

	lastTags, lastAgents string // the cells that tags and agents were made of
	tags, agents         []string
	seen                 map[string]string // checked schedules, with what is wrong
}

func (l *siteLines) text(r io.Reader, yield func(place, Site, error) bool) error {
	br := bufio.NewReaderSize(r, maxLine)
	for number := 1; ; number++ {
		raw, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if !yield(place{number, 1}, Site{}, fmt.Errorf("the line is longer than %d octets", maxLine)) {
				return nil
			}
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = br.ReadSlice('\n')
			}
			raw = nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		line := string(raw)
		if number == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if column, url, tags := splitLine(line); url != "" || tags != "" {
			s, serr := l.site(url, tags, "", "")
			if !yield(place{number, column}, s, serr) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// splitLine takes a comment off and separates URL and tags.
func splitLine(line string) (column int, url, tags string) {
	for i := strings.IndexByte(line, '#'); i >= 0; {
		if i == 0 || line[i-1] == ' ' || line[i-1] == '\t' {
			line = line[:i]
			break
		}
		next := strings.IndexByte(line[i+1:], '#')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	url, tags, _ = strings.Cut(strings.TrimRight(line, " \t\r\n"), "\t")
	column = 1 + len(url) - len(strings.TrimLeft(url, " "))
	return column, strings.TrimSpace(url), tags
}

// csvColumns of a site file; the first one has other names too.
var csvColumns = []string{"url", "tags", "schedule", "agents"}

func (l *siteLines) csv(r io.Reader, yield func(place, Site, error) bool) error {
	cr := csv.NewReader(r)
	cr.Comment, cr.ReuseRecord, cr.TrimLeadingSpace = '#', true, true
	header, err := cr.Read()
	if err != nil && err != io.EOF {
		yield(place{1, 1}, Site{}, csvError(err))
		return nil
	}
	at := map[string]int{}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		switch name {
		case "site", "host", "origin", "domain":
			name = "url"
		}
		line, column := cr.FieldPos(i)
		if _, twice := at[name]; twice || !slices.Contains(csvColumns, name) {
			yield(place{line, column}, Site{}, fmt.Errorf("the column %q is unknown or there twice; the first line names the columns, allowed are %s", name, strings.Join(csvColumns, ", ")))
			return nil
		}
		at[name] = i
	}
	if _, ok := at["url"]; !ok {
		yield(place{1, 1}, Site{}, fmt.Errorf("there is no column url; the first line names the columns, allowed are %s", strings.Join(csvColumns, ", ")))
		return nil
	}
	for {
		record, err := cr.Read()
		if err == io.EOF {
			return nil
		}
		var perr *csv.ParseError
		if errors.As(err, &perr) {
			if !yield(place{perr.Line, max(perr.Column, 1)}, Site{}, csvError(err)) {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		cell := func(name string) string {
			if i, ok := at[name]; ok {
				return strings.TrimSpace(record[i])
			}
			return ""
		}
		line, column := cr.FieldPos(at["url"])
		s, serr := l.site(cell("url"), cell("tags"), cell("schedule"), cell("agents"))
		if !yield(place{line, column}, s, serr) {
			return nil
		}
	}
}

func csvError(err error) error {
	var perr *csv.ParseError
	if errors.As(err, &perr) {
		return fmt.Errorf("not CSV: %w", perr.Err)
	}
	return err
}

// site makes a site of the cells of a line.
func (l *siteLines) site(url, tags, schedule, agents string) (Site, error) {
	origin, err := NormalizeOrigin(url)
	if err != nil {
		return Site{}, err
	}
	s := Site{Origin: origin, Tags: l.file.Tags, Schedule: l.file.Schedule, Agents: l.file.Agents}
	if tags != "" {
		if tags != l.lastTags {
			if l.tags, err = l.mergeTags(tags); err != nil {
				return Site{}, err
			}
			l.lastTags = tags
		}
		s.Tags = l.tags
	}
	if agents != "" {
		if agents != l.lastAgents {
			if l.agents, err = l.splitAgents(agents); err != nil {
				return Site{}, err
			}
			l.lastAgents = agents
		}
		s.Agents = l.agents
	}
	if schedule != "" {
		if err := l.schedule(schedule); err != nil {
			return Site{}, err
		}
		s.Schedule = schedule
	}
	return s, nil
}

func cells(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' })
}

func (l *siteLines) mergeTags(s string) ([]string, error) {
	merged := slices.Clone(l.file.Tags)
	for _, t := range cells(s) {
		if err := checkTag(t); err != nil {
			l.lastTags = ""
			return nil, err
		}
		if !slices.Contains(merged, t) {
			merged = append(merged, t)
		}
	}
	return merged, nil
}

func (l *siteLines) splitAgents(s string) ([]string, error) {
	list := cells(s)
	for _, a := range list {
		if err := l.check(a); err != nil {
			l.lastAgents = ""
			return nil, err
		}
	}
	return list, nil
}

func (l *siteLines) schedule(s string) error {
	wrong, known := l.seen[s]
	if !known {
		if err := checkSiteSchedule(s); err != nil {
			wrong = err.Error()
		}
		l.seen[s] = wrong
	}
	if wrong != "" {
		return errors.New(wrong)
	}
	return nil
}
