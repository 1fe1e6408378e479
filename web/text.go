package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// maxCell is how many octets of one text of a stranger a page shows: a line,
// a header, a path.
const maxCell = 2000

// shown makes a stranger's text harmless to read (see package visible), and
// cuts one that is longer than maxCell, saying how much is missing. Markup is
// the template's business.
func shown(s string) string {
	if len(s) <= maxCell {
		return visible.Text(s)
	}
	cut := maxCell
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return visible.Text(s[:cut]) + " … " + octets(int64(len(s)-cut)) + " more"
}

// shownLine is shown for a line of a file, where tabs are only space.
func shownLine(s string) string { return shown(strings.ReplaceAll(s, "\t", "    ")) }

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

// plural is a number with its noun: 1 site, 2 sites.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return number(n) + " " + noun
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func itoa(n int) string { return strconv.Itoa(n) }
