package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// QuietHours are hours of the day in which a receiver gets nothing; what
// comes up is held and sent when they end. A window may go over midnight; it
// belongs to the day on which it begins.
type QuietHours struct {
	Days     []time.Weekday // empty: every day
	From, To time.Duration  // since midnight, by the clock on the wall; equal: the whole day
	Location *time.Location // nil is UTC
}

// ParseQuietHours reads "22:00-07:00", optionally with days before it:
// "Mon-Fri 22:00-07:00", "Sat,Sun 00:00-24:00".
func ParseQuietHours(s string, loc *time.Location) (QuietHours, error) {
	q := QuietHours{Location: loc}
	days, hours, ok := strings.Cut(strings.TrimSpace(s), " ")
	if !ok {
		days, hours = "", days
	}
	from, to, ok := strings.Cut(strings.TrimSpace(hours), "-")
	if !ok {
		return q, fmt.Errorf("quiet hours %q: want FROM-TO such as 22:00-07:00, optionally after days such as Mon-Fri", s)
	}
	var err error
	if q.From, err = parseClock(from); err != nil {
		return q, fmt.Errorf("quiet hours %q: %w", s, err)
	}
	if q.To, err = parseClock(to); err != nil {
		return q, fmt.Errorf("quiet hours %q: %w", s, err)
	}
	if q.From == 24*time.Hour {
		return q, fmt.Errorf("quiet hours %q: 24:00 can only be an end", s)
	}
	if days == "" {
		return q, nil
	}
	for part := range strings.SplitSeq(days, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := parseDay(first)
		if err != nil {
			return q, fmt.Errorf("quiet hours %q: %w", s, err)
		}
		b := a
		if isRange {
			if b, err = parseDay(last); err != nil {
				return q, fmt.Errorf("quiet hours %q: %w", s, err)
			}
		}
		for d := a; ; d = (d + 1) % 7 {
			q.Days = append(q.Days, d)
			if d == b {
				break
			}
		}
	}
	return q, nil
}

func parseClock(s string) (time.Duration, error) {
	if s == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as 07:30", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

func parseDay(s string) (time.Weekday, error) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()[:3]) || strings.EqualFold(s, d.String()) {
			return d, nil
		}
	}
	return 0, fmt.Errorf("%q is not a day; want Mon, Tue, Wed, Thu, Fri, Sat or Sun", s)
}

// bounds of the window that begins on the day of t (in the window's zone).
func (q QuietHours) bounds(y int, m time.Month, d int, loc *time.Location) (from, to time.Time) {
	at := func(day int, c time.Duration) time.Time {
		return time.Date(y, m, day, int(c/time.Hour), int(c%time.Hour/time.Minute), 0, 0, loc)
	}
	from = at(d, q.From)
	if q.To > q.From {
		return from, at(d, q.To)
	}
	return from, at(d+1, q.To)
}

// quiet reports whether t lies in quiet hours and when those end, windows
// that touch or overlap taken as one. Outside, end is when the last ones
// ended; zero when there were none in the week before.
func quiet(windows []QuietHours, t time.Time) (inside bool, end time.Time) {
	var last time.Time
	until := t
	for {
		extended := false
		for _, q := range windows {
			for from, to := range q.around(until) {
				if !from.After(until) && to.After(until) {
					until, extended = to, true
				}
				if !to.After(t) && to.After(last) {
					last = to
				}
			}
		}
		// Windows that never leave a gap would extend without end.
		if !extended || until.Sub(t) > 8*24*time.Hour {
			break
		}
	}
	if until.After(t) {
		return true, until
	}
	return false, last
}

// around yields the windows that begin from eight days before t to one after.
func (q QuietHours) around(t time.Time) func(yield func(from, to time.Time) bool) {
	loc := q.Location
	if loc == nil {
		loc = time.UTC
	}
	return func(yield func(from, to time.Time) bool) {
		y, m, d := t.In(loc).Date()
		for i := -8; i <= 1; i++ {
			from, to := q.bounds(y, m, d+i, loc)
			if len(q.Days) > 0 && !slices.Contains(q.Days, from.Weekday()) {
				continue
			}
			if !yield(from, to) {
				return
			}
		}
	}
}
