package robots

import (
	"strings"
	"unicode/utf8"
)

// Parse reads a robots.txt. It never fails: every line that can be read is
// used, the rest is kept as unknown records (RFC 9309, 2.3.1.5).
//
// Beyond the RFC, each with a warning: UTF-16 with a byte order mark is
// decoded; a few slips of the pen are read as what was meant (disalow,
// useragent, a missing colon); a User-agent value counts up to its first
// white space and without a version; tokens may have digits and dots. The
// longest of several Crawl-delay lines of a group counts, so that order never
// matters.
func Parse(b []byte, opt Options) *File {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	if opt.Reading == "" {
		opt.Reading = ReadingRFC9309
	}
	google := opt.Reading == ReadingGoogle
	whole, more := Cut(b, opt.MaxBytes)
	t := readText(whole, !google)
	p := parser{file: &File{Bytes: len(b), Truncated: more, reading: opt.Reading}, google: google}
	if t.mark != "" {
		p.warn(1, WarnByteOrderMark, "the file starts with %s; it is skipped", t.mark)
	}
	if t.utf16 {
		p.warn(1, WarnUTF16, "the file is UTF-16; many crawlers read UTF-8 only (RFC 9309, 2.2)")
	}
	p.lines(t.body)
	p.endGroup()
	if more {
		p.warn(max(p.file.Lines, 1), WarnTruncated, "the file has %d octets; what lies beyond %d is not read", len(b), opt.MaxBytes)
	}
	p.finish()
	return p.file
}

// parser holds what a line has to know about the lines before it.
type parser struct {
	file   *File
	google bool
	room   int    // records that the text may have, for setting memory aside
	rules  []Rule // of all groups, in one array
	tokens []string
	spans  []span // what of them belongs to each group

	lastKey  string // of the line before: most lines repeat it
	lastKind Kind
	lastHow  spelling

	// The group being read.
	open       bool // a User-agent line was seen
	inRun      bool // no rule yet: another User-agent line joins the group
	group      Group
	first      span
	signals    []Signal
	seen       map[string]bool // tokens, once there are many
	betweenRun int             // line of the first record since the last User-agent line of the run
	blankRun   int             // line of the first blank line since then
}

// lines cuts the text at LF, CR and CRLF, and off what # starts anywhere in a
// line (2.2). The next of each is looked for only once, which is fast, and
// keeps files of bare CRs linear.
func (p *parser) lines(body string) {
	// Room for all lines, as far as they are not implausibly short.
	const shortestLine = 12
	p.room = min(strings.Count(body, "\n"), len(body)/shortestLine) + 1
	p.file.Records = make([]Record, 0, p.room)
	lf, cr, hash := -1, -1, -1
	for at := 0; at < len(body); {
		if lf < at {
			lf = indexFrom(body, '\n', at)
		}
		if cr < at {
			cr = indexFrom(body, '\r', at)
		}
		if hash < at {
			hash = indexFrom(body, '#', at)
		}
		end := min(lf, cr)
		p.file.Lines++
		p.line(body[at:min(end, hash)], hash < end)
		at = end + 1
		if end == cr && lf == at {
			at++
		}
	}
}

// indexFrom is the index of the first c at or after from, len(s) without one.
func indexFrom(s string, c byte, from int) int {
	if s[from] == c { // blank lines are many
		return from
	}
	if i := strings.IndexByte(s[from:], c); i >= 0 {
		return from + i
	}
	return len(s)
}

// line reads one line without its end and its comment.
func (p *parser) line(line string, commented bool) {
	if p.google {
		line = googleLine(line)
	}
	line = trimSpace(line)
	if line == "" {
		if p.inRun && p.blankRun == 0 && !commented {
			p.blankRun = p.file.Lines
		}
		return
	}
	colon := strings.IndexByte(line, ':')
	key, value, kind, how := "", line, KindUnknown, asStranger
	if colon >= 0 {
		key, value = trimSpace(line[:colon]), trimSpace(line[colon+1:])
		kind, how = p.key(key)
	}
	if kind == KindUnknown && (colon < 0 || !p.google) {
		if k, h, first, word := splitMissingColon(line); k != KindUnknown {
			key, value, kind, how = first, word, k, h
			p.warn(p.file.Lines, WarnMissingColon, "the colon after %s is missing; read as if it were there", quote(first))
		}
	}
	if how != asKnown {
		p.oddKey(kind, how, key, line)
	}
	p.file.Records = append(p.file.Records, Record{Line: p.file.Lines, Kind: kind, Key: key, Value: value})
	p.record(kind, key, value, line)
}

// key tells what kind of record a key starts.
func (p *parser) key(key string) (Kind, spelling) {
	if key == p.lastKey {
		return p.lastKind, p.lastHow
	}
	p.lastKey = key
	if p.google {
		p.lastKind, p.lastHow = googleKey(key), asKnown
	} else {
		p.lastKind, p.lastHow = lookKey(key)
	}
	return p.lastKind, p.lastHow
}

// oddKey warns about a key that is not written as it should be.
func (p *parser) oddKey(kind Kind, how spelling, key, line string) {
	switch how {
	case asTypo:
		p.warn(p.file.Lines, WarnKeyTypo, "%s is read as %s; other crawlers may ignore the line", quote(key), kind)
		return
	case asMisread:
		p.warn(p.file.Lines, WarnKeyMisread, "%s is not Disallow, but crawlers that go by how a key begins take it for that (2.2.4)", quote(key))
		return
	}
	switch near := nearKey(key); {
	case p.google:
	case near != "":
		p.warn(p.file.Lines, WarnKeyUnknown, "%s is not %s: the line is ignored (2.2.4)", quote(key), near)
	case strings.IndexByte(line, 0) >= 0:
		p.warn(p.file.Lines, WarnNUL, "a NUL octet stands in the line, which is not understood")
	case hasOddSpace(key):
		p.warn(p.file.Lines, WarnOddSpace, "white space that is not ASCII makes this line unknown; use plain spaces")
	}
}

// oddSpaces are characters that look like nothing: no-break space, zero-width
// spaces and joiners, byte order mark, line separators, ideographic space.
var oddSpaces = [...]string{"\u00a0", "\u200b", "\u200c", "\u200d", "\u2060", byteOrderMark, "\u2028", "\u2029", "\u3000"}

// hasOddSpace also knows a no-break space of Latin-1 at either end of what is
// no UTF-8.
func hasOddSpace(s string) bool {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		return false
	}
	for _, odd := range oddSpaces {
		if strings.Contains(s, odd) {
			return true
		}
	}
	return (s[0] == 0xa0 || s[len(s)-1] == 0xa0) && !utf8.ValidString(s)
}

// record gives a line its meaning.
func (p *parser) record(kind Kind, key, value, line string) {
	if kind != KindUserAgent && p.open {
		p.group.EndLine = p.file.Lines
		if p.inRun && p.betweenRun == 0 {
			p.betweenRun = p.file.Lines
		}
	}
	switch kind {
	case KindUserAgent:
		p.userAgent(value)
	case KindAllow, KindDisallow:
		p.rule(kind, key, value, line)
	case KindSitemap:
		p.sitemap(value)
	case KindCrawlDelay:
		p.crawlDelay(value)
	case KindSignal:
		p.signal(key, value)
	}
}
