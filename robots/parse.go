package robots

import (
	"slices"
	"strconv"
	"strings"
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
	t := readText(b, opt.MaxBytes, !google)
	p := parser{file: &File{Bytes: len(b), Truncated: t.limited, reading: opt.Reading}, google: google}
	if t.mark != "" {
		p.warn(1, WarnByteOrderMark, "the file starts with %s; it is skipped", t.mark)
	}
	if t.utf16 {
		p.warn(1, WarnUTF16, "the file is UTF-16; many crawlers read UTF-8 only (RFC 9309, 2.2)")
	}
	p.lines(t.body)
	p.endGroup()
	if t.limited {
		p.warn(p.file.Lines, WarnTruncated, "the file has %d octets; what lies beyond %d is not read", len(b), opt.MaxBytes)
	}
	p.finish()
	return p.file
}

// parser holds what a line has to know about the lines before it.
type parser struct {
	file   *File
	google bool
	rules  []Rule // of all groups; a group has a range of them
	ranges []ruleRange

	// The group being read.
	open       bool // a User-agent line was seen
	inRun      bool // no rule yet: another User-agent line joins the group
	group      Group
	firstRule  int
	signals    []Signal
	seen       map[string]bool // tokens, once there are many
	betweenRun int             // line of the first record since the last User-agent line of the run
	blankRun   int             // line of the first blank line since then
}

type ruleRange struct{ from, to int }

// lines cuts the text at LF, CR and CRLF. The next CR and the next LF are
// looked for only once each, which keeps files of bare CRs linear.
func (p *parser) lines(body string) {
	p.file.Records = make([]Record, 0, min(strings.Count(body, "\n"), len(body)/12)+8)
	nextLF, nextCR := -1, -1
	for at := 0; at < len(body); {
		if nextLF < at {
			nextLF = indexFrom(body, '\n', at)
		}
		if nextCR < at {
			nextCR = indexFrom(body, '\r', at)
		}
		end := min(nextLF, nextCR)
		p.file.Lines++
		p.line(body[at:end])
		at = end + 1
		if end == nextCR && nextLF == at {
			at++
		}
	}
}

// indexFrom is the index of the first c at or after from, len(s) without one.
func indexFrom(s string, c byte, from int) int {
	if i := strings.IndexByte(s[from:], c); i >= 0 {
		return from + i
	}
	return len(s)
}

// line reads one line without its end.
func (p *parser) line(line string) {
	raw := line
	if p.google {
		line = googleLine(line)
	}
	if i := strings.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	line = trimSpace(line)
	if line == "" {
		if p.inRun && p.blankRun == 0 && raw == "" {
			p.blankRun = p.file.Lines
		}
		return
	}
	var key, value string
	kind, how := KindUnknown, asStranger
	colon := strings.IndexByte(line, ':')
	if colon >= 0 {
		key, value = trimSpace(line[:colon]), trimSpace(line[colon+1:])
		if p.google {
			kind = googleKey(key)
		} else {
			kind, how = lookKey(key)
		}
	}
	if kind == KindUnknown && (colon < 0 || !p.google) {
		if k, first, word := splitMissingColon(line); k != KindUnknown {
			kind, how, key, value, colon = k, asKnown, first, word, -1
			if _, s := lookKey(first); s == asTypo {
				how = asTypo
			}
			p.warn(p.file.Lines, WarnMissingColon, "the colon after %s is missing; read as if it were there", quote(first))
		}
	}
	if colon < 0 && kind == KindUnknown {
		key, value = "", line
	}
	if how != asKnown {
		p.oddKey(kind, how, key, line)
	}
	p.file.Records = append(p.file.Records, Record{Line: p.file.Lines, Kind: kind, Key: key, Value: value})
	p.record(kind, key, value, line)
}

// oddKey warns about a key that is not written as it should be.
func (p *parser) oddKey(kind Kind, how spelling, key, line string) {
	switch {
	case how == asTypo:
		p.warn(p.file.Lines, WarnKeyTypo, "%s is read as %s; other crawlers may ignore the line", quote(key), kind)
	case p.google:
	case strings.IndexByte(line, 0) >= 0:
		p.warn(p.file.Lines, WarnNUL, "a NUL octet stands in the line, which is not understood")
	case hasOddSpace(key):
		p.warn(p.file.Lines, WarnOddSpace, "white space that is not ASCII makes this line unknown; use plain spaces")
	default:
		if near := nearKey(key); near != "" {
			p.warn(p.file.Lines, WarnKeyUnknown, "%s is not %s: the line is ignored (2.2.4)", quote(key), near)
		}
	}
}

