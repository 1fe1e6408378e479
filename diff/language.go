package diff

import "github.com/robotswatch/robotswatch/robots"

// octets is a set of ASCII octets.
type octets [2]uint64

func (o *octets) add(c byte)     { o[c>>6&1] |= 1 << (c & 63) }
func (o octets) has(c byte) bool { return c < 128 && o[c>>6]&(1<<(c&63)) != 0 }

func (o octets) or(p octets) octets  { return octets{o[0] | p[0], o[1] | p[1]} }
func (o octets) and(p octets) octets { return octets{o[0] & p[0], o[1] & p[1]} }

func octetsOf(s string) (o octets) {
	for i := range len(s) {
		o.add(s[i])
	}
	return o
}

// language is the set of paths that a question is about: path and query of a
// URL in the form that is compared. A path begins with "/"; its octets are the
// unreserved and reserved characters of RFC 3986 except "#" (it ends the path)
// and "*" and "$" (normalisation writes them, and all other octets, as %XX);
// "%" begins a complete escape in upper case that does not stand for an
// unreserved octet (normalisation decodes those).
//
// It is a small automaton: plain outside an escape, the other states inside.
type language struct {
	valid [9]octets // per state: octets that may follow
	// fillers per state, most readable first: after one of these every
	// continuation is possible that is possible after any other octet.
	fillers [9]string
	exempt  string // the path that is always allowed; "" for none
}

const (
	plain      uint8 = iota // outside an escape
	escape                  // after "%"
	escapeAny               // after "%" and a digit that any other may follow
	escapeTwo               // after "%2"; six more follow for 3 to 7
	escapeLast = escapeTwo + 5
)

const (
	hexDigits  = "0123456789ABCDEF"
	unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~."
	// Letters from the end of the alphabet first: they read as "anything"
	// and are rare in rules. Octets that carry structure come last.
	readable = "xyzabcdefghijklmnopqrstuvwXYZABCDEFGHIJKLMNOPQRSTUVW0123456789-_~!'()+,;:@=&/?.[]"
)

var (
	rfcLanguage    = newLanguage(robots.ReadingRFC9309)
	googleLanguage = newLanguage(robots.ReadingGoogle)
)

// languageOf a reading. The google reading compares paths as they are sent:
// raw "*" and "$" occur, and escapes are not decoded.
func languageOf(r robots.Reading) *language {
	if r == robots.ReadingGoogle {
		return googleLanguage
	}
	return rfcLanguage
}

func newLanguage(r robots.Reading) *language {
	l := &language{exempt: "/robots.txt", valid: [9]octets{plain: octetsOf(readable + "%")}}
	l.fillers[plain] = readable
	l.valid[escape] = octetsOf(hexDigits)
	l.fillers[escape] = "01" + "89ABCDEF"
	l.valid[escapeAny] = octetsOf(hexDigits)
	l.fillers[escapeAny] = hexDigits
	if r == robots.ReadingGoogle {
		l.exempt = ""
		l.valid[plain].add('*')
		l.valid[plain].add('$')
		l.fillers[escape] = hexDigits
		return l
	}
	for u := escapeTwo; u <= escapeLast; u++ {
		for i := range len(hexDigits) {
			if !octetsOf(unreserved).has((u-escapeTwo+2)<<4 | byte(i)) {
				l.valid[u].add(hexDigits[i])
				l.fillers[u] += hexDigits[i : i+1]
			}
		}
	}
	return l
}

// next is the state after c, which must be valid in u.
func (l *language) next(u uint8, c byte) uint8 {
	switch u {
	case plain:
		if c == '%' {
			return escape
		}
	case escape:
		if '2' <= c && c <= '7' && l.exempt != "" {
			return escapeTwo + (c - '2')
		}
		return escapeAny
	}
	return plain
}

// contains reports whether the path is one that a question is about.
func (l *language) contains(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	u := plain
	for i := range len(path) {
		if !l.valid[u].has(path[i]) {
			return false
		}
		u = l.next(u, path[i])
	}
	return u == plain
}
