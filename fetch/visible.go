package fetch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDetail bounds Outcome.Detail, in octets.
const maxDetail = 400

// visible makes a stranger's text safe to print on one line: what is not
// printable is shown as an escape, what is too long ends in "…".
func visible(s string, max int) string {
	plain := len(s) <= max
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if b.Len()+n > max {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && n == 1, r < 0x80 && !unicode.IsPrint(r):
			b.WriteString(`\x`)
			b.WriteByte(hex[s[i]>>4])
			b.WriteByte(hex[s[i]&15])
		case !unicode.IsPrint(r):
			for _, c := range []byte(s[i : i+n]) {
				b.WriteString(`\x`)
				b.WriteByte(hex[c>>4])
				b.WriteByte(hex[c&15])
			}
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
