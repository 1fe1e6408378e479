package watcher

import (
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

// AsOf is a site as it stood at a moment, replayed from the runs of answers
// that had begun by then (newest first; runs before the last policy among
// them make no difference). Its profile is empty: Gate does not need one.
//
// Live runs do not keep how many looks they are made of. While an answer waits
// for confirmation looks are confirm.Interval apart, so that is what is
// assumed; the captures of a backfilled run are assumed to be evenly spread.
func AsOf(site Site, runs []Observation, at time.Time, confirm Confirm) Site {
	then := Site{ID: site.ID, Origin: site.Origin, Config: site.Config, State: fetch.Pending}
	for len(runs) > 0 && runs[0].At.After(at) {
		runs = runs[1:]
	}
	first := len(runs) - 1
	for i, o := range runs {
		if o.State == fetch.Policy {
			first = i
			break
		}
	}
	for i := first; i >= 0; i-- {
		o := runs[i]
		end := o.LastAt
		if end.After(at) {
			end = at
		}
		for _, t := range looks(o, at, confirm) {
			then = Decide(then.with(o), fetch.Outcome{At: t, State: o.State, Reason: o.Reason, Detail: o.Detail,
				Status: o.Status, FinalURL: o.FinalURL, NotModified: o.State == fetch.Policy}, confirm).Site
		}
		then.LastCheckAt = end
		if then.State == o.State && o.State.Readable() {
			then.ReadableAt = end
		}
	}
	return then
}

// with makes the site one whose last policy is the one that a run saw: "not
// modified" then means that one.
func (s Site) with(o Observation) Site {
	if o.State == fetch.Policy {
		s.Body = o.Body
	}
	return s
}

// looks are the times of as many looks of a run up to a moment as may be
// needed to confirm it.
func looks(o Observation, at time.Time, confirm Confirm) []time.Time {
	times := []time.Time{o.At}
	if o.Looks > 0 {
		for i := 1; i < min(o.Looks, max(confirm.Failures, 1)) && o.State != fetch.Policy; i++ {
			if next := o.Spread(i); !next.After(at) {
				times = append(times, next)
			}
		}
		return times
	}
	for len(times) < max(confirm.Failures, 1) && o.State != fetch.Policy {
		next := times[len(times)-1].Add(confirm.Interval)
		if next.After(o.LastAt) && times[len(times)-1].Before(o.LastAt) {
			next = o.LastAt
		}
		if next.After(at) || next.After(o.LastAt) {
			break
		}
		times = append(times, next)
	}
	return times
}

// AssumedLooks are the times of as many looks of a run as may be needed to
// confirm it: the first is known, the others are assumed as AsOf does.
func (o *Observation) AssumedLooks(confirm Confirm) []time.Time { return looks(*o, o.LastAt, confirm) }

// Spread is when the i-th capture of a backfilled run was made, from 0, if they
// are evenly spread.
func (o *Observation) Spread(i int) time.Time {
	if i <= 0 || o.Looks < 2 {
		return o.At
	}
	if i >= o.Looks-1 {
		return o.LastAt
	}
	return o.At.Add(o.LastAt.Sub(o.At) / time.Duration(o.Looks-1) * time.Duration(i)).Truncate(time.Millisecond)
}
