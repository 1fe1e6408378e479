package robots

import "strings"

// how a key was found to be of its kind.
type spelling uint8

const (
	asKnown    spelling = iota
	asTypo              // a known slip of the pen
	asMisread           // known, and taken for another key by others
	asStranger          // nothing that we know
)

// knownKey is a key that is understood, in lower case.
type knownKey struct {
	name     string
	kind     Kind
	spelling spelling
}

// knownKeys by length. The slips are those that real files hold and that the
// large crawlers forgive.
var knownKeys = [...][]knownKey{
	4: {{"host", KindOther, asKnown}},
	5: {{"allow", KindAllow, asKnown}},
	7: {
		{"sitemap", KindSitemap, asKnown},
		{"noindex", KindOther, asKnown},
		{"license", KindSignal, asKnown},
		{"disalow", KindDisallow, asTypo},
	},
	8: {
		{"disallow", KindDisallow, asKnown},
		{"site-map", KindSitemap, asTypo},
		{"dissalow", KindDisallow, asTypo},
		{"disallaw", KindDisallow, asTypo},
		{"diasllow", KindDisallow, asTypo},
		{"nofollow", KindOther, asKnown},
	},
	9: {
		{"useragent", KindUserAgent, asTypo},
		{"dissallow", KindDisallow, asTypo},
	},
	10: {
		{"user-agent", KindUserAgent, asKnown},
		{"user agent", KindUserAgent, asTypo},
		{"visit-time", KindOther, asKnown},
	},
	11: {
		{"crawl-delay", KindCrawlDelay, asKnown},
		{"clean-param", KindOther, asKnown},
		{"crawl delay", KindCrawlDelay, asTypo},
	},
	12:                          {{"request-rate", KindOther, asKnown}},
	13:                          {{nameContentUsage, KindSignal, asKnown}},
	14:                          {{nameContentSignal, KindSignal, asKnown}},
	len(nameDisallowAITraining): {{nameDisallowAITraining, KindSignal, asMisread}},
}

// lookKey tells what kind of record a key starts.
func lookKey(key string) (Kind, spelling) {
	if len(key) < len(knownKeys) {
		for i := range knownKeys[len(key)] {
			if k := &knownKeys[len(key)][i]; equalFold(key, k.name) {
				return k.kind, k.spelling
			}
		}
	}
	return KindUnknown, asStranger
}

// splitMissingColon reads a line without a usable colon as a known key, white
// space, and one word ("Disallow /x").
func splitMissingColon(line string) (kind Kind, how spelling, key, value string) {
	if !mayStartKey(line[0]) {
		return KindUnknown, asStranger, "", ""
	}
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return KindUnknown, asStranger, "", ""
	}
	const userAgent = "user agent"
	if len(line) > len(userAgent) && equalFold(line[:len(userAgent)], userAgent) && isSpace(line[len(userAgent)]) {
		at = len(userAgent)
	}
	key, value = line[:at], trimSpace(line[at:])
	kind, how = lookKey(key)
	switch kind {
	case KindUserAgent, KindAllow, KindDisallow, KindSitemap, KindCrawlDelay:
		if value != "" && !strings.ContainsAny(value, " \t") {
			return kind, how, key, value
		}
	}
	return KindUnknown, asStranger, "", ""
}

// mayStartKey tells whether a key that stands for access begins with c.
func mayStartKey(c byte) bool {
	switch lower(c) {
	case 'a', 'c', 'd', 's', 'u':
		return true
	}
	return false
}

// nearKey names the known key that an unknown one was probably meant to be,
// "" when none suggests itself.
func nearKey(key string) string {
	const longest = 24 // a word about as long as a key
	key = strings.TrimLeft(key, "-*. ")
	if len(key) < 4 || len(key) > longest || !mayStartKey(key[0]) {
		return ""
	}
	for _, known := range [...]string{"Disallow", "Allow", "User-agent", "Sitemap", "Crawl-delay"} {
		if lower(key[0]) != lower(known[0]) {
			continue
		}
		if len(key) > len(known) && equalFold(key[:len(known)], known) {
			return known
		}
		slips := 2
		if len(known) < 6 {
			slips = 1
		}
		if within(key, known, slips) {
			return known
		}
	}
	return ""
}

// within tells whether a becomes b by at most n insertions, deletions and
// replacements, in any case of letters.
func within(a, b string, n int) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > n {
		return false
	}
	i := 0
	for i < len(a) && lower(a[i]) == lower(b[i]) {
		i++
	}
	if i == len(a) {
		return len(b)-len(a) <= n
	}
	if n == 0 {
		return false
	}
	return within(a[i+1:], b[i+1:], n-1) || within(a[i:], b[i+1:], n-1) || within(a[i+1:], b[i:], n-1)
}

// equalFold compares in any case of ASCII letters; b is ASCII.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// isSpace knows ASCII white space only: a no-break space is an octet like
// any other.
func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\t' || c == '\v' || c == '\f')
}

func trimSpace(s string) string {
	from, to := 0, len(s)
	for from < to && isSpace(s[from]) {
		from++
	}
	for from < to && isSpace(s[to-1]) {
		to--
	}
	return s[from:to]
}
