package robots

import "strings"

// The Google reading follows the open-source parser that Google publishes,
// as far as it differs from the RFC in verdicts:
//
//   - a key counts by its beginning (Disallowed: is a Disallow);
//   - a token ends at the first octet that is no letter, _ or - (AI2Bot is
//     AI, and a crawler called AI2Bot is never named);
//   - patterns get octets outside ASCII encoded and hex digits in upper case,
//     but no escape is decoded; paths are compared as given;
//   - Allow for a path ending in /index.htm or longer also allows that path
//     without the file name;
//   - /robots.txt has no special place;
//   - a line ends at a NUL and after googleLineLimit octets; UTF-16 is not
//     decoded.

// googleLineLimit is how much of a line is read, in octets.
const googleLineLimit = 2083*8 - 1

func googleLine(line string) string {
	if len(line) > googleLineLimit {
		line = line[:googleLineLimit]
	}
	if i := strings.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	return line
}

// googlePrefixes are looked for in this order at the beginning of a key.
var googlePrefixes = [...]struct {
	text string
	kind Kind
}{
	{"user-agent", KindUserAgent}, {"useragent", KindUserAgent}, {"user agent", KindUserAgent},
	{"allow", KindAllow},
	{"disallow", KindDisallow}, {"dissallow", KindDisallow}, {"dissalow", KindDisallow},
	{"disalow", KindDisallow}, {"diasllow", KindDisallow}, {"disallaw", KindDisallow},
	{"sitemap", KindSitemap}, {"site-map", KindSitemap},
}

func googleKey(key string) Kind {
	for _, p := range googlePrefixes {
		if len(key) >= len(p.text) && equalFold(key[:len(p.text)], p.text) {
			return p.kind
		}
	}
	switch kind, _ := lookKey(key); kind {
	case KindCrawlDelay, KindSignal, KindOther:
		return kind
	}
	return KindUnknown
}

func googleAgent(value string) string {
	if value == wildcardToken || len(value) > 1 && value[0] == '*' && isSpace(value[1]) {
		return wildcardToken
	}
	n := 0
	for n < len(value) && (value[n] == '-' || value[n] == '_' || 'a' <= lower(value[n]) && lower(value[n]) <= 'z') {
		n++
	}
	return strings.ToLower(value[:n])
}

// appendGoogleRule adds the rule, and for an index page the one that goes
// with it.
func appendGoogleRule(rules []Rule, r Rule, value string) []Rule {
	r.Pattern = googlePattern(value)
	rules = append(rules, r)
	if i := strings.LastIndexByte(r.Pattern, '/'); r.Allow && i >= 0 && strings.HasPrefix(r.Pattern[i:], "/index.htm") {
		r.Pattern = r.Pattern[:i+1] + "$"
		rules = append(rules, r)
	}
	return rules
}

// googlePattern encodes octets outside ASCII and brings hex digits to upper
// case.
func googlePattern(value string) string {
	i := 0
	for i < len(value) && value[i] < 0x80 && value[i] != '%' {
		i++
	}
	if i == len(value) {
		return value
	}
	var out strings.Builder
	out.Grow(len(value) + 2*(len(value)-i))
	out.WriteString(value[:i])
	for ; i < len(value); i++ {
		if _, ok := escaped(value, i); ok {
			out.WriteByte('%')
			out.WriteByte(upper(value[i+1]))
			out.WriteByte(upper(value[i+2]))
			i += 2
			continue
		}
		writeASCII(&out, value[i])
	}
	return out.String()
}

// googlePath encodes octets outside ASCII: the parser wants that of whoever
// asks.
func googlePath(path string) string {
	path = originForm(path)
	i := 0
	for i < len(path) && path[i] < 0x80 {
		i++
	}
	if i == len(path) {
		return path
	}
	var out strings.Builder
	out.Grow(len(path) + 2*(len(path)-i))
	out.WriteString(path[:i])
	for ; i < len(path); i++ {
		writeASCII(&out, path[i])
	}
	return out.String()
}

func writeASCII(out *strings.Builder, c byte) {
	if c >= 0x80 {
		writeEscape(out, c)
		return
	}
	out.WriteByte(c)
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c &^ 0x20
	}
	return c
}
