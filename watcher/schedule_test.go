package watcher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseScheduleRefusesWithAClearReason(t *testing.T) {
	cases := []struct{ spec, want string }{
		{"", "empty"},
		{"TZ=UTC", "names a time zone and no times"},
		{"CRON_TZ=UTC", "names a time zone and no times"},
		{"CRON_TZ=UTC ", "names a time zone and no times"},
		{"CRON_TZ=Mars/Olympus 0 * * * *", "unknown time zone"},
		{"CRON_TZ= 0 * * * *", "unknown time zone"},
		{"@every", "not a duration"},
		{"@every 6", "not a duration"},
		{"@every -1h", "at least one"},
		{"@every 0s", "at least one"},
		{"@every 500ms", "whole seconds"},
		{"@every 24h0m1s", "more than 24 hours"},
		{"@weekly", "more than 24 hours"},
		{"@monthly", "more than 24 hours"},
		{"0 0 * * 1-5", "more than 24 hours"},
		{"0 0 1-30 * *", "nothing on 2024-01-31"},
		{"0 0 29 2 *", "more than 24 hours"},
		{"0 0 31 2 *", "more than 24 hours"},
		{"* * * *", "expected exactly 5 fields"},
		{"61 * * * *", "above maximum"},
		{"@reboot", "unrecognized"},
	}
	for _, c := range cases {
		_, err := ParseSchedule(c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error with %q", c.spec, err, c.want)
		}
	}
}

var goodSchedules = []string{
	"@every 1s", "@every 1m", "@every 1h", "@every 6h", "@every 7h", "@every 24h",
	"* * * * *", "0 */6 * * *", "17 3 * * *", "0 0,23 * * *", "@hourly", "@daily",
	"CRON_TZ=Europe/Berlin 30 2 * * *", "CRON_TZ=America/Sao_Paulo 0 0 * * *",
	"TZ=America/New_York 30 1 * * *", "CRON_TZ=Pacific/Apia 0 12 * * *", "CRON_TZ=Australia/Lord_Howe 15 2 * * *",
	"0 0 * * 0-6", "0 0 1-15,16-31 * *",
}

func TestNextKeepsThePromiseFromAnyMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := ParseSchedule(rapid.SampledFrom(goodSchedules).Draw(t, "schedule"))
		if err != nil {
			t.Fatal(err)
		}
		origin := fmt.Sprintf("https://site-%d.example", rapid.IntRange(0, 1000).Draw(t, "site"))
		now := time.UnixMilli(rapid.Int64Range(1_600_000_000_000, 1_900_000_000_000).Draw(t, "now"))
		for range 20 {
			next := s.Next(origin, now)
			if !next.After(now) || next.Sub(now) > 23*time.Hour+30*time.Minute {
				t.Fatalf("after %v comes %v, %v later", now, next, next.Sub(now))
			}
			now = next
		}
	})
}

// A daily look at a local time that the change of clocks skips or repeats is
// made once for that day too.
func TestNextAcrossChangesOfTheClocks(t *testing.T) {
	for _, c := range []struct{ spec, from, to string }{
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-25T00:00:00Z", "2026-04-02T00:00:00Z"},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-20T00:00:00Z", "2026-10-30T00:00:00Z"},
		{"CRON_TZ=America/Sao_Paulo 0 0 * * *", "2018-11-01T12:00:00Z", "2018-11-08T12:00:00Z"},
	} {
		s, err := ParseSchedule(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		from, _ := time.Parse(time.RFC3339, c.from)
		to, _ := time.Parse(time.RFC3339, c.to)
		looks := 0
		for at := s.nextFiring("https://example.com", from); at.Before(to); at = s.nextFiring("https://example.com", at) {
			looks++
		}
		if days := int(to.Sub(from).Hours() / 24); looks != days {
			t.Errorf("%s: %d looks in %d days", c.spec, looks, days)
		}
	}
}

func TestSitesOfOneScheduleAreSpread(t *testing.T) {
	const sites, parts = 12000, 12
	for _, c := range []struct {
		spec string
		over time.Duration
	}{{"@every 6h", 6 * time.Hour}, {"0 */6 * * *", 10 * time.Minute}} {
		s, err := ParseSchedule(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		var count [parts]int
		for i := range sites {
			at := s.Next(fmt.Sprintf("https://www%d.example", i), start)
			if at != s.Next(fmt.Sprintf("https://www%d.example", i), start) {
				t.Fatal("a site's place is not stable")
			}
			count[at.Sub(start)%(6*time.Hour)*parts/c.over]++
		}
		for i, n := range count {
			if n < sites/parts*8/10 || n > sites/parts*12/10 {
				t.Errorf("%s: part %d of %d has %d of %d sites", c.spec, i, parts, n, sites)
			}
		}
	}
}

func TestPlanHonoursRetryAfterWithinThePromise(t *testing.T) {
	s, err := ParseSchedule("@every 6h")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	plan := func(again, retry time.Duration) time.Duration {
		return s.plan("https://example.com", now, again, retry).Sub(now)
	}
	regular := plan(0, 0)
	for _, c := range []struct {
		name         string
		again, retry time.Duration
		want         time.Duration
	}{
		{"confirmation comes before the schedule", 5 * time.Minute, 0, 5 * time.Minute},
		{"a late confirmation does not delay the schedule", 20 * time.Hour, 0, regular},
		{"the server's wish delays a confirmation", 5 * time.Minute, time.Hour, time.Hour},
		{"the server's wish delays the schedule", 0, 20 * time.Hour, 20 * time.Hour},
		{"a wish already met changes nothing", 0, time.Second, regular},
		{"a wish of a year is cut", 0, 365 * 24 * time.Hour, maxPlan},
	} {
		if got := plan(c.again, c.retry); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
