package robots

import (
	"slices"
	"strconv"
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
		p.warn(p.file.Lines, WarnTruncated, "the file has %d octets; what lies beyond %d is not read", len(b), opt.MaxBytes)
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

// span is where the rules and tokens of a group begin.
type span struct{ rule, token int }

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
	if how == asTypo {
		p.warn(p.file.Lines, WarnKeyTypo, "%s is read as %s; other crawlers may ignore the line", quote(key), kind)
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

// userAgent starts a group, or joins the one whose rules have not begun:
// nothing but a rule ends the run of User-agent lines (2.2.1, 2.2.4).
func (p *parser) userAgent(value string) {
	line := p.file.Lines
	if !p.inRun {
		p.endGroup()
		p.open, p.inRun = true, true
		p.first = span{len(p.rules), len(p.tokens)}
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
	case a.token == "" && hasOddSpace(value):
		p.warn(line, WarnOddSpace, "white space that is not ASCII makes %s equal to no crawler's product token (2.2.1)", quote(value))
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
	group := p.tokens[p.first.token:]
	switch {
	case token == "":
		return
	case len(group) < manyTokens:
		if slices.Contains(group, token) {
			return
		}
	default:
		if p.seen == nil {
			p.seen = make(map[string]bool)
			for _, t := range group {
				p.seen[t] = true
			}
		}
		if p.seen[token] {
			return
		}
		p.seen[token] = true
	}
	p.tokens = append(p.tokens, token)
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
	name := "Disallow"
	if kind == KindAllow {
		name = "Allow"
	}
	r := Rule{Allow: kind == KindAllow, Pattern: value, Text: ruleText(name, value, line), Line: p.file.Lines}
	if p.rules == nil {
		p.rules = make([]Rule, 0, max(p.room-len(p.file.Records), 1))
	}
	if p.google {
		p.rules = appendGoogleRule(p.rules, r, value)
		return
	}
	if normalPrefix(value, true) < len(value) {
		r.Pattern = NormalizePattern(value)
		p.oddPattern(value)
	}
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
	hint := "begin it with a slash"
	switch {
	case strings.Contains(value, "://"):
		hint = "give the path alone"
	case value[0] == '?' || value[0] == '.':
		hint = "begin it with /*"
	}
	p.warn(p.file.Lines, WarnPatternOutside, "%s starts with neither / nor *, so it matches nothing; %s (2.2.2)", quote(value), hint)
}

// oddPattern warns about patterns whose author may have meant something else.
func (p *parser) oddPattern(value string) {
	if hasOddSpace(value) {
		p.warn(p.file.Lines, WarnOddSpace, "the pattern %s has white space in it that is not ASCII; it counts as part of the path", quote(value))
	}
	if strings.ContainsAny(value, " \t") {
		p.spaceInPattern(value)
	}
	if i := strings.IndexByte(value, '$'); i >= 0 && i < len(value)-1 {
		p.warn(p.file.Lines, WarnPatternDollar, "$ anchors only at the end of a pattern; in %s it is an ordinary character (2.2.3)", quote(value))
	}
}

func (p *parser) spaceInPattern(value string) {
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
	if hasOddSpace(value) {
		p.warn(p.file.Lines, WarnOddSpace, "white space that is not ASCII stands in the URL %s", quote(value))
	} else if !strings.Contains(value, "://") {
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
		for _, token := range p.tokens[p.first.token:] {
			s.Scope = token
			if !p.addSignal(s) {
				break
			}
		}
	}
	p.file.Groups = append(p.file.Groups, p.group)
	p.spans = append(p.spans, p.first)
	p.open, p.inRun, p.signals, p.seen = false, false, p.signals[:0], nil
	p.betweenRun, p.blankRun = 0, 0
}

// finish hands the groups their rules and tokens.
func (p *parser) finish() {
	if len(p.rules) < cap(p.rules)/2 {
		p.rules = slices.Clone(p.rules)
	}
	end := span{len(p.rules), len(p.tokens)}
	for i := len(p.spans) - 1; i >= 0; i-- {
		first := p.spans[i]
		p.file.Groups[i].Rules = p.rules[first.rule:end.rule:end.rule]
		p.file.Groups[i].Tokens = p.tokens[first.token:end.token:end.token]
		end = first
	}
	slices.SortStableFunc(p.file.Signals, func(a, b Signal) int { return a.Line - b.Line })
	sortWarnings(p.file.Warnings)
}
