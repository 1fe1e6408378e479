package robots

import (
	"cmp"
	"fmt"
	"slices"
)

// The codes of warnings. They are stable: programs may rely on them.
const (
	WarnRuleBeforeGroup    WarningCode = "rule-before-group"    // Allow or Disallow above every User-agent line: ignored
	WarnRecordBeforeGroup  WarningCode = "record-before-group"  // Crawl-delay above every User-agent line: ignored
	WarnGroupsJoined       WarningCode = "groups-joined"        // a record between two User-agent lines does not part them
	WarnBlankInGroup       WarningCode = "blank-in-group"       // nor does a blank line
	WarnAgentEmpty         WarningCode = "agent-empty"          // User-agent without a value: nobody
	WarnAgentNobody        WarningCode = "agent-nobody"         // User-agent value that no crawler's token can equal
	WarnAgentVersion       WarningCode = "agent-version"        // FooBot/1.2 is read as FooBot
	WarnAgentTrailing      WarningCode = "agent-trailing-text"  // text after the token is ignored
	WarnKeyTypo            WarningCode = "key-typo"             // misspelt key, read as what was meant
	WarnKeyUnknown         WarningCode = "key-unknown"          // looks like a known key and is not: ignored
	WarnKeyMisread         WarningCode = "key-misread"          // known, but others take it for another key
	WarnMissingColon       WarningCode = "missing-colon"        // read as if the colon stood there
	WarnPatternOutside     WarningCode = "pattern-outside"      // pattern starts with neither / nor *: matches nothing
	WarnPatternSpace       WarningCode = "pattern-space"        // white space inside a pattern
	WarnPatternDollar      WarningCode = "pattern-dollar"       // $ that is not last is an ordinary character
	WarnRuleTrailing       WarningCode = "rule-trailing-record" // a second record on the line of a rule
	WarnCrawlDelayInvalid  WarningCode = "crawl-delay-invalid"  // not a number of seconds: ignored
	WarnCrawlDelayConflict WarningCode = "crawl-delay-conflict" // several in one group: the longest counts
	WarnSitemapRelative    WarningCode = "sitemap-relative"     // Sitemap wants a whole URL
	WarnByteOrderMark      WarningCode = "byte-order-mark"      // UTF-8 byte order mark, whole or partial: skipped
	WarnUTF16              WarningCode = "utf-16"               // decoded, though RFC 9309 says UTF-8
	WarnOddSpace           WarningCode = "odd-white-space"      // no-break space, zero-width space, BOM inside a line
	WarnNUL                WarningCode = "nul-byte"             // NUL inside a line
	WarnTruncated          WarningCode = "truncated"            // content beyond the size limit is dropped
	WarnTooManySignals     WarningCode = "too-many-signals"     // beyond MaxSignals
	WarnTooManyWarnings    WarningCode = "too-many-warnings"    // beyond MaxWarnings
)

// MaxWarnings bounds the list of warnings of one file; one more says that it
// is not complete.
const MaxWarnings = 1000

// warn notes something odd about a line. Callers pass what has to be quoted
// as %s through quote.
func (p *parser) warn(line int, code WarningCode, format string, args ...any) {
	if len(p.file.Warnings) > MaxWarnings {
		return
	}
	if len(p.file.Warnings) == MaxWarnings {
		p.file.Warnings = append(p.file.Warnings, Warning{Line: line, Code: WarnTooManyWarnings,
			Text: fmt.Sprintf("more than %d warnings: the rest is not listed", MaxWarnings)})
		return
	}
	p.file.Warnings = append(p.file.Warnings, Warning{Line: line, Code: code, Text: fmt.Sprintf(format, args...)})
}

// sortWarnings brings them into file order: a few are known only lines later.
func sortWarnings(w []Warning) {
	slices.SortStableFunc(w, func(a, b Warning) int { return cmp.Compare(a.Line, b.Line) })
}

// maxQuoted is how much of a line a warning repeats, in octets.
const maxQuoted = 60

// quote makes text of a stranger fit for a sentence.
func quote(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q...", s[:maxQuoted])
	}
	return fmt.Sprintf("%q", s)
}
