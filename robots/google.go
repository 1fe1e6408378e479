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

func googlePattern(value string) string {
	out := []byte(nil)
	for i := 0; i < len(value); i++ {
		switch _, ok := escaped(value, i); {
		case ok:
			out = append(out, '%', upper(value[i+1]), upper(value[i+2]))
			i += 2
		default:
			out = appendASCII(out, value[i])
		}
	}
	if string(out) == value {
		return value
	}
	return string(out)
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
	out := []byte(path[:i])
	for ; i < len(path); i++ {
		out = appendASCII(out, path[i])
	}
	return string(out)
}

func appendASCII(out []byte, c byte) []byte {
	if c >= 0x80 {
		return appendEscape(out, c)
	}
	return append(out, c)
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c &^ 0x20
	}
	return c
}
