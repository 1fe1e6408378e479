package robots

import "sync"

// Source says where the rules that apply to an agent come from
// (RFC 9309, 2.2.1).
type Source string

const (
	SourceNamed    Source = "named"    // a group names the agent
	SourceWildcard Source = "wildcard" // the * groups apply
	SourceDefault  Source = "default"  // no group applies: everything is allowed
	// SourceStatus is never the result of a file: whoever knows the HTTP
	// answer uses it to say that the answer decided, not the rules.
	SourceStatus Source = "status"
)

// Words says where an access comes from, for people; "" when that is unknown.
func (s Source) Words() string {
	switch s {
	case SourceNamed:
		return "by name"
	case SourceWildcard:
		return "by *"
	case SourceDefault:
		return "no group applies"
	case SourceStatus:
		return "by the HTTP answer"
	}
	return ""
}

// Reading names a way to read a robots.txt. RFC 9309 is the reference; the
// others exist because a large crawler documents that it differs.
type Reading string

const (
	ReadingRFC9309 Reading = "rfc9309"
	ReadingGoogle  Reading = "google"
)

// Options say how to read a file. The zero value is RFC 9309 with
// DefaultMaxBytes.
type Options struct {
	Reading  Reading // "" is ReadingRFC9309
	MaxBytes int     // octets read; 0 is DefaultMaxBytes
}

// DefaultMaxBytes is how much of a file is read; RFC 9309 (2.5) asks for at
// least 500 KiB.
const DefaultMaxBytes = 1 << 20

// Kind of a line, after the known slips of the pen have been forgiven.
type Kind uint8

const (
	KindBlank Kind = iota // blank or only a comment
	KindUserAgent
	KindAllow
	KindDisallow
	KindSitemap
	KindCrawlDelay
	KindSignal  // Content-Signal, Content-Usage, License, DisallowAITraining
	KindOther   // a known record that we do not interpret (Host, Clean-param, Noindex, ...)
	KindUnknown // anything else, kept as it is
)

// String is the key as it ought to be written where there is one.
func (k Kind) String() string {
	switch k {
	case KindBlank:
		return "blank"
	case KindUserAgent:
		return "User-agent"
	case KindAllow:
		return "Allow"
	case KindDisallow:
		return "Disallow"
	case KindSitemap:
		return "Sitemap"
	case KindCrawlDelay:
		return "Crawl-delay"
	case KindSignal:
		return "signal"
	case KindOther:
		return "other"
	}
	return "unknown"
}

// Record is one line that is not blank, in file order.
type Record struct {
	Line  int    // from 1
	Kind  Kind   //
	Key   string // as written, trimmed; "" when the line has no key
	Value string // as written, trimmed, without comment
}

// Group is one or more User-agent lines and the rules that follow (2.2.1).
type Group struct {
	Line       int      // of its first User-agent line
	EndLine    int      // of its last record
	Tokens     []string // product tokens, lower case, "*" for the wildcard; those that match nobody left out
	Rules      []Rule   // in file order
	CrawlDelay *CrawlDelay
}

// Rule is one Allow or Disallow line that can decide. Empty values and
// patterns outside the grammar are not rules; they are records with a warning.
type Rule struct {
	Allow   bool
	Pattern string // normalised (see NormalizePattern): what is matched and measured
	Text    string // as a person would quote it: "Disallow: /fish*"
	Line    int
}

// CrawlDelay in seconds, as the group asks for it.
type CrawlDelay struct {
	Seconds float64
	Line    int
}

// Sitemap is file-wide (2.2.4).
type Sitemap struct {
	URL  string
	Line int
}

// Signal is a line that states a preference about use rather than access.
type Signal struct {
	Scope string // token of the group it stands in ("*", "gptbot"), "" when file-wide; one Signal per token
	Name  string // "content-signal", "content-usage", "license", "disallowaitraining"
	Path  string // Content-Usage and DisallowAITraining: the path it is limited to, "" for all
	Value string // keys lower case, white space folded, in the order written: "search=yes, ai-train=no"; compare Key
	Line  int
}

// Warning is something that the author of the file probably did not mean, or
// that other crawlers may read otherwise.
type Warning struct {
	Line int
	Code WarningCode // stable identifier
	Text string      // a sentence for people
}

// WarningCode identifies the kind of a Warning; constants in warnings.go.
type WarningCode string

// File is a parsed robots.txt. It is immutable and safe for concurrent use.
type File struct {
	Groups    []Group
	Records   []Record
	Sitemaps  []Sitemap
	Signals   []Signal
	Warnings  []Warning
	Truncated bool // content beyond MaxBytes was dropped
	Bytes     int  // size of the input
	Lines     int

	reading   Reading
	indexOnce sync.Once
	indexed   *index
}

// Rules are the effective rules of one agent: groups selected and merged
// (2.2.1), nothing else.
type Rules struct {
	Source     Source
	Token      string // the group's token that applied, lower case; "" for default
	Rules      []Rule // file order
	CrawlDelay *CrawlDelay
	GroupLines []int // first lines of the groups that were merged

	reading Reading
	set     *merged // nil when put together by hand
}

// Reading is how the rules were read, and how paths are to be normalised to
// be compared with their patterns.
func (r *Rules) Reading() Reading { return r.reading }

// Decision is the verdict on one path (2.2.2).
type Decision struct {
	Allowed bool
	Rule    *Rule // the rule that decided; nil when none matched, or for /robots.txt
}
