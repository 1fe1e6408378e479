package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxCell is how many octets of one text of a stranger a page shows: a line,
// a header, a path.
const maxCell = 2000

// visible makes a stranger's text harmless to read: what has no glyph of its
// own or turns the text around it (control, bidirectional and zero-width
// characters, octets that are not UTF-8) is spelled out, and a text longer
// than maxCell is cut with the number of octets that are left out. Markup is
// the template's business.
func visible(s string) string {
	rest := 0
	if len(s) > maxCell {
		cut := maxCell
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		rest = len(s) - cut
		s = s[:cut]
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "‹%02X›", s[i])
		case r == '\t':
			b.WriteByte('\t')
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r == '\u115f' || r == '\u3164' || r == '\u2800':
			fmt.Fprintf(&b, "‹U+%04X›", r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	if rest > 0 {
		fmt.Fprintf(&b, " … %s more", octets(int64(rest)))
	}
	return b.String()
}

// octets words a size.
func octets(n int64) string {
	switch {
	case n == 1:
		return "1 octet"
	case n < 10_000:
		return number(int(n)) + " octets"
	case n < 10<<20:
		return fmt.Sprintf("%.0f KiB", float64(n)/1024)
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}

// number groups digits: 1,234,567.
func number(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// percent words a share; what is not nothing never reads 0 %.
func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	p := 100 * float64(part) / float64(whole)
	switch {
	case part > 0 && p < 0.1:
		return "< 0.1 %"
	case part < whole && p > 99.9:
		return "> 99.9 %"
	case p < 10 && part > 0:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}

// ago words a span of time the way a person would.
func ago(d time.Duration) string {
	n, unit := 0, ""
	switch {
	case d < time.Minute && d > -time.Minute:
		return "just now"
	case d < 0:
		return "in " + strings.TrimSuffix(ago(-d), " ago")
	case d < time.Hour:
		n, unit = int(d/time.Minute), "minute"
	case d < 48*time.Hour:
		n, unit = int(d/time.Hour), "hour"
	case d < 60*24*time.Hour:
		n, unit = int(d/(24*time.Hour)), "day"
	case d < 2*365*24*time.Hour:
		n, unit = int(d/(30*24*time.Hour)), "month"
	default:
		n, unit = int(d/(365*24*time.Hour)), "year"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s ago", n, unit)
}

func itoa(n int) string { return strconv.Itoa(n) }
