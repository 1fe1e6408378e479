// Package lint finds what the author of a robots.txt probably did not mean.
// It has no context, clock, logger or I/O.
package lint

import (
	"cmp"
	"slices"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/robots"
)

// Finding is one thing that was probably not meant.
type Finding struct {
	Line    int    `json:"line"`              // from 1; 0 is the file as a whole
	Code    string `json:"code"`              // stable: one of robots.WarningCode or of this package
	Reason  string `json:"reason"`            // a sentence for people
	Section string `json:"section,omitempty"` // of RFC 9309: "2.2.1"; "" when the matter is not in it
}

// Codes of findings that take more than one line to see. The others are the
// codes of package robots.
const (
	CodeNoEffect        = "rule-without-effect"  // another rule gives the same verdict, or no path can match
	CodeEmptyGroup      = "group-without-rules"  // frees its agents from the rules for everyone
	CodeSuperseded      = "token-superseded"     // the operator uses other tokens now
	CodeRetired         = "token-retired"        // nobody crawls under the token any more
	CodeContradiction   = "signal-contradiction" // yes here, no there
	CodeSignalValue     = "signal-value"         // neither yes nor no
	CodeLongCrawlDelay  = "crawl-delay-long"     // a handful of pages a day
	CodeBeyondLeast     = "beyond-500-kib"       // crawlers need not read that far
	CodeNothingReadable = "nothing-readable"     // not one record: hardly a robots.txt
)

// Options of File. The zero value knows no catalogue.
type Options struct {
	Catalogue *agents.Catalogue // for superseded tokens; nil skips them
	Truncated bool              // the text is the beginning of a longer file
}

// File looks at the text of a robots.txt and gives findings in the order of
// lines. It is read as RFC 9309 says; whoever has the text has bounded it.
// complete is false when the file has more rules than can be tried, so that
// some without effect may not be among the findings.
func File(text []byte, opt Options) (list []Finding, complete bool) {
	c := checker{
		file:      robots.Parse(text, robots.Options{MaxBytes: len(text)}),
		text:      text,
		catalogue: opt.Catalogue,
	}
	c.fromWarnings()
	c.size(opt.Truncated)
	c.readable()
	c.emptyGroups()
	c.tokens()
	c.signals()
	c.crawlDelays()
	complete = c.rules()
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
	return slices.Compact(c.found), complete
}

type checker struct {
	file      *robots.File
	text      []byte
	catalogue *agents.Catalogue
	found     []Finding
}

func (c *checker) add(line int, code, section, reason string) {
	c.found = append(c.found, Finding{Line: line, Code: code, Reason: reason, Section: section})
}

// sections of RFC 9309 for what the parser warns about.
var sections = map[robots.WarningCode]string{
	robots.WarnRuleBeforeGroup:    "2.2.1",
	robots.WarnRecordBeforeGroup:  "2.2.4",
	robots.WarnGroupsJoined:       "2.2.4",
	robots.WarnBlankInGroup:       "2.2",
	robots.WarnAgentEmpty:         "2.2.1",
	robots.WarnAgentNobody:        "2.2.1",
	robots.WarnAgentVersion:       "2.2.1",
	robots.WarnAgentTrailing:      "2.2.1",
	robots.WarnKeyTypo:            "2.2",
	robots.WarnKeyUnknown:         "2.2.4",
	robots.WarnKeyMisread:         "2.2.4",
	robots.WarnMissingColon:       "2.2",
	robots.WarnPatternOutside:     "2.2.2",
	robots.WarnPatternSpace:       "2.2.2",
	robots.WarnPatternDollar:      "2.2.3",
	robots.WarnRuleTrailing:       "2.2",
	robots.WarnCrawlDelayInvalid:  "2.2.4",
	robots.WarnCrawlDelayConflict: "2.2.4",
	robots.WarnSitemapRelative:    "2.2.4",
	robots.WarnByteOrderMark:      "2.2",
	robots.WarnUTF16:              "2.2",
	robots.WarnOddSpace:           "2.2",
	robots.WarnNUL:                "2.2",
	robots.WarnTruncated:          "2.5",
}
