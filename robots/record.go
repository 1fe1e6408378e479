package robots

import (
	"slices"
	"strconv"
	"strings"
)

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
