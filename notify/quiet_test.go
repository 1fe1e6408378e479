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
		t.Skip("no time zone data")
	}
	at := func(s string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", s, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct {
		name    string
		windows []string
		now     string
		inside  bool
		end     string // "" none
	}{
		{"before", []string{"22:00-07:00"}, "2026-11-30 21:59", false, "2026-11-30 07:00"},
		{"at the beginning", []string{"22:00-07:00"}, "2026-11-30 22:00", true, "2026-12-01 07:00"},
		{"after midnight", []string{"22:00-07:00"}, "2026-12-01 06:59", true, "2026-12-01 07:00"},
		{"at the end", []string{"22:00-07:00"}, "2026-12-01 07:00", false, "2026-12-01 07:00"},
		{"within a day", []string{"12:00-13:00"}, "2026-12-01 12:30", true, "2026-12-01 13:00"},
		{"the evening belongs to Friday", []string{"Fri 22:00-07:00"}, "2026-12-05 06:00", true, "2026-12-05 07:00"},
		{"not to Saturday", []string{"Fri 22:00-07:00"}, "2026-12-05 22:30", false, "2026-12-05 07:00"},
		{"windows that touch are one", []string{"22:00-24:00", "00:00-07:00"}, "2026-11-30 23:00", true, "2026-12-01 07:00"},
		{"weekend", []string{"Sat,Sun 00:00-24:00", "22:00-07:00"}, "2026-12-05 12:00", true, "2026-12-07 07:00"},
		{"the night the clock goes forward", []string{"22:00-07:00"}, "2027-03-28 06:30", true, "2027-03-28 07:00"},
		{"the night the clock goes back", []string{"22:00-07:00"}, "2026-10-25 06:30", true, "2026-10-25 07:00"},
		{"none", nil, "2026-12-01 12:30", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var windows []QuietHours
			for _, s := range tc.windows {
				q, err := ParseQuietHours(s, berlin)
				if err != nil {
					t.Fatal(err)
				}
				windows = append(windows, q)
			}
			inside, end := quiet(windows, at(tc.now))
			var want time.Time
			if tc.end != "" {
				want = at(tc.end)
			}
			if inside != tc.inside || !end.Equal(want) {
				t.Errorf("quiet gave %v, %v; want %v, %v", inside, end.In(berlin), tc.inside, want)
			}
		})
	}
	for _, bad := range []string{"", "22:00", "22:00-25:00", "24:00-07:00", "Xyz 22:00-07:00", "Mon-Foo 22:00-07:00"} {
		if _, err := ParseQuietHours(bad, berlin); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
