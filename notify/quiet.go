package notify

import "time"

// QuietHours are hours of the day in which a receiver gets nothing; what
// comes up is held and sent when they end. They may go over midnight. From
// equal to To is none.
type QuietHours struct {
	From, To time.Duration  // since midnight, by the clock on the wall; at most 24 hours
	Location *time.Location // nil is UTC
}

// at reports whether t lies in quiet hours and when those end; outside of
// them, end is when the last ones ended, zero when there are none at all.
func (q QuietHours) at(t time.Time) (inside bool, end time.Time) {
	if q.From == q.To {
		return false, time.Time{}
	}
	loc := q.Location
	if loc == nil {
		loc = time.UTC
	}
	y, m, d := t.In(loc).Date()
	clock := func(day int, c time.Duration) time.Time {
		return time.Date(y, m, day, int(c/time.Hour), int(c%time.Hour/time.Minute), 0, 0, loc)
	}
	// Windows that begin from the day before yesterday to today.
	for day := d - 2; day <= d; day++ {
		from, to := clock(day, q.From), clock(day, q.To)
		if q.To < q.From {
			to = clock(day+1, q.To)
		}
		if !from.After(t) && to.After(t) {
			return true, to
		}
		if !to.After(t) {
			end = to
		}
	}
	return false, end
}
