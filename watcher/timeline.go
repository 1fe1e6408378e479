package watcher

import (
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

// History is all that was seen of a site.
type History struct {
	Site   Site
	Active bool          // it is configured now
	Runs   []Observation // oldest first
}

// goesOn reports whether the last answer still holds: somebody looks.
func (h *History) goesOn() bool {
	n := len(h.Runs)
	return h.Active && n > 0 && !h.Runs[n-1].Backfill
}

// Stretch is a time in which a site stood the same: in one confirmed state,
// with one readable answer. Its state is Pending where nobody knew.
type Stretch struct {
	From, To time.Time // To is zero for what goes on
	Site     Site      // for Effective; it has no profile
	Aged     bool      // unreachable for longer than UnreachableLimit
}

// Timeline cuts the history of a site into stretches, oldest first. Unlike AsOf, which says what was known at a moment, it says what
// turned out: a state begins with its first answer, not with the one that
// confirmed it.
//
// An answer is taken to go on when the next one came within gap; otherwise it
// holds for MaxGap, as long as a crawler may rely on it (RFC 9309, 2.4), and
// then nothing is known.
func Timeline(h History, confirm Confirm, gap time.Duration) []Stretch {
	runs := h.Runs
	then := Site{ID: h.Site.ID, Origin: h.Site.Origin, Config: h.Site.Config, State: fetch.Pending}
	nobody := then
	var line timeline
	var known time.Time // since when there was no gap
	for i, o := range runs {
		if i > 0 && o.At.Sub(runs[i-1].LastAt) > gap {
			line.begin(runs[i-1].LastAt.Add(MaxGap), nobody)
			line.begin(o.At, then)
			known = o.At
		}
		for _, t := range looks(o, o.LastAt, confirm) {
			was := then
			then = Decide(then.with(o), fetch.Outcome{At: t, State: o.State, Reason: o.Reason, Detail: o.Detail,
				Status: o.Status, FinalURL: o.FinalURL, NotModified: o.State == fetch.Policy}, confirm).Site
			if then.State != was.State || then.version() != was.version() || then.Memory.Tentative != was.Memory.Tentative {
				at := t
				if then.State != was.State || was.Memory.Tentative {
					then.StateSince = later(then.StateSince, known)
					at = then.StateSince
				}
				line.begin(at, then)
			}
		}
	}
	if n := len(runs); n > 0 && !h.goesOn() {
		line.end(runs[n-1].LastAt.Add(MaxGap))
	}
	return line.aged()
}

// timeline is a list of stretches, each ending where the next begins.
type timeline []Stretch

// begin takes back what lies after a time: a state that is confirmed now began
// then.
func (l *timeline) begin(at time.Time, site Site) {
	list := *l
	for len(list) > 0 && !list[len(list)-1].From.Before(at) {
		list = list[:len(list)-1]
	}
	list.end(at)
	*l = append(list, Stretch{From: at, Site: site})
}

func (l timeline) end(at time.Time) {
	if n := len(l); n > 0 {
		l[n-1].To = at
	}
}

// aged divides stretches in which a site was unreachable for too long.
func (l timeline) aged() []Stretch {
	var list []Stretch
	for _, s := range l {
		limit := s.Site.StateSince.Add(UnreachableLimit)
		if s.Site.State != fetch.Unreachable || !s.To.IsZero() && !s.To.After(limit) {
			list = append(list, s)
			continue
		}
		if s.From.Before(limit) {
			young := s
			young.To = limit
			list = append(list, young)
			s.From = limit
		}
		s.Aged = true
		list = append(list, s)
	}
	return list
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
