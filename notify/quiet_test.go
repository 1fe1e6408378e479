package notify

import (
	"testing"
	"time"
)

// day n of the tests, a Monday for 0, at 12:00 UTC.
func day(n int) time.Time { return time.Date(2026, 11, 30+n, 12, 0, 0, 0, time.UTC) }

func TestQuietHours(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", s, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	night := QuietHours{From: 22 * time.Hour, To: 7 * time.Hour, Location: berlin}
	noon := QuietHours{From: 12 * time.Hour, To: 13*time.Hour + 30*time.Minute, Location: berlin}
	evening := QuietHours{From: 18 * time.Hour, To: 24 * time.Hour, Location: berlin}
	for _, tc := range []struct {
		name   string
		hours  QuietHours
		now    string
		inside bool
		end    string // "" none
	}{
		{"before", night, "2026-11-30 21:59", false, "2026-11-30 07:00"},
		{"at the beginning", night, "2026-11-30 22:00", true, "2026-12-01 07:00"},
		{"after midnight", night, "2026-12-01 06:59", true, "2026-12-01 07:00"},
		{"at the end", night, "2026-12-01 07:00", false, "2026-12-01 07:00"},
		{"within a day", noon, "2026-12-01 13:29", true, "2026-12-01 13:30"},
		{"until midnight", evening, "2026-12-01 23:59", true, "2026-12-02 00:00"},
		{"after midnight", evening, "2026-12-02 00:00", false, "2026-12-02 00:00"},
		{"in the morning, before the first", noon, "2026-12-01 06:00", false, "2026-11-30 13:30"},
		{"the night the clock goes forward", night, "2027-03-28 06:30", true, "2027-03-28 07:00"},
		{"the night the clock goes back", night, "2026-10-25 06:30", true, "2026-10-25 07:00"},
		{"none", QuietHours{}, "2026-12-01 12:30", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inside, end := tc.hours.at(at(tc.now))
			var want time.Time
			if tc.end != "" {
				want = at(tc.end)
			}
			if inside != tc.inside || !end.Equal(want) {
				t.Errorf("at gave %v, %v; want %v, %v", inside, end.In(berlin), tc.inside, want)
			}
		})
	}
}
