package history

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// DefaultGap is how long an answer goes on without being seen again. Archives
// look once a week or once a month; what they did not look at for longer is
// not known.
const DefaultGap = 35 * 24 * time.Hour

// Past is what a store knows of a site: its configuration, where it has one,
// and the runs of its answers, oldest first, live and backfilled. The last
// live one is taken to go on.
type Past struct {
	Config watcher.SiteConfig
	Runs   []watcher.Observation
}

// Rewrite is what a store shall know of a site from captures: all of it, in
// place of what it knew from earlier ones. Live runs and changes stay.
type Rewrite struct {
	Config  watcher.SiteConfig
	Was     int                   // backfilled runs when the past was read
	Runs    []watcher.Observation // oldest first
	Changes []watcher.Change
	Bodies  map[watcher.Hash][]byte // that the store may lack

	firstLive        time.Time // zero: nobody looked
	leadFrom, leadTo time.Time // the looks at the first readable live answer
}

// Replaces reports whether a stored change is one of those that Changes take
// the place of: what captures from before the first live look led to. What a
// replay found in the time that was watched stays.
func (w *Rewrite) Replaces(c watcher.Change) bool {
	switch {
	case !c.Backfilled:
		return false
	case w.firstLive.IsZero(), c.At.Before(w.firstLive):
		return true
	}
	return c.Kind != watcher.KindState && !w.leadFrom.IsZero() && !c.At.Before(w.leadFrom) && !c.At.After(w.leadTo)
}

// segment is a time that nobody watched live: before the first live look, or
// between two live runs.
type segment struct {
	from, to time.Time // exclusive; zero: no bound
	runs     []watcher.Observation
	looks    []look
	next     *watcher.Observation // the live policy or absence after the first segment
}

func (s *segment) holds(t time.Time) bool {
	return (s.from.IsZero() || t.After(s.from)) && (s.to.IsZero() || t.Before(s.to))
}

// segments divides what was captured by what was seen live. covered counts the
// looks at times that were watched.
func segments(p Past, looks []look) (list []segment, covered int) {
	list = []segment{{}}
	for i := range p.Runs {
		r := &p.Runs[i]
		if r.Backfill {
			continue
		}
		list[len(list)-1].to = r.At
		if first := &list[0]; first.next == nil && r.State.Readable() {
			first.next = r
		}
		list = append(list, segment{from: r.LastAt})
	}
	if len(list) > 1 {
		list = list[:len(list)-1] // the last live run goes on
	}
	for i := range list {
		s := &list[i]
		for _, r := range p.Runs {
			if r.Backfill && s.holds(r.At) {
				s.runs = append(s.runs, r)
			}
		}
		for _, l := range looks {
			if s.holds(l.out.At) {
				s.looks = append(s.looks, l)
			}
		}
		covered += len(s.looks)
	}
	return list, len(looks) - covered
}

// merge lists the looks of a segment, those that stored runs are made of and
// new ones, in order of time. fresh is how many of them tell something new.
//
// A stored run keeps how many captures it is made of, not when each was made:
// as long as no more agree with it than that, they are those, and otherwise
// the finer picture counts. At the time of a stored answer that answer holds.
func (s *segment) merge() (all []look, fresh int) {
	rest := s.looks
	for i := range s.runs {
		r := &s.runs[i]
		for len(rest) > 0 && rest[0].out.At.Before(r.At) {
			all, fresh, rest = append(all, rest[0]), fresh+1, rest[1:]
		}
		var same, other []look
		for len(rest) > 0 && !rest[0].out.At.After(r.LastAt) {
			switch l := rest[0]; {
			case l.answer() == answerOf(r):
				same = append(same, l)
			case !l.out.At.Equal(r.At) && !l.out.At.Equal(r.LastAt):
				other = append(other, l)
			}
			rest = rest[1:]
		}
		fresh += max(len(same)-r.Looks, 0) + len(other)
		if len(same) < r.Looks {
			same = same[:0]
			for i := range r.Looks {
				same = append(same, lookOf(r, r.Spread(i)))
			}
		}
		for _, end := range []time.Time{r.At, r.LastAt} {
			if !slices.ContainsFunc(same, func(l look) bool { return l.out.At.Equal(end) }) {
				same = append(same, lookOf(r, end))
			}
		}
		all = append(all, same...)
		all = append(all, other...)
	}
	all, fresh = append(all, rest...), fresh+len(rest)
	slices.SortStableFunc(all, func(a, b look) int { return a.out.At.Compare(b.out.At) })
	return all, fresh
}

// lookOf is a look that found what a run says; its body is fetched later.
func lookOf(r *watcher.Observation, at time.Time) look {
	out := fetch.Outcome{At: at, State: r.State, Reason: r.Reason, Detail: r.Detail, Status: r.Status, FinalURL: r.FinalURL,
		Bytes: r.Bytes, Truncated: r.Truncated, Vendor: r.Evidence.Vendor, TLSSubject: r.Evidence.TLSSubject, Headers: r.Evidence.Headers}
	if a, err := netip.ParseAddrPort(r.Evidence.Address); err == nil {
		out.Address = a
	}
	return look{out: out, hash: r.Body}
}

// deriver turns captures of sites into what is recorded.
type deriver struct {
	judge  *watcher.Judge
	bodies watcher.Bodies
	gap    time.Duration
}

