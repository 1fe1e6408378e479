package notify

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// Text is what a message says, apart from how a receiver writes it: a title,
// sections of lines made of spans, and a footer. Its strings are raw and may
// come from strangers; each rendering escapes them for its own language.
type Text struct {
	Title    string
	Sections []Section
	Footer   Line
}

// Section is a heading ("" for none) and lines.
type Section struct {
	Heading string
	Lines   []Line
}

// Line is a list of spans.
type Line []Span

// Span is a run of text in one style.
type Span struct {
	Style Style
	Text  string
	URL   string // StyleLink
}

// Style of a span.
type Style byte

const (
	StylePlain Style = iota
	StyleBold
	StyleCode // quoted literally: paths, rules, values
	StyleLink
)

func plain(s string) Span { return Span{Text: s} }
func plainf(format string, a ...any) Span {
	return Span{Text: fmt.Sprintf(format, a...)}
}
func bold(s string) Span      { return Span{Style: StyleBold, Text: s} }
func code(s string) Span      { return Span{Style: StyleCode, Text: s} }
func link(url, s string) Span { return Span{Style: StyleLink, Text: s, URL: url} }

// Limits of what strangers may say in a message, in characters as shown.
const (
	maxPathShown  = 200
	maxRuleShown  = 200
	maxAgentShown = 60
	maxValueShown = 200
)

// cut shortens a title or sentence of ours to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:n-1]), " ,;:") + "…"
}

// Plain renders text for people who read it as it is: e-mail, logs, a
// terminal, the notification of a phone.
func (t Text) Plain() string {
	var b strings.Builder
	b.WriteString(t.Title)
	b.WriteByte('\n')
	for _, s := range t.Sections {
		b.WriteByte('\n')
		if s.Heading != "" {
			b.WriteString(s.Heading)
			b.WriteByte('\n')
		}
		for _, l := range s.Lines {
			if s.Heading != "" {
				b.WriteString("  ")
			}
			b.WriteString(l.plain())
			b.WriteByte('\n')
		}
	}
	if len(t.Footer) > 0 {
		b.WriteByte('\n')
		b.WriteString(t.Footer.plain())
		b.WriteByte('\n')
	}
	return b.String()
}

func (l Line) plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
		if s.Style == StyleLink && s.URL != s.Text {
			b.WriteString(" (" + s.URL + ")")
		}
	}
	return b.String()
}

// Markdown renders text for receivers that read CommonMark.
func (t Text) Markdown() string {
	var b strings.Builder
	b.WriteString("**" + mdEscape(t.Title) + "**\n")
	for _, s := range t.Sections {
		b.WriteByte('\n')
		if s.Heading != "" {
			b.WriteString("**" + mdEscape(s.Heading) + "**\n\n")
		}
		for _, l := range s.Lines {
			b.WriteString("- " + l.markdown() + "\n")
		}
	}
	if len(t.Footer) > 0 {
		b.WriteString("\n" + t.Footer.markdown() + "\n")
	}
	return b.String()
}

func (l Line) markdown() string {
	var b strings.Builder
	for _, s := range l {
		switch s.Style {
		case StyleBold:
			b.WriteString("**" + mdEscape(s.Text) + "**")
		case StyleCode:
			b.WriteString(mdCode(s.Text))
		case StyleLink:
			b.WriteString("[" + mdEscape(s.Text) + "](<" + mdURL.Replace(s.URL) + ">)")
		default:
			b.WriteString(mdEscape(s.Text))
		}
	}
	return b.String()
}

var mdURL = strings.NewReplacer("<", "%3C", ">", "%3E", `\`, "%5C", "\n", "", "\r", "")

// mdEscape keeps every character of CommonMark's and of chat dialects' syntax
// from having a meaning. Mentions (@everyone) get an invisible break, since
// no backslash helps there.
func mdEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]()<>#+!|~", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '@':
			b.WriteString("@\u200b")
		case r == '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mdCode fences text with more backticks than it has in a row.
func mdCode(s string) string {
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || strings.HasPrefix(s, " ") || s == "" {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// visibleLines shows a text of several lines: line ends and tabs stay.
func visibleLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		body, end := strings.CutSuffix(line, "\n")
		for i, part := range strings.Split(body, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(visible.Text(part))
		}
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
