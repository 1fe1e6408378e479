// Package visible makes a stranger's text safe to print on one line of a
// terminal, a log or a message: control characters, invisible and
// direction-changing ones and broken UTF-8 are shown as escapes.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text shows what cannot be seen. Printable text is returned as it is.
func Text(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, r < 0x80 && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !seen(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Short is Text cut to at most max characters (at least 1), with "…" where
// something is missing. An escape is never cut in two.
func Short(s string, max int) string {
	if len(s) <= max && printable(s) {
		return s
	}
	var b strings.Builder
	n, keep := 0, 0 // characters written, octets that leave room for "…"
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		shown := Text(s[i : i+size])
		n += utf8.RuneCountInString(shown)
		if n > max {
			return b.String()[:keep] + "…"
		}
		b.WriteString(shown)
		if n < max {
			keep = b.Len()
		}
		i += size
	}
	return b.String()
}

// Cell is a cell of a CSV file: Text that no spreadsheet runs as a formula.
// One that begins like a formula is preceded by an apostrophe, which
// spreadsheets take as "this is text".
func Cell(s string) string {
	s = Text(s)
	if s != "" && strings.IndexByte("=+-@|%", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !seen(r) }) < 0
		}
	}
	return true
}

// seen reports whether a reader sees the character as itself. Blanks other
// than the space, and letters that show nothing, are not seen.
func seen(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0':
		return false
	}
	return unicode.IsPrint(r)
}