// derived counts what derive did with the captures of a site.
type derived struct {
	repeated   int // at the time of another capture
	unresolved int // revisits of something that is not in the input
	covered    int // at a time that was watched live
	fresh      int // told something new
}

// derive gives what the store shall know of a site; nil when it knows it.
func (d *deriver) derive(ctx context.Context, p Past, looks []look) (*Rewrite, derived, error) {
	var n derived
	looks, n.unresolved = resolve(looks)
	before := len(looks)
	looks = slices.CompactFunc(looks, func(a, b look) bool { return a.out.At.Equal(b.out.At) })
	n.repeated = before - len(looks)
	list, covered := segments(p, looks)
	n.covered = covered
	merged := make([][]look, len(list))
	for i := range list {
		var fresh int
		merged[i], fresh = list[i].merge()
		n.fresh += fresh
	}
	if n.fresh == 0 {
		return nil, n, nil
	}
	w := &Rewrite{Config: p.Config, Bodies: make(map[watcher.Hash][]byte), firstLive: list[0].to}
	if next := list[0].next; next != nil {
		w.leadFrom, w.leadTo = next.At, next.At.Add(d.leadTime(next))
	}
	for _, r := range p.Runs {
		if r.Backfill {
			w.Was++
		}
	}
	for i, s := range list {
		if err := d.play(ctx, w, merged[i], i == 0, s.next); err != nil {
			return nil, n, err
		}
	}
	return w, n, nil
}

// resolve gives revisits what they refer to: the capture with the same payload,
// the latest before them or else the first after.
func resolve(looks []look) (kept []look, unresolved int) {
	if !slices.ContainsFunc(looks, func(l look) bool { return l.revisit }) {
		return looks, 0
	}
	seen := make(map[string]*look)
	for i := len(looks) - 1; i >= 0; i-- { // the first of each at last
		if l := &looks[i]; !l.revisit && l.digest != "" {
			seen[l.digest] = l
		}
	}
	kept = make([]look, 0, len(looks))
	for i := range looks {
		l := looks[i]
		if l.revisit {
			was := seen[l.digest]
			if was == nil {
				unresolved++
				continue
			}
			at := l.out.At
			l.out, l.hash, l.revisit = was.out, was.hash, false
			l.out.At = at
		} else if l.digest != "" {
			seen[l.digest] = &looks[i]
		}
		kept = append(kept, l)
	}
	return kept, unresolved
}

// play puts the looks of a segment through the judge. Changes are kept where
// nobody told them at the time; next, if there is one, is the first live
// answer that they lead to.
func (d *deriver) play(ctx context.Context, w *Rewrite, looks []look, tell bool, next *watcher.Observation) error {
	replay := watcher.NewReplay(d.judge, w.Config)
	for i := range looks {
		l := &looks[i]
		if err := d.fill(ctx, l); err != nil {
			return err
		}
		v, err := replay.Next(ctx, l.out)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", w.Config.Origin, l.out.At.Format(time.RFC3339), err)
		}
		w.extend(l, v.Observation, d.gap, i == 0)
		if tell {
			w.Changes = append(w.Changes, v.Changes...)
		}
	}
	if !tell || next == nil || len(looks) == 0 {
		return nil
	}
	return d.lead(ctx, w, replay, next)
}

func (d *deriver) fill(ctx context.Context, l *look) error {
	if l.hash.IsZero() || l.out.Body != nil {
		return nil
	}
	body, err := d.bodies.Body(ctx, l.hash)
	l.out.Body = body
	return err
}

// extend makes the last run longer, or begins the next one.
func (w *Rewrite) extend(l *look, began *watcher.Observation, gap time.Duration, first bool) {
	if n := len(w.Runs); n > 0 && !first && began == nil {
		last := &w.Runs[n-1]
		if l.out.At.Sub(last.LastAt) <= gap {
			last.LastAt = l.out.At
			last.Looks++
			return
		}
		again := *last
		again.At = l.out.At
		began = &again
	}
	began.LastAt, began.Looks, began.Backfill = l.out.At, 1, true
	if !l.hash.IsZero() {
		w.Bodies[l.hash] = l.out.Body
	}
	w.Runs = append(w.Runs, *began)
}

// leadTime is how long it takes to believe an answer.
func (d *deriver) leadTime(next *watcher.Observation) time.Duration {
	confirm := d.judge.Settings().Confirm
	if next.State == fetch.Policy {
		return 0
	}
	return time.Duration(confirm.Failures-1) * confirm.Interval
}

// lead tells what changed between the last capture and the first readable live
// answer, which was no change for whoever saw only that. The state of the site
// is the live record's affair.
func (d *deriver) lead(ctx context.Context, w *Rewrite, replay *watcher.Replay, next *watcher.Observation) error {
	end := next.At.Add(d.leadTime(next))
	for at := next.At; !at.After(end); at = at.Add(d.judge.Settings().Confirm.Interval) {
		l := lookOf(next, at)
		if at.After(next.LastAt) {
			return nil
		}
		if err := d.fill(ctx, &l); err != nil {
			return err
		}
		v, err := replay.Next(ctx, l.out)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", w.Config.Origin, l.out.At.Format(time.RFC3339), err)
		}
		for _, c := range v.Changes {
			if c.Kind != watcher.KindState {
				w.Changes = append(w.Changes, c)
			}
		}
	}
	return nil
}
