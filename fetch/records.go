package fetch

import "bytes"

// recordCount says how much of a text is robots.txt.
type recordCount struct {
	lines   int // neither blank nor comment
	records int // of those, ones that crawlers know
	agents  int // User-agent lines
	rules   int // Allow and Disallow lines
}

// countRecords reads no further than it needs to tell; it is not a parser: it
// only recognises what package robots, and crawlers, would use.
func countRecords(text []byte) recordCount {
	var c recordCount
	for len(text) > 0 {
		end := bytes.IndexAny(text, "\r\n")
		line := text
		if end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		line = bytes.Trim(stripBOM(line), " \t\f\v\x00")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		c.lines++
		switch recordKey(line) {
		case notRecord:
			continue
		case agentRecord:
			c.agents++
		case ruleRecord:
			c.rules++
		}
		c.records++
	}
	return c
}

func hasDirective(text []byte) bool { return countRecords(text).records > 0 }

type recordKind uint8

const (
	notRecord recordKind = iota
	agentRecord
	ruleRecord
	otherRecord
)

// recordKeys are the keys by which a line is recognised, with the slips of the
// pen that are forgiven. Keys that occur in other formats too (host, license)
// are left out: they prove nothing.
var recordKeys = map[string]recordKind{
	"user-agent": agentRecord, "useragent": agentRecord, "user agent": agentRecord,
	"allow": ruleRecord, "disallow": ruleRecord,
	"disalow": ruleRecord, "dissallow": ruleRecord, "dissalow": ruleRecord, "disallaw": ruleRecord, "diasllow": ruleRecord,
	"sitemap": otherRecord, "crawl-delay": otherRecord, "request-rate": otherRecord, "visit-time": otherRecord,
	"noindex": otherRecord, "clean-param": otherRecord, "content-signal": otherRecord, "content-usage": otherRecord,
	"disallowaitraining": otherRecord,
}

// maxKey is the longest of recordKeys.
const maxKey = len("disallowaitraining")

// recordKey recognises "key: value", and "key value" where the value is a path
// or a star.
func recordKey(line []byte) recordKind {
	end := bytes.IndexByte(line[:min(len(line), maxKey+3)], ':')
	if end < 0 {
		end = bytes.IndexAny(line[:min(len(line), maxKey+3)], " \t")
		if end < 0 {
			return notRecord
		}
		value := bytes.TrimLeft(line[end:], " \t")
		if len(value) == 0 || value[0] != '/' && value[0] != '*' {
			return notRecord
		}
	}
	key := bytes.TrimRight(line[:end], " \t")
	if len(key) > maxKey {
		return notRecord
	}
	var low [maxKey]byte
	n := copy(low[:], key)
	for i, b := range low[:n] {
		if 'A' <= b && b <= 'Z' {
			low[i] = b | 0x20
		}
	}
	return recordKeys[string(low[:n])]
}
