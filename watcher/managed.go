package watcher

import (
	"bytes"
	"regexp"
)

// Content delivery networks write their own rules between two comments, as in
// "# BEGIN Cloudflare Managed content" and "# END Cloudflare Managed Content".
var (
	managedBegin = regexp.MustCompile(`(?im)^[ \t]*#[ \t]*BEGIN[ \t]+(\S[^\r\n]{0,40}?)[ \t]+Managed\b.*$`)
	managedEnd   = regexp.MustCompile(`(?im)^[ \t]*#[ \t]*END[ \t]+(\S[^\r\n]{0,40}?)[ \t]+Managed\b.*$`)
)

// managedBy gives the vendor in whose managed block the whole difference of
// two files lies, "" when some of it lies outside or there is no such block.
func managedBy(old, now []byte) string {
	if !mentionsManaged(old) && !mentionsManaged(now) {
		return ""
	}
	oldRest, oldVendor := withoutManaged(old)
	newRest, newVendor := withoutManaged(now)
	vendor := newVendor
	if vendor == "" {
		vendor = oldVendor
	}
	if vendor == "" || !bytes.Equal(squeeze(oldRest), squeeze(newRest)) {
		return ""
	}
	return vendor
}

// mentionsManaged saves most files the search: it is false only where there is
// no managed block.
func mentionsManaged(text []byte) bool {
	const word = "managed"
	for {
		i := bytes.IndexAny(text, "mM")
		if i < 0 || len(text)-i < len(word) {
			return false
		}
		if bytes.EqualFold(text[i:i+len(word)], []byte(word)) {
			return true
		}
		text = text[i+1:]
	}
}

// withoutManaged cuts the managed blocks out of a file. A block that is not
// closed is none.
func withoutManaged(text []byte) (rest []byte, vendor string) {
	for {
		begin := managedBegin.FindSubmatchIndex(text)
		if begin == nil {
			return append(rest, text...), vendor
		}
		end := managedEnd.FindIndex(text[begin[1]:])
		if end == nil {
			return append(rest, text...), vendor
		}
		if vendor == "" {
			vendor = string(text[begin[2]:begin[3]])
		}
		rest = append(rest, text[:begin[0]]...)
		text = text[begin[1]+end[1]:]
	}
}

// squeeze leaves out blank lines and the white space round lines: where a
// block is cut out, they say nothing.
func squeeze(text []byte) []byte {
	var kept []byte
	for line := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			kept = append(append(kept, line...), '\n')
		}
	}
	return kept
}
