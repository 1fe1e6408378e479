package watcher

import (
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	// MaxGap is the longest time between two finished looks at a site.
	MaxGap = 24 * time.Hour
	// planMargin is kept free below MaxGap for waiting, fetching, retrying.
	planMargin = 30 * time.Minute
	// maxPlan is how far ahead a look is planned at most.
	maxPlan = MaxGap - planMargin

	// minEvery is the shortest "@every".
	minEvery = time.Second
	// maxJitter bounds the stable delay that spreads sites with one cron line.
	maxJitter = 10 * time.Minute
)

// Schedule says when a site is looked at. Each site has its own stable place
// in it, found by hashing its origin: sites that share "@every 6h" are spread
// evenly over six hours, sites that share a cron line over the first tenth of
// its shortest gap (at most ten minutes). Times are computed without the zone
// rules of the machine; a local time that a change of the clocks skips is
// moved, not left out. A Schedule is immutable.
type Schedule struct {
	every  time.Duration      // of "@every", else 0
	cron   *cron.SpecSchedule // evaluated on wall time, as if it were UTC
	zone   *time.Location     // of CRON_TZ, else UTC
	jitter time.Duration      // sites are delayed by less than this
}

// ParseSchedule reads a schedule in the syntax of robfig/cron: five fields,
// "@every 6h", "@daily", with or without "CRON_TZ=Zone " in front. Without a
// zone times are UTC. A schedule that leaves more than MaxGap between two
// looks is an error.
func ParseSchedule(spec string) (*Schedule, error) {
	spec = strings.TrimSpace(spec)
	zone := time.UTC
	if strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=") {
		name, rest, ok := strings.Cut(spec[strings.IndexByte(spec, '=')+1:], " ")
		if !ok || strings.TrimSpace(rest) == "" {
			return nil, fmt.Errorf("schedule %q names a time zone and no times; write for example \"CRON_TZ=Europe/Berlin 0 */6 * * *\"", spec)
		}
		loc, err := time.LoadLocation(name)
		if err != nil || name == "" {
			return nil, fmt.Errorf("schedule %q: unknown time zone %q", spec, name)
		}
		zone, spec = loc, strings.TrimSpace(rest)
	}
	if d, ok := strings.CutPrefix(spec, "@every"); ok {
		return parseEvery(spec, strings.TrimSpace(d))
	}
	parsed, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", spec, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("schedule %q is of an unknown form", spec)
	}
	fields.Location = time.UTC
	if day, ok := idleDay(fields); ok {
		return nil, fmt.Errorf("schedule %q leaves more than 24 hours between two looks (nothing on %s); every day needs one", spec, day.Format(time.DateOnly))
	}
	return &Schedule{cron: fields, zone: zone, jitter: min(maxJitter, shortestGap(fields)/10)}, nil
}

func parseEvery(spec, duration string) (*Schedule, error) {
	d, err := time.ParseDuration(duration)
	switch {
	case err != nil:
		return nil, fmt.Errorf("schedule %q: %q is not a duration; write for example \"@every 6h\"", spec, duration)
	case d < minEvery || d%time.Second != 0:
		return nil, fmt.Errorf("schedule %q: the duration must be whole seconds, at least one", spec)
	case d > MaxGap:
		return nil, fmt.Errorf("schedule %q leaves more than 24 hours between two looks; at most \"@every 24h\" is allowed", spec)
	}
	return &Schedule{every: d, zone: time.UTC}, nil
}

// anyDay is where walks over a cron line begin; any day would do.
var anyDay = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// idleDay finds a day without a firing. A cron line has the same times on
// each day it fires, so its gaps exceed 24 h exactly when a day is left out.
// Four years hold every combination of date and leap day.
func idleDay(s *cron.SpecSchedule) (time.Time, bool) {
	for day := anyDay; day.Year() < anyDay.Year()+4; day = day.AddDate(0, 0, 1) {
		if next := s.Next(day.Add(-time.Second)); next.IsZero() || next.Sub(day) >= MaxGap {
			return day, true
		}
	}
	return time.Time{}, false
}

func shortestGap(s *cron.SpecSchedule) time.Duration {
	shortest := MaxGap
	for t := s.Next(anyDay.Add(-time.Second)); t.Before(anyDay.Add(MaxGap)); {
		next := s.Next(t)
		shortest = min(shortest, next.Sub(t))
		t = next
	}
	return shortest
}

// Next is when a site is looked at after a look that finished at after: by
// the schedule, but never more than 23.5 hours later.
func (s *Schedule) Next(origin string, after time.Time) time.Time {
	after = after.UTC()
	var next time.Time
	if s.every > 0 {
		next = s.nextSlot(origin, after)
	} else {
		next = s.nextFiring(origin, after)
	}
	if latest := after.Add(maxPlan); next.After(latest) {
		return latest
	}
	return next
}

// nextSlot keeps at least half the interval free, so that a look out of turn
// is not followed by another one at once.
func (s *Schedule) nextSlot(origin string, after time.Time) time.Time {
	every := s.every.Milliseconds()
	phase := share(origin, every)
	earliest := after.UnixMilli() + every/2 + 1
	wait := (phase - earliest) % every
	if wait < 0 {
		wait += every
	}
	return time.UnixMilli(earliest + wait).UTC()
}

// nextFiring reads the cron line on wall time and only then asks which
// instant that is in the zone.
func (s *Schedule) nextFiring(origin string, after time.Time) time.Time {
	var delay time.Duration
	if ms := s.jitter.Milliseconds(); ms > 0 {
		delay = time.Duration(share(origin, ms)) * time.Millisecond
	}
	local := after.Add(-delay).In(s.zone)
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, time.UTC)
	for {
		wall = s.cron.Next(wall)
		if wall.IsZero() {
			return after.Add(maxPlan)
		}
		at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, s.zone).UTC().Add(delay)
		if at.After(after) {
			return at
		}
	}
}

// share maps an origin evenly onto 0 … n-1, the same on each machine.
func share(origin string, n int64) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(origin))
	x := h.Sum64()
	x ^= x >> 33 // FNV's high bits are poor for short, similar names
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return int64(x % uint64(n))
}

// plan is the next look after one that finished at now. again asks for an
// earlier look (0: none), retryAfter is what the server asked for (0:
// nothing); the server's wish wins, the promise of MaxGap wins over both.
func (s *Schedule) plan(origin string, now time.Time, again, retryAfter time.Duration) time.Time {
	next := s.Next(origin, now)
	if soon := now.Add(again); again > 0 && soon.Before(next) {
		next = soon
	}
	if wish := now.Add(min(retryAfter, maxPlan)); wish.After(next) {
		next = wish
	}
	return next.UTC()
}

// Schedules parses each distinct schedule once. The zero value is ready;
// safe for concurrent use.
type Schedules struct {
	parsed sync.Map // string -> *Schedule
}

// Get parses a schedule or gives the one parsed before.
func (c *Schedules) Get(spec string) (*Schedule, error) {
	if s, ok := c.parsed.Load(spec); ok {
		return s.(*Schedule), nil
	}
	s, err := ParseSchedule(spec)
	if err != nil {
		return nil, err
	}
	c.parsed.Store(spec, s)
	return s, nil
}
