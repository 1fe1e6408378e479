package config

import (
	"fmt"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

func TestSchedulesThatKeepThePromise(t *testing.T) {
	for _, s := range []string{
		"@every 6h", "@every 24h", "@every 1s", "@hourly", "@daily", "@midnight", "0 */6 * * *", "0 9 * * *", "*/5 * * * *",
		"0 9 * * 0-6", "0 9 1-31 * *", "0 9 * 1-12 *", "15,45 9-17 * * *", "CRON_TZ=UTC 0 9 * * *", "TZ=Asia/Tokyo 0 9 * * *",
		"CRON_TZ=Europe/Berlin 0 9,21 * * *", "CRON_TZ=Europe/Berlin 0 * * * *", "0 9 1-31 * 1", "* * * * *",
	} {
		if err := checkSiteSchedule(s); err != nil {
			t.Error(err)
		}
	}
}

func TestSchedulesThatDoNot(t *testing.T) {
	for _, s := range []string{
		"", " ", "TZ=", "TZ=UTC", "CRON_TZ=UTC", "CRON_TZ=", "TZ=UTC ", "@", "@every", "@every ", "@every -1h", "@every 24h1s", "@weekly",
		"@monthly", "@yearly", "0 9 * * 1-5", "0 9 */2 * *", "0 9 1-30 * *", "0 9 * 2 *", "0 9 29 2 *", "0 9 30 2 *", "* * 1 1 *",
		"0 0 9 * * *", "60 * * * *", "CRON_TZ=Europe/Berlin 30 2 * * *", "CRON_TZ=Australia/Lord_Howe 0 9 * * *",
	} {
		if err := checkSiteSchedule(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

// Against walking through a year and both changes of the clocks, time by
// time.
func TestLongestGapAgreesWithWalkingThroughTime(t *testing.T) {
	zones := []string{"", "CRON_TZ=UTC ", "CRON_TZ=Europe/Berlin ", "CRON_TZ=America/New_York ", "CRON_TZ=Australia/Lord_Howe ", "CRON_TZ=Asia/Kolkata "}
	rapid.Check(t, func(t *rapid.T) {
		list := func(name string, least, most, n int) string {
			if rapid.Bool().Draw(t, name+" any") {
				return "*"
			}
			from := rapid.IntRange(least, most).Draw(t, name)
			return fmt.Sprintf("%d-%d", from, min(most, from+rapid.IntRange(0, n).Draw(t, name+" more")))
		}
		s := rapid.SampledFrom(zones).Draw(t, "zone") +
			fmt.Sprintf("%d ", rapid.IntRange(0, 59).Draw(t, "minute")) +
			rapid.SampledFrom([]string{"*", "2", "9", "0,23", "9,21", "1-3", "2,3"}).Draw(t, "hour") + " " +
			list("day", 1, 31, 31) + " " + list("month", 1, 12, 12) + " " + list("weekday", 0, 6, 7)
		sched, err := parseSchedule(s)
		if err != nil {
			return // no day has it
		}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		at := sched.Next(start)
		walked := at.Sub(start) // a first time after more than a day has a day left out before it
		for at.Before(start.AddDate(1, 1, 0)) {
			next := sched.Next(at)
			walked = max(walked, next.Sub(at))
			at = next
		}
		if got := longestGap(sched); (got > maxGap) != (walked > maxGap) {
			t.Fatalf("%q: longest gap is %v, walking finds %v", s, got, walked)
		}
	})
}

func TestScheduleNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`(CRON_TZ=|TZ=)?[A-Z/*@ ,0-9-]{0,20}`).Draw(t, "s")
		if sched, err := parseSchedule(s); err == nil {
			var _ cron.Schedule = sched
			longestGap(sched)
		}
	})
}
