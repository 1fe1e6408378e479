package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/robotswatch/robotswatch/internal/visible"
)

// maxGap is the longest time between two looks at a site (RFC 9309, 2.4).
const maxGap = 24 * time.Hour

// parseSchedule reads a schedule without the ways in which the parser can be
// made to panic or to mean something else than is written.
func parseSchedule(s string) (sched cron.Schedule, err error) {
	defer func() {
		// Some malformed texts make the parser slice out of range.
		if recover() != nil {
			err = notSchedule(s, "it ends too early")
		}
	}()
	if rest, zoned := strings.CutPrefix(s, "CRON_TZ="); zoned || strings.HasPrefix(s, "TZ=") {
		if !strings.Contains(rest, " ") {
			return nil, notSchedule(s, "nothing follows the time zone")
		}
	}
	if every, ok := strings.CutPrefix(s, "@every "); ok {
		d, err := time.ParseDuration(every)
		if err != nil {
			return nil, notSchedule(s, fmt.Sprintf("%q is not a duration in h, m and s", every))
		}
		if d < time.Second || d%time.Second != 0 {
			return nil, notSchedule(s, "the gap must be whole seconds, at least one")
		}
	}
	sched, err = cron.ParseStandard(s)
	if err != nil {
		return nil, notSchedule(s, visible.Text(err.Error())) // it repeats the input
	}
	if sched.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, notSchedule(s, "there is no such day")
	}
	return sched, nil
}

func notSchedule(s, why string) error {
	return fmt.Errorf("%q is not a schedule: %s; write such as \"@every 6h\" or \"0 */6 * * *\"", s, why)
}

// checkSiteSchedule refuses schedules that would leave a site alone for more
// than 24 hours.
func checkSiteSchedule(s string) error {
	sched, err := parseSchedule(s)
	if err != nil {
		return err
	}
	if gap := longestGap(sched); gap > maxGap {
		return fmt.Errorf("%q leaves gaps of up to %s; a site is looked at every %s at least, so write such as \"@every 6h\" or \"0 */6 * * *\"",
			s, formatDuration(gap), "24h")
	}
	return nil
}

// longestGap between two times of a schedule, exact where it is at most 24
// hours, and more than 24 hours where the truth is.
//
// In a zone without clock changes a cron schedule that leaves out a day has a
// gap of more than 24 hours round it, and one that leaves out none has not.
// Clock changes are then looked at one by one.
func longestGap(s cron.Schedule) time.Duration {
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		return s.(cron.ConstantDelaySchedule).Delay
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	gap := widestDayGap(spec, start)
	if gap > maxGap || spec.Location == time.Local || spec.Location == time.UTC {
		return gap
	}
	end := start.AddDate(zoneYears, 0, 0)
	for t := start; t.Before(end); {
		_, next := t.In(spec.Location).ZoneBounds()
		if next.IsZero() || next.After(end) {
			break
		}
		gap = max(gap, gapIn(spec, next.Add(-2*day), next.Add(2*day)))
		t = next
	}
	return gap
}

// zoneYears is how far ahead clock changes are looked at.
const zoneYears = 8

// widestDayGap looks at every day of the week in every kind of year, stopping
// at the first gap of more than a day. Times within a day are skipped: from
// each time it jumps to the last one before the same time next day.
func widestDayGap(spec *cron.SpecSchedule, start time.Time) time.Duration {
	utc := *spec
	utc.Location = time.UTC
	if everyDay(spec) {
		return gapIn(&utc, start, start.Add(2*day))
	}
	widest := time.Duration(0)
	for t := utc.Next(start); t.Before(start.AddDate(zoneYears, 0, 0)); {
		tomorrow := t.Truncate(day).Add(day)
		next := utc.Next(tomorrow.Add(-time.Nanosecond))
		if next.IsZero() {
			return 100 * 365 * day
		}
		if next.Sub(tomorrow) >= day {
			// From the last time before the free day to the first after it.
			widest = max(widest, gapIn(&utc, tomorrow.Add(-day-time.Nanosecond), next.Add(time.Minute)))
		}
		t = next
	}
	return widest
}

// everyDay reports whether the fields for days leave none out.
func everyDay(s *cron.SpecSchedule) bool {
	const star = 1 << 63
	has := func(bits uint64, from, to uint) bool {
		for i := from; i <= to; i++ {
			if bits&(1<<i) == 0 {
				return false
			}
		}
		return true
	}
	month, dom, dow := has(s.Month, 1, 12), has(s.Dom, 1, 31), has(s.Dow, 0, 6)
	if s.Dom&star != 0 || s.Dow&star != 0 {
		return month && dom && dow
	}
	return month && (dom || dow)
}

// gapIn is the widest gap between times of a schedule from one moment to
// another.
func gapIn(s cron.Schedule, from, to time.Time) time.Duration {
	widest := time.Duration(0)
	last := s.Next(from)
	for last.Before(to) {
		next := s.Next(last)
		if next.IsZero() {
			break
		}
		widest = max(widest, next.Sub(last))
		last = next
	}
	return widest
}
