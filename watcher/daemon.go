package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

const (
	// DefaultPoll is how often due sites are asked for when there were none.
	DefaultPoll = time.Second
	// minLease is how long a claimed site belongs to a daemon at least.
	// What a killed daemon had claimed waits for the rest of that time.
	minLease = 2 * patience
	// farewell is how long a daemon that stops tries to release what it holds,
	// after lastWords.
	farewell = 3 * time.Second
)

// Answers to CheckNow.
var (
	ErrBusy   = errors.New("the site is being looked at just now")
	ErrNotNow = errors.New("the look could not be made just now and is put off")
)

// Fetcher looks at one site; it never fails, whatever happens is an outcome.
type Fetcher interface {
	Look(ctx context.Context, req fetch.Request) fetch.Outcome
}

// Observer is told what happens; it must be quick and safe for concurrent use.
type Observer interface {
	Checked(out fetch.Outcome)  // a look finished
	Changed(c Change)           // a change was recorded
	OwnOutage(on bool)          // the daemon's own network is down, or back
	Recording(failed error)     // an attempt to write failed
	Recorded(results, lost int) // a batch was written
}

// Options of a Daemon. What stands above Observer is needed.
type Options struct {
	Store   Store
	Fetcher Fetcher
	Router  Router
	Judge   *Judge

	Concurrency int           // looks in flight
	PerDomain   int           // looks in flight to one registered domain
	PerAddress  int           // looks in flight to one IP address, as far as it is known before
	Timeout     time.Duration // of a look, as the fetcher keeps it

	Observer  Observer
	Committed func()           // called after changes were recorded, to wake their delivery
	Clock     func() time.Time // the wall clock that all daemons go by; nil is time.Now
	Poll      time.Duration    // how often to ask for due sites; 0 is DefaultPoll
	Log       *slog.Logger
}

// Daemon looks at sites when they are due, for as long as it runs. Any number
// of daemons may share one store.
type Daemon struct {
	opt    Options
	judge  atomic.Pointer[Judge]
	router atomic.Pointer[Router]
	link   link
	urgent chan *task
	lease  time.Duration
	look   time.Duration             // a look is given up after this
	round  atomic.Pointer[time.Time] // when the last one ended; nil before the first

	// What the store said to the last claim and the last recording.
	claiming, recording answer
}