// oddSpaces are characters that look like nothing: no-break space, zero-width
// space and joiners, byte order mark, line separators, ideographic space, and
// a lone Latin-1 no-break space.
var oddSpaces = [...]string{"\u00a0", "\u200b", "\u200c", "\u200d", "\u2060", byteOrderMark, "\u2028", "\u2029", "\u3000"}

func hasOddSpace(s string) bool {
	for _, odd := range oddSpaces {
		if strings.Contains(s, odd) {
			return true
		}
	}
	return strings.HasPrefix(s, "\xa0") || strings.HasSuffix(s, "\xa0")
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

// userAgent starts a group, or joins the one whose rules have not begun:
// nothing but a rule ends the run of User-agent lines (2.2.1, 2.2.4).
func (p *parser) userAgent(value string) {
	line := p.file.Lines
	if !p.inRun {
		p.endGroup()
		p.open, p.inRun = true, true
		p.firstRule = len(p.rules)
		p.group = Group{Line: line}
	} else if p.betweenRun > 0 {
		p.warn(p.betweenRun, WarnGroupsJoined,
			"this line does not end the list of User-agent lines: the rules below also apply to the agents above (2.2.4)")
	} else if p.blankRun > 0 {
		p.warn(p.blankRun, WarnBlankInGroup,
			"a blank line does not end the list of User-agent lines: the rules below also apply to the agents above (2.2)")
	}
	p.betweenRun, p.blankRun = 0, 0
	p.group.EndLine = line
	if p.google {
		p.addToken(googleAgent(value))
		return
	}
	a := readAgent(value)
	switch {
	case value == "":
		p.warn(line, WarnAgentEmpty, "User-agent names nobody: write a product token or *")
	case a.token == "":
		p.warn(line, WarnAgentNobody, "%s equals no crawler's product token, so these rules are for nobody (2.2.1)", quote(value))
	case a.rest != "":
		p.warn(line, WarnAgentTrailing, "read as %s; %s is ignored: one record a line", quote(a.token), quote(a.rest))
	case a.version:
		p.warn(line, WarnAgentVersion, "%s is read as %s: a product token has no version (2.2.1)", quote(value), quote(a.token))
	}
	p.addToken(a.token)
}

// manyTokens is where a set takes over from looking through the list.
const manyTokens = 16

func (p *parser) addToken(token string) {
	switch {
	case token == "":
		return
	case len(p.group.Tokens) < manyTokens:
		if slices.Contains(p.group.Tokens, token) {
			return
		}
	default:
		if p.seen == nil {
			p.seen = make(map[string]bool)
			for _, t := range p.group.Tokens {
				p.seen[t] = true
			}
		}
		if p.seen[token] {
			return
		}
		p.seen[token] = true
	}
	p.group.Tokens = append(p.group.Tokens, token)
}

// rule reads Allow and Disallow. Also a rule that says nothing ends the run
// of User-agent lines.
func (p *parser) rule(kind Kind, key, value, line string) {
	p.inRun = false
	if !p.open {
		p.warn(p.file.Lines, WarnRuleBeforeGroup, "no User-agent line stands above this rule, so it is for nobody (2.2.1)")
		return
	}
	if value == "" {
		return
	}
	if value[0] != '/' && value[0] != '*' {
		p.patternOutside(value)
		return
	}
	if strings.ContainsAny(value, " \t") && !p.google {
		p.patternSpace(value)
	}
	if i := strings.IndexByte(value, '$'); i >= 0 && i < len(value)-1 && !p.google {
		p.warn(p.file.Lines, WarnPatternDollar, "$ anchors only at the end of a pattern; in %s it is an ordinary character (2.2.3)", quote(value))
	}
	name := "Disallow"
	if kind == KindAllow {
		name = "Allow"
	}
	r := Rule{Allow: kind == KindAllow, Text: ruleText(name, value, line), Line: p.file.Lines}
	if p.google {
		p.rules = appendGoogleRule(p.rules, r, value)
		return
	}
	r.Pattern = NormalizePattern(value)
	p.rules = append(p.rules, r)
}

// ruleText is "Disallow: /x"; most lines are written just so and need no copy.
func ruleText(name, value, line string) string {
	if len(line) == len(name)+2+len(value) && line[:len(name)] == name && line[len(name)] == ':' && line[len(name)+1] == ' ' {
		return line
	}
	return name + ": " + value
}

func (p *parser) patternOutside(value string) {
	if p.google {
		return
	}
	hint := "begin it with a slash"
	if strings.Contains(value, "://") {
		hint = "give the path alone"
	}
	p.warn(p.file.Lines, WarnPatternOutside, "%s starts with neither / nor *, so it matches nothing; %s (2.2.2)", quote(value), hint)
}

func (p *parser) patternSpace(value string) {
	for word := range strings.FieldsSeq(value) {
		if name, _, has := strings.Cut(word, ":"); has {
			if kind, _ := lookKey(name); kind != KindUnknown {
				p.warn(p.file.Lines, WarnRuleTrailing, "%s looks like a second record; the whole line is one pattern: one record a line", quote(word))
				return
			}
		}
	}
	p.warn(p.file.Lines, WarnPatternSpace, "the pattern %s has white space in it; it is compared as %%20", quote(value))
}

func (p *parser) sitemap(value string) {
	if value == "" {
		return
	}
	if !strings.Contains(value, "://") {
		p.warn(p.file.Lines, WarnSitemapRelative, "%s is not a whole URL, which Sitemap wants", quote(value))
	}
	p.file.Sitemaps = append(p.file.Sitemaps, Sitemap{URL: value, Line: p.file.Lines})
}

// MaxCrawlDelay is the longest delay in seconds that is taken for meant: a
// year.
const MaxCrawlDelay = 365 * 24 * 60 * 60

func (p *parser) crawlDelay(value string) {
	seconds, ok := readSeconds(value)
	switch {
	case !ok:
		p.warn(p.file.Lines, WarnCrawlDelayInvalid, "%s is no number of seconds up to %d; the line is ignored", quote(value), MaxCrawlDelay)
	case !p.open:
		p.warn(p.file.Lines, WarnRecordBeforeGroup, "no User-agent line stands above this Crawl-delay, so it is for nobody")
	default:
		d := &CrawlDelay{Seconds: seconds, Line: p.file.Lines}
		if p.group.CrawlDelay != nil && p.group.CrawlDelay.Seconds != seconds {
			p.warn(p.file.Lines, WarnCrawlDelayConflict, "the group has another Crawl-delay in line %d; the longer one counts", p.group.CrawlDelay.Line)
		}
		p.group.CrawlDelay = longer(p.group.CrawlDelay, d)
	}
}

// longer of two delays, the first on a tie.
func longer(a, b *CrawlDelay) *CrawlDelay {
	if a == nil || b != nil && b.Seconds > a.Seconds {
		return b
	}
	return a
}

// readSeconds reads digits with at most one dot.
func readSeconds(s string) (float64, bool) {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v <= MaxCrawlDelay
}

// signal keeps a preference; its scope is the group it stands in.
func (p *parser) signal(key, value string) {
	s, ok := readSignal(key, value, p.file.Lines)
	switch {
	case !ok:
	case p.open:
		p.signals = append(p.signals, s)
	default:
		p.addSignal(s)
	}
}

func (p *parser) addSignal(s Signal) bool {
	if len(p.file.Signals) >= MaxSignals {
		if len(p.file.Signals) == MaxSignals && !p.warned(WarnTooManySignals) {
			p.warn(s.Line, WarnTooManySignals, "more than %d signals (lines times agents): the rest is not read", MaxSignals)
		}
		return false
	}
	p.file.Signals = append(p.file.Signals, s)
	return true
}

func (p *parser) warned(code WarningCode) bool {
	return slices.ContainsFunc(p.file.Warnings, func(w Warning) bool { return w.Code == code })
}

// endGroup closes the group being read, if any.
func (p *parser) endGroup() {
	if !p.open {
		return
	}
	for _, s := range p.signals {
		for _, token := range p.group.Tokens {
			s.Scope = token
			if !p.addSignal(s) {
				break
			}
		}
	}
	p.file.Groups = append(p.file.Groups, p.group)
	p.ranges = append(p.ranges, ruleRange{p.firstRule, len(p.rules)})
	p.open, p.inRun, p.signals, p.seen = false, false, p.signals[:0], nil
	p.betweenRun, p.blankRun = 0, 0
}

// finish hands the groups their rules, which share one array.
func (p *parser) finish() {
	for i, r := range p.ranges {
		p.file.Groups[i].Rules = p.rules[r.from:r.to:r.to]
	}
	slices.SortStableFunc(p.file.Signals, func(a, b Signal) int { return a.Line - b.Line })
	sortWarnings(p.file.Warnings)
}
