package watcher

import (
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

// Unstable marks the two events of a flapping site.
const (
	UnstableBegan   = "began"
	UnstableSettled = "settled"
)

// When a site is flapping. A reversal is always news: A, B, A are two events
// whatever the times. The third change back and forth between versions that
// did not hold, and the third outage in three days, are told as "unstable",
// once, and then only the end of that.
const (
	// stableLooks in a row, or stableTime, make a version stable.
	stableLooks = 3
	stableTime  = 48 * time.Hour
	// settledLooks in a row end an unstable time; more than stableLooks, so
	// that two servers that answer by chance do not settle by chance.
	settledLooks = 8
	// settledTime ends it for sites that are looked at rarely.
	settledTime = 72 * time.Hour

	// outageLimit outages that began within outageWindow make a site
	// unstable; the window catches one that is down every night.
	outageLimit  = 3
	outageWindow = 72 * time.Hour
	// settledState is how long no outage may begin or end until that is over.
	settledState = 24 * time.Hour
)

// Flap remembers what tells a reversal from a site that swings.
type Flap struct {
	Last   Version   `json:"last,omitzero"`    // the version before the current one
	Since  time.Time `json:"since,omitzero"`   // when the current version was first seen
	Looks  int       `json:"looks,omitempty"`  // that saw the current version, passing faults aside
	Swings int       `json:"swings,omitempty"` // returns in a row to the version before, from one not yet stable
	Told   Version   `json:"told,omitzero"`    // while versions are unstable: the one told last

	Outages    []time.Time `json:"outages,omitempty"`     // when the latest ones began
	StateTold  fetch.State `json:"state_told,omitempty"`  // while outages come and go: the state told last
	StateSince time.Time   `json:"state_since,omitzero"`  // when an outage last began or ended, while unstable
	StateLooks int         `json:"state_looks,omitempty"` // since then
}

// unstable reports that versions or outages come and go, and that this was
// told.
func (f *Flap) unstable() bool { return f.Told.known() || f.StateTold != "" }

// first begins the history of versions.
func (f *Flap) first(at time.Time) {
	f.Last, f.Since, f.Looks, f.Swings, f.Told = Version{}, at, 1, 0, Version{}
}

// switched notes a change of version and reports whether it is a return to
// the version before.
func (f *Flap) switched(before, after Version, at time.Time) (back bool) {
	back = after == f.Last
	if back && f.Looks < stableLooks && at.Sub(f.Since) < stableTime {
		f.Swings++
	} else {
		f.Swings = 0
	}
	f.Last, f.Since, f.Looks = before, at, 1
	return back
}

// versionChanged reports a new version, or of a swinging site only that it
// began to swing.
func (d *Decision) versionChanged(before, after Version, out fetch.Outcome, host string) {
	f := &d.Site.Memory.Flap
	held := out.At.Sub(f.Since)
	back := f.switched(before, after, out.At)
	t := d.transition(before.State, after.State, out)
	t.Before, t.After, t.Host = before, after, host
	switch unstable := f.Told.known(); {
	case unstable && back && held < settledTime:
		return // swings on
	case unstable: // a third version, or after a long time: news, against what was told
		t.Before, t.StateBefore = f.Told, f.Told.State
		f.Told = Version{}
		if t.Before == t.After {
			return
		}
	case f.Swings >= 2:
		t.Unstable = UnstableBegan
		f.Told = after
	}
	d.Transitions = append(d.Transitions, t)
}

// versionHeld counts, and reports that a swinging site settled.
func (d *Decision) versionHeld(v Version, out fetch.Outcome) {
	f := &d.Site.Memory.Flap
	f.Looks++
	held := out.At.Sub(f.Since)
	if !f.Told.known() || f.Looks < settledLooks && (held < settledTime || f.Looks < stableLooks) {
		return
	}
	before := f.Told
	if before == v { // what was told last stays true: say against what it prevailed
		before = f.Last
	}
	t := d.transition(before.State, v.State, out)
	t.Before, t.After = before, v
	t.Unstable, t.AsTold = UnstableSettled, f.Told == v
	f.Told, f.Swings = Version{}, 0
	d.Transitions = append(d.Transitions, t)
}

// outageBegan reports that an unreadable state was entered, also from another
// unreadable one.
func (d *Decision) outageBegan(was fetch.State, out fetch.Outcome) {
	f := &d.Site.Memory.Flap
	t := d.transition(was, out.State, out)
	if was.Readable() {
		f.Outages = append(recent(f.Outages, out.At.Add(-outageWindow)), out.At)
	}
	if f.stateMoved(out.At) {
		return
	}
	if len(f.Outages) >= outageLimit {
		t.Unstable = UnstableBegan
		f.StateTold, f.StateSince, f.StateLooks = out.State, out.At, 0
	}
	d.Transitions = append(d.Transitions, t)
}

// outageEnded reports that the site can be read again.
func (d *Decision) outageEnded(was fetch.State, out fetch.Outcome) {
	if d.Site.Memory.Flap.stateMoved(out.At) {
		return
	}
	d.Transitions = append(d.Transitions, d.transition(was, out.State, out))
}

// stateMoved reports whether the change of state belongs to an unstable time
// that was told already.
func (f *Flap) stateMoved(at time.Time) bool {
	if f.StateTold == "" {
		return false
	}
	f.StateSince, f.StateLooks = at, 0
	return true
}

// stateHeld counts a look that confirms or leaves the state as it is, and
// reports the end of an unstable time.
func (d *Decision) stateHeld(out fetch.Outcome) {
	f := &d.Site.Memory.Flap
	if f.StateTold == "" {
		return
	}
	f.StateLooks++
	held := out.At.Sub(f.StateSince)
	if held < settledState || f.StateLooks < settledLooks && (held < settledTime || f.StateLooks < stableLooks) {
		return
	}
	t := d.transition(f.StateTold, d.Site.State, out)
	t.Unstable = UnstableSettled
	f.StateTold, f.StateSince, f.StateLooks, f.Outages = "", time.Time{}, 0, nil
	d.Transitions = append(d.Transitions, t)
}

// recent drops times before since; times are in order.
func recent(times []time.Time, since time.Time) []time.Time {
	kept := make([]time.Time, 0, len(times)+1)
	for _, t := range times {
		if !t.Before(since) {
			kept = append(kept, t)
		}
	}
	return kept
}
