package watcher

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/robotswatch/robotswatch/fetch"
)

// listener believes nothing but what it is told, and must end up knowing the
// truth: after the baseline, each report takes up where the last one ended.
type listener struct {
	version Version
	state   fetch.State
}

// hear checks a report against what is believed so far.
func (l *listener) hear(t *rapid.T, list []Transition) {
	states := 0
	for _, tr := range list {
		if tr.ofState() {
			states++
			if tr.StateBefore == tr.StateAfter && tr.Unstable == "" {
				t.Fatalf("a change of state that is none: %+v", tr)
			}
			l.state = tr.StateAfter
			continue
		}
		if tr.Before == tr.After {
			t.Fatalf("a change of version that is none: %+v", tr)
		}
		if !tr.AsTold && tr.Before != l.version {
			t.Fatalf("told of a change from %+v, but what was told last is %+v", tr.Before, l.version)
		}
		l.version = tr.After
		if states == 0 {
			l.state = tr.StateAfter
		}
	}
	if states > 1 || len(list)-states > 1 {
		t.Fatalf("one look told twice: %+v", list)
	}
}

// TestReportsLeadToTheTruth plays any sequence of answers at any intervals.
// Then the site is left in peace, and the listener must know how it is.
func TestReportsLeadToTheTruth(t *testing.T) {
	answers := []string{"A", "A", "A", "B", "B", "C", "404", "503", "503", "403", "html", "="}
	waits := []time.Duration{5 * time.Minute, time.Hour, 6 * time.Hour, 23 * time.Hour, 200 * time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		site := Site{Origin: "https://example.com", State: fetch.Pending}
		at := day0
		var l listener
		based := false // the first confirmed state is known
		look := func(answer string) {
			if answer == "=" && site.Body.IsZero() {
				answer = "A"
			}
			d := Decide(site, outcomeOf(t, answer, at), testConfirm)
			before := site
			site = d.Site
			if !based && !site.Memory.Tentative {
				based = true
				l = listener{site.version(), site.State}
				if len(d.Transitions) > 0 {
					t.Fatalf("a baseline is no event: %+v", d.Transitions)
				}
				return
			}
			if !before.version().known() && site.version().known() {
				l.version = site.version() // readable for the first time: nothing to compare with
			}
			l.hear(t, d.Transitions)
			if !based && len(d.Transitions) > 0 {
				t.Fatalf("told %+v before anything was confirmed", d.Transitions)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			answer, wait := rapid.SampledFrom(answers).Draw(t, "answer"), rapid.SampledFrom(waits).Draw(t, "wait")
			for range rapid.SampledFrom([]int{1, 1, 2, 3, 9}).Draw(t, "times") {
				look(answer)
				at = at.Add(wait)
			}
		}
		last := rapid.SampledFrom(answers[:len(answers)-1]).Draw(t, "last")
		for range 20 {
			look(last)
			at = at.Add(6 * time.Hour)
		}
		if l.state != site.State {
			t.Errorf("believes the site is %s, but it is %s", l.state, site.State)
		}
		// What swings when an outage comes cannot settle before that is over.
		if swings := site.Memory.Flap.Told.known() && !site.State.Readable(); l.version != site.version() && !swings {
			t.Errorf("believes in version %+v, but it is %+v", l.version, site.version())
		}
		if want := outcomeOf(t, last, at).State; site.State != want {
			t.Errorf("after twenty equal answers the site is %s, not %s", site.State, want)
		}
	})
}

// TestFewFaultsAreNeverTold: whatever the faults are, as long as a policy comes
// before the third of a kind and the ninth in all.
func TestFewFaultsAreNeverTold(t *testing.T) {
	faults := []string{"404", "503", "403", "html"}
	rapid.Check(t, func(t *rapid.T) {
		site := Site{Origin: "https://example.com", State: fetch.Pending}
		at := day0
		look := func(answer string) {
			d := Decide(site, outcomeOf(t, answer, at), testConfirm)
			if len(d.Transitions) > 0 || d.Site.State != fetch.Policy {
				t.Fatalf("told %+v, state %s", d.Transitions, d.Site.State)
			}
			if d.Again == (answer == "A") {
				t.Fatalf("after %s the next look is soon: %t", answer, d.Again)
			}
			site = d.Site
			at = at.Add(time.Hour)
		}
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			look("A")
			previous, run := "", 0
			for range rapid.IntRange(0, 8).Draw(t, "faults") {
				f := rapid.SampledFrom(faults).Draw(t, "fault")
				if f == previous && run == 2 {
					continue
				}
				if f != previous {
					previous, run = f, 0
				}
				run++
				look(f)
			}
		}
	})
}
