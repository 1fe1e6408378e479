package robots

import "strings"

// How an octet of a path or pattern is treated (RFC 9309, 2.2.2; RFC 3986, 2).
const (
	encode  uint8 = iota // everything that a URL cannot hold as it is
	asIs                 // reserved and unreserved characters
	percent              // start of an escape
	star                 // special in a pattern, %2A in a path
	dollar               // special at the end of a pattern, else %24
	hash                 // starts the fragment, which is no part of the path
)

const upperHex = "0123456789ABCDEF"

// octetClass of each octet.
var octetClass = [256]uint8{
	'A': asIs, 'B': asIs, 'C': asIs, 'D': asIs, 'E': asIs, 'F': asIs, 'G': asIs, 'H': asIs, 'I': asIs,
	'J': asIs, 'K': asIs, 'L': asIs, 'M': asIs, 'N': asIs, 'O': asIs, 'P': asIs, 'Q': asIs, 'R': asIs,
	'S': asIs, 'T': asIs, 'U': asIs, 'V': asIs, 'W': asIs, 'X': asIs, 'Y': asIs, 'Z': asIs, '-': asIs,
	'a': asIs, 'b': asIs, 'c': asIs, 'd': asIs, 'e': asIs, 'f': asIs, 'g': asIs, 'h': asIs, 'i': asIs,
	'j': asIs, 'k': asIs, 'l': asIs, 'm': asIs, 'n': asIs, 'o': asIs, 'p': asIs, 'q': asIs, 'r': asIs,
	's': asIs, 't': asIs, 'u': asIs, 'v': asIs, 'w': asIs, 'x': asIs, 'y': asIs, 'z': asIs, '_': asIs,
	'0': asIs, '1': asIs, '2': asIs, '3': asIs, '4': asIs, '5': asIs, '6': asIs, '7': asIs, '8': asIs, '9': asIs,
	'.': asIs, '~': asIs, ':': asIs, '/': asIs, '?': asIs, '[': asIs, ']': asIs, '@': asIs, '!': asIs,
	'&': asIs, '\'': asIs, '(': asIs, ')': asIs, '+': asIs, ',': asIs, ';': asIs, '=': asIs,
	'%': percent, '*': star, '$': dollar, '#': hash,
}

// NormalizePath brings path and query of a URL to the form that is compared
// (2.2.2): a leading slash is put where it lacks, a fragment is cut, octets
// that a URL cannot hold as they are become %XX, hex digits upper case, %XX
// of unreserved octets is decoded, a literal * or $ becomes %2A, %24.
// A percent sign that starts no escape stays. Idempotent.
//
// Escapes of reserved characters stay apart from the characters themselves
// (/a%2Fb is not /a/b); that includes a query with "https://" in it, where an
// example of the RFC takes both forms for equal.
func NormalizePath(path string) string {
	path = originForm(path)
	return normalize(path, false)
}

// NormalizePattern does the same for the value of a rule, where * and a final
// $ stay special. No slash is added.
func NormalizePattern(value string) string { return normalize(value, true) }

// NormalizePath brings a path to the form that patterns of this reading are
// compared with.
func (r Reading) NormalizePath(path string) string {
	if r == ReadingGoogle {
		return googlePath(path)
	}
	return NormalizePath(path)
}

// originForm gives path and query with a leading slash and no fragment.
func originForm(path string) string {
	if i := strings.IndexByte(path, '#'); i >= 0 {
		path = path[:i]
	}
	if path == "" {
		return "/"
	}
	if path[0] != '/' {
		return "/" + path
	}
	return path
}

func normalize(s string, pattern bool) string {
	i := normalPrefix(s, pattern)
	if i == len(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 2*growing(s[i:]))
	stray := -3 // where the last percent sign that starts no escape stands in out
	for i = 0; i < len(s); i++ {
		c := s[i]
		switch octetClass[c] {
		case percent:
			v, ok := escaped(s, i)
			switch {
			case !ok:
				stray = out.Len()
				out.WriteByte(c)
				continue
			case decodes(v, out.Len()-stray):
				out.WriteByte(v)
			default:
				writeEscape(&out, v)
			}
			i += 2
		case asIs:
			out.WriteByte(c)
		case star:
			if pattern {
				out.WriteByte(c)
			} else {
				writeEscape(&out, c)
			}
		case dollar:
			if pattern && i == len(s)-1 {
				out.WriteByte(c)
			} else {
				writeEscape(&out, c)
			}
		default:
			writeEscape(&out, c)
		}
	}
	return out.String()
}

// growing counts the octets that may become an escape.
func growing(s string) (n int) {
	for i := range len(s) {
		if class := octetClass[s[i]]; class != asIs && class != percent {
			n++
		}
	}
	return n
}

// normalPrefix is the length of the prefix of s that normalize would leave
// alone; most paths and patterns are normal as they are written.
func normalPrefix(s string, pattern bool) int {
	stray := -3
	for i := 0; i < len(s); i++ {
		class := octetClass[s[i]]
		if class == asIs {
			continue
		}
		switch class {
		case percent:
			v, ok := escaped(s, i)
			if !ok {
				stray = i
				continue
			}
			if isLowerHex(s[i+1]) || isLowerHex(s[i+2]) || decodes(v, i-stray) {
				return i
			}
			i += 2
		case star:
			if !pattern {
				return i
			}
		case dollar:
			if !pattern || i != len(s)-1 {
				return i
			}
		default:
			return i
		}
	}
	return len(s)
}

// decodes tells whether the escape of v is to be decoded. A digit that would
// complete a broken escape begun up to two octets before (distance) stays
// encoded, or normalising twice would differ from normalising once.
func decodes(v byte, distance int) bool {
	return isUnreserved(v) && (distance > 2 || !isHex(v))
}

// escaped gives the octet that the escape at s[i], if there is one, stands for.
func escaped(s string, i int) (byte, bool) {
	if i+2 >= len(s) || s[i] != '%' || !isHex(s[i+1]) || !isHex(s[i+2]) {
		return 0, false
	}
	return unhex(s[i+1])<<4 | unhex(s[i+2]), true
}

func writeEscape(out *strings.Builder, c byte) {
	out.WriteByte('%')
	out.WriteByte(upperHex[c>>4])
	out.WriteByte(upperHex[c&15])
}

func isLowerHex(c byte) bool { return 'a' <= c && c <= 'f' }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' || isLowerHex(c)
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}

func isUnreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}