// New makes a daemon that waits to be run.
func New(o Options) (*Daemon, error) {
	switch {
	case o.Store == nil || o.Fetcher == nil || o.Router == nil || o.Judge == nil:
		return nil, errors.New("a daemon needs a store, a fetcher, a router and a judge")
	case o.Concurrency < 1 || o.PerDomain < 1 || o.PerAddress < 1:
		return nil, fmt.Errorf("a daemon needs room for at least one look, not %d in all, %d a domain, %d an address",
			o.Concurrency, o.PerDomain, o.PerAddress)
	case o.Timeout <= 0:
		return nil, fmt.Errorf("a look needs a positive time limit, not %v", o.Timeout)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Committed == nil {
		o.Committed = func() {}
	}
	d := &Daemon{opt: o, urgent: make(chan *task)}
	d.look = 2*o.Timeout + 10*time.Second // a turn at an address may take as long as the look
	d.lease = max(minLease, 4*d.look)
	d.Use(o.Judge, o.Router)
	return d, nil
}

// Use takes other settings from the next look on.
func (d *Daemon) Use(j *Judge, r Router) {
	d.judge.Store(j)
	d.router.Store(&r)
}

// Judge in use.
func (d *Daemon) Judge() *Judge { return d.judge.Load() }

// LastRound is when the store last answered the question for due sites, well
// or not, or there was no room for more; the zero time before the first. While
// the daemon runs that is every second or so.
func (d *Daemon) LastRound() time.Time {
	if at := d.round.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Trouble is why the store gives no due sites or takes no results; nil when it
// did so at the last attempt, or no more sites are wanted just now.
func (d *Daemon) Trouble() error {
	return errors.Join(d.claiming.last(), d.recording.last())
}

// answer is the last one of many.
type answer struct{ err atomic.Pointer[error] }

func (a *answer) note(err error) { a.err.Store(&err) }

func (a *answer) last() error {
	if err := a.err.Load(); err != nil {
		return *err
	}
	return nil
}

// rounded notes the end of a round.
func (d *Daemon) rounded(err error) {
	now := time.Now()
	d.round.Store(&now)
	d.claiming.note(err)
}

// Run looks at sites until the context ends; then it hands back what it
// holds. It returns an error only when that fails.
func (d *Daemon) Run(ctx context.Context) error {
	w := d.startWriter(ctx)
	p := newPool(d, w)
	clock := newSteady(d.opt.Clock)
	d.catchUp(ctx)
	poll := time.NewTimer(0)
	defer poll.Stop()
	var claimed chan claim // while one is under way
	for ctx.Err() == nil {
		p.dispatch(ctx)
		select {
		case <-ctx.Done():
		case t := <-p.done:
			p.finished(t)
		case t := <-d.urgent:
			p.add(t)
		case c := <-claimed:
			claimed = nil
			poll.Reset(d.take(ctx, p, c))
		case <-poll.C:
			if claimed = d.refill(ctx, p, clock); claimed == nil {
				poll.Reset(d.opt.Poll)
			}
		}
	}
	if claimed != nil {
		d.take(ctx, p, <-claimed)
	}
	return d.stop(p, w)
}

// claim is what came of one.
type claim struct {
	asked  time.Time
	room   int
	leases []Lease
	err    error
}

// refill begins to claim due sites if there is room for them; looks go on in
// the meantime.
func (d *Daemon) refill(ctx context.Context, p *pool, clock *steady) chan claim {
	if back := clock.setBack(); back > 0 {
		d.movePlans(ctx, back)
	}
	p.giveUp(ctx)
	room := p.room()
	if room == 0 {
		d.rounded(nil)
		return nil
	}
	claimed := make(chan claim, 1)
	go func() {
		asked := time.Now()
		leases, err := d.opt.Store.Claim(ctx, d.opt.Clock(), room, d.lease)
		claimed <- claim{asked, room, leases, err}
	}()
	return claimed
}

// take puts claimed sites into the pool, and says when to come again.
func (d *Daemon) take(ctx context.Context, p *pool, c claim) time.Duration {
	d.rounded(c.err)
	if c.err != nil {
		if ctx.Err() == nil {
			d.opt.Log.Error("cannot claim due sites", "error", c.err)
		}
		return d.opt.Poll
	}
	for _, l := range c.leases {
		p.add(newTask(l, c.asked))
	}
	if len(c.leases) == c.room {
		return refillEvery
	}
	return d.opt.Poll
}

// catchUp notices that the clock was set back while nobody ran.
func (d *Daemon) catchUp(ctx context.Context) {
	last, err := d.opt.Store.LastLook(ctx)
	if err != nil {
		d.opt.Log.Error("cannot compare the clock with the last look", "error", err)
		return
	}
	if ahead := last.Sub(d.opt.Clock()); ahead >= setBackNotice {
		d.movePlans(ctx, ahead)
	}
}

func (d *Daemon) movePlans(ctx context.Context, back time.Duration) {
	d.opt.Log.Warn("the clock was set back, plans are moved with it", "by", back)
	if err := d.opt.Store.SetBack(ctx, back); err != nil {
		d.opt.Log.Error("cannot move plans", "error", err)
	}
}

// stop waits for the looks in flight, which end with the context, records
// what is finished and releases the rest.
func (d *Daemon) stop(p *pool, w *writer) error {
	p.stopping = true
	w.hurry() // a look may wait for a writer that waits for a store that is away
	for p.inFlight > 0 {
		p.finished(<-p.done)
	}
	w.close()
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if err := d.opt.Store.Release(ctx, p.unused()); err != nil {
		return fmt.Errorf("hand back sites that were not looked at: %w", err)
	}
	return nil
}

// Once looks at each of the origins exactly once, due or not, and returns
// when all results are recorded. Sites that somebody else looks at just now
// are left out and logged.
func (d *Daemon) Once(ctx context.Context, origins []string) error {
	w := d.startWriter(ctx)
	p := newPool(d, w)
	p.patient = true
	for ctx.Err() == nil {
		p.giveUp(ctx)
		origins, p.expired = append(origins, p.expired...), nil
		if n := min(p.room(), len(origins)); n > 0 && n >= min(p.most()/4, len(origins)) {
			if err := d.claimPage(ctx, p, origins[:n]); err != nil {
				return errors.Join(err, d.stop(p, w))
			}
			origins = origins[n:]
			p.dispatch(ctx)
			continue
		}
		p.dispatch(ctx)
		if p.inFlight == 0 { // so nobody waits, unless for a new lease
			if len(p.expired) == 0 {
				break
			}
			continue
		}
		select {
		case <-ctx.Done():
		case t := <-p.done:
			p.finished(t)
		}
	}
	return errors.Join(ctx.Err(), d.stop(p, w))
}

func (d *Daemon) claimPage(ctx context.Context, p *pool, origins []string) error {
	asked := time.Now()
	leases, err := d.opt.Store.ClaimSites(ctx, d.opt.Clock(), origins, d.lease)
	if err != nil {
		return err
	}
	if missing := len(origins) - len(leases); missing > 0 {
		d.opt.Log.Warn("sites are left out: not watched, or being looked at by somebody else", "sites", missing)
	}
	for _, l := range leases {
		p.add(newTask(l, asked))
	}
	return nil
}

// CheckNow looks at a site of a running daemon out of turn and returns when
// the result is recorded: ErrBusy when the site is being looked at or is not
// watched, ErrNotNow when the look had to be put off.
func (d *Daemon) CheckNow(ctx context.Context, origin string) error {
	asked := time.Now()
	leases, err := d.opt.Store.ClaimSites(ctx, d.opt.Clock(), []string{origin}, d.lease)
	if err != nil {
		return err
	}
	if len(leases) == 0 {
		return ErrBusy
	}
	t := newTask(leases[0], asked)
	recorded := make(chan error, 1)
	t.recorded = recorded
	t.urgent = true
	select {
	case d.urgent <- t:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), d.opt.Store.Release(context.WithoutCancel(ctx), leases))
	}
	select {
	case err := <-recorded:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Checked(fetch.Outcome) {}
func (nobody) Changed(Change)        {}
func (nobody) OwnOutage(bool)        {}
func (nobody) Recording(error)       {}
func (nobody) Recorded(int, int)     {}

// steady notices when the wall clock is set back.
type steady struct {
	wall func() time.Time
	seen time.Time // wall clock
	at   time.Time // with the reading of the monotonic clock
}

// setBackNotice is the smallest step back worth acting on.
const setBackNotice = 2 * time.Second

func newSteady(wall func() time.Time) *steady {
	return &steady{wall: wall, seen: wall().Round(0), at: time.Now()}
}

// setBack gives by how much the wall clock went back since the last call.
func (s *steady) setBack() time.Duration {
	passed := time.Since(s.at)
	now := s.wall().Round(0)
	back := s.seen.Add(passed).Sub(now)
	s.seen, s.at = now, time.Now()
	if back < setBackNotice {
		return 0
	}
	return back
}
