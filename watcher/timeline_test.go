package watcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

func TestTimeline(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	at := func(days float64) time.Time { return t0.Add(time.Duration(days * float64(day))) }
	run := func(state fetch.State, from, to float64, looks int) watcher.Observation {
		o := watcher.Observation{At: at(from), LastAt: at(to), State: state, Backfill: looks > 0, Looks: looks}
		if state == fetch.Policy {
			o.Status, o.Body = 200, watcher.Hash{1}
		}
		return o
	}
	confirm := watcher.Confirm{Failures: 3, Interval: 5 * time.Minute}
	for _, c := range []struct {
		name   string
		active bool
		runs   []watcher.Observation
		want   string
	}{
		{"never seen", true, nil, ""},
		{"live goes on", true, []watcher.Observation{run(fetch.Policy, 0, 5, 0)}, "policy 0-"},
		{"left the configuration", false, []watcher.Observation{run(fetch.Policy, 0, 5, 0)}, "policy 0-6"},
		{"one capture holds for a day", true, []watcher.Observation{run(fetch.Policy, 0, 0, 1)}, "policy 0-1"},
		{"weekly captures", false, []watcher.Observation{run(fetch.Policy, 0, 21, 4)}, "policy 0-22"},
		{"one fault is none", true, []watcher.Observation{run(fetch.Policy, 0, 7, 2), run(fetch.Unreachable, 14, 14, 1), run(fetch.Policy, 21, 28, 2)}, "policy 0-29"},
		{"two are none", true, []watcher.Observation{run(fetch.Policy, 0, 7, 2), run(fetch.Unreachable, 14, 21, 2), run(fetch.Policy, 28, 28, 1)}, "policy 0-29"},
		{"three are an outage from the first on", true, []watcher.Observation{run(fetch.Policy, 0, 7, 2), run(fetch.Unreachable, 14, 28, 3), run(fetch.Policy, 35, 42, 2)},
			"policy 0-14, unreachable 14-35, policy 35-43"},
		{"live outages are looked at soon", true, []watcher.Observation{run(fetch.Policy, 0, 1, 0), run(fetch.Unreachable, 1.25, 2, 0), run(fetch.Policy, 2.25, 9, 0)},
			"policy 0-1.25, unreachable 1.25-2.25, policy 2.25-"},
		{"a long outage ages", true, []watcher.Observation{run(fetch.Policy, 0, 7, 2), run(fetch.Unreachable, 14, 56, 7)},
			"policy 0-14, unreachable 14-44, unreachable aged 44-57"},
		{"a gap is not known", true, []watcher.Observation{run(fetch.Policy, 0, 7, 2), run(fetch.Policy, 100, 107, 2)}, "policy 0-8, pending 8-100, policy 100-108"},
		{"nor is it an outage", true, []watcher.Observation{run(fetch.Policy, 0, 7, 2), run(fetch.Unreachable, 14, 14, 1), run(fetch.Unreachable, 100, 107, 2)},
			"policy 0-15, pending 15-100, unreachable 100-108"},
	} {
		var got []string
		for _, s := range watcher.Timeline(watcher.History{Active: c.active, Runs: c.runs}, confirm, 35*day) {
			text := string(s.Site.State)
			if s.Aged {
				text += " aged"
			}
			text += fmt.Sprintf(" %v-", s.From.Sub(t0).Hours()/24)
			if !s.To.IsZero() {
				text += fmt.Sprint(s.To.Sub(t0).Hours() / 24)
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, ", "), c.want)
		}
	}
}
