//go:build !race

// Bounds mean nothing under the race detector.

package diff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/robots"
)

// Bounds of one question.
const (
	hostileTime   = 250 * time.Millisecond
	hostileMemory = 64 << 20 // all that is asked for, garbage included
)

// Whatever a file holds, a question stays inside its bounds, and what it says
// is true.
func TestHostile(t *testing.T) {
	for _, q := range hostile() {
		t.Run(q.name, func(t *testing.T) {
			for _, p := range []question{q, {q.name, q.after, q.before}} {
				var s *solver
				var out outcome
				took := leastCPU(t, hostileTime, func() {
					s = newSolver(robots.ReadingRFC9309)
					out = s.compare(p.before.Rules, p.after.Rules)
				})
				c := describe(out, p.before, p.after)
				for _, e := range c.NewlyDisallowed[:min(len(c.NewlyDisallowed), 20)] {
					confirm(t, q.name, e, p.after, p.before)
				}
				for _, e := range c.NewlyAllowed[:min(len(c.NewlyAllowed), 20)] {
					confirm(t, q.name, e, p.before, p.after)
				}
				memory := allocated(p)
				if took > hostileTime || memory > hostileMemory || s.states > MaxStates+100 {
					t.Errorf("out of bounds")
				}
				t.Logf("%v, %d kB, work %d, states %d: %d entries, proven %v", took.Round(time.Microsecond), memory>>10, s.work, s.states, len(c.NewlyAllowed)+len(c.NewlyDisallowed), c.Proven)
			}
		})
	}
}

// A file of many groups, each of which takes a question to its limit, does not
// take many times the limit.
func TestHostileGroups(t *testing.T) {
	var before, after strings.Builder
	for i := range 150 {
		fmt.Fprintf(&before, "User-agent: bot%d\nDisallow: /%d%s\n", i, i, strings.Repeat("*ab", 1000))
		fmt.Fprintf(&after, "User-agent: bot%d\nDisallow: /%d%s\nAllow: /%d%s*\n", i, i, strings.Repeat("*ab", 1000), i, strings.Repeat("*ba", 1000))
	}
	b, a := NewInput([]byte(before.String())), NewInput([]byte(after.String()))
	var report *Report
	took := leastCPU(t, 20*hostileTime, func() { report = Files(b, a, Named(b, a, nil)) })
	unproven := 0
	for _, c := range report.Agents {
		if !c.Proven {
			unproven++
		}
	}
	if report.Equivalent || unproven == 0 || took > 20*hostileTime {
		t.Errorf("%v, equivalent %v, %d not proven", took, report.Equivalent, unproven)
	}
	t.Logf("%v, %d of %d not proven", took, unproven, len(report.Agents))
}

// leastCPU is the processor time that f takes, measured again while it is over
// the limit: a busy machine only ever makes it seem more.
func leastCPU(t *testing.T, limit time.Duration, f func()) time.Duration {
	t.Helper()
	took := cpu(t, f)
	for range 4 {
		if took > limit {
			took = min(took, cpu(t, f))
		}
	}
	return took
}
