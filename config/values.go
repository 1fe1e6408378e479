package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

const day = 24 * time.Hour

// mostDays is the longest duration that can be written in days.
const mostDays = 36500

// ParseDuration reads what time.ParseDuration reads, plus days: "7d",
// "1d12h".
func ParseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		days, rest = "0", s
	}
	n, err := strconv.ParseFloat(days, 64)
	bad := err != nil || !found && rest == "" || strings.ContainsAny(days, "eExXpPiInN_")
	if !bad && math.Abs(n) > mostDays {
		return 0, fmt.Errorf("%q is out of range; %dd is the most", s, mostDays)
	}
	var d time.Duration
	if !bad && rest != "" {
		d, err = time.ParseDuration(rest)
		bad = err != nil || found && d < 0
	}
	if bad {
		return 0, fmt.Errorf("%q is not a duration; write a number and a unit, such as \"30s\", \"5m\", \"6h\" or \"7d\"", s)
	}
	return time.Duration(n*float64(day)) + d, nil
}

// formatDuration is the shortest text that ParseDuration reads back.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	var b strings.Builder
	if d >= day {
		fmt.Fprintf(&b, "%dd", d/day)
		if d %= day; d == 0 {
			return b.String()
		}
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return b.String() + s
}

// parseSize reads octets: "1MiB", "500KiB", "2MB". What is more than an int64
// holds is the most that it does.
func parseSize(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err == nil && n > math.MaxInt64 || err != nil && strings.HasPrefix(err.Error(), "too large") {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a size; write a number and a unit, such as \"500KiB\" or \"1MiB\"", s)
	}
	return int64(n), nil
}

// formatSize is exact: in the largest binary unit that divides it.
func formatSize(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

// parseQuiet reads "22:00-07:00".
func parseQuiet(s string) (from, to time.Duration, err error) {
	a, b, ok := strings.Cut(s, "-")
	if ok {
		from, err = timeOfDay(a)
	}
	if ok && err == nil {
		to, err = timeOfDay(b)
	}
	if !ok || err != nil || from == to {
		return 0, 0, fmt.Errorf("%q is not a time of day to be quiet in; write from-to, such as \"22:00-07:00\"", s)
	}
	return from, to, nil
}

func timeOfDay(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", strings.TrimSpace(s))
	if err != nil {
		return 0, err
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
