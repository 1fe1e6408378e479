package watcher

import (
	"context"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/net/publicsuffix"
)

const (
	// refillEvery is the pause before the next claim when the last one was full.
	refillEvery = 100 * time.Millisecond
	// minWaiting is how many claimed sites may wait for a look at least.
	minWaiting = 1024
	// patience is how long a site waits for its turn at a crowded host before
	// it makes room for others.
	patience = time.Minute
	// whileDown is how many looks are in flight while our own network is down.
	whileDown = 8
	// attempts is how often a look that ended for a reason of our own is
	// repeated within Once.
	attempts = 3
)

// task is one claimed site on its way to a look.
type task struct {
	lease    Lease
	token    atomic.Int64 // of the lease, or of the one that replaced it
	domain   string       // registered domain, "" for an IP address
	address  string       // IP address that answered last, "" when there was none
	since    time.Time    // when it was claimed, or before
	urgent   bool
	tries    int
	unused   bool       // the look never happened
	recorded chan error // told when the result is recorded; nil for nobody
}

// newTask takes the time at which the claim was asked for: its answer may come
// long after the lease began, and after its end where this process stood still.
func newTask(l Lease, asked time.Time) *task {
	t := &task{lease: l, domain: domainOf(l.Site.Origin), address: l.Site.Memory.Address, since: asked}
	if _, err := netip.ParseAddr(t.domain); err == nil {
		t.domain, t.address = "", t.domain
	}
	t.token.Store(l.Token)
	return t
}

// current is the lease as it is now.
func (t *task) current() Lease { return Lease{Site: t.lease.Site, Token: t.token.Load()} }

// domainOf gives the registered domain of an origin ("example.co.uk"), or its
// IP address.
func domainOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// pool keeps looks in flight, as many as allowed, and never more than allowed
// to one party. It belongs to one goroutine.
type pool struct {
	d        *Daemon
	writer   *writer
	waiting  []*task // oldest due first
	held     map[int64]*task
	returned []Lease  // to be released
	expired  []string // origins that waited until their lease ran out; kept for whoever is patient
	domains  counter
	hosts    counter // by address
	inFlight int
	patient  bool // nobody else waits to be claimed
	stopping bool
	done     chan *task
}

func newPool(d *Daemon, w *writer) *pool {
	return &pool{d: d, writer: w, domains: counter{}, hosts: counter{}, held: make(map[int64]*task), done: make(chan *task, d.opt.Concurrency)}
}

// add takes a claimed site. One that is held already was claimed anew because
// its lease ran out, as after a leap of the clock: it goes on under the new
// lease, so that no site is looked at twice at once.
func (p *pool) add(t *task) {
	if old := p.held[t.lease.Site.ID]; old != nil {
		old.token.Store(t.lease.Token)
		t.tell(ErrBusy)
		return
	}
	p.held[t.lease.Site.ID] = t
	if t.urgent {
		p.waiting = append([]*task{t}, p.waiting...)
		return
	}
	p.waiting = append(p.waiting, t)
}

// most is how many sites may be claimed at once.
func (p *pool) most() int {
	if p.d.link.isDown() {
		return whileDown
	}
	return max(minWaiting, 2*p.d.opt.Concurrency)
}

// room is how many more sites may be claimed.
func (p *pool) room() int { return max(0, p.most()-len(p.waiting)-p.inFlight) }

// dispatch starts what may start.
func (p *pool) dispatch(ctx context.Context) {
	slots := p.d.opt.Concurrency
	if p.d.link.isDown() {
		slots = min(slots, whileDown)
	}
	kept := p.waiting[:0]
	for i, t := range p.waiting {
		if p.inFlight >= slots {
			kept = append(kept, p.waiting[i:]...)
			break
		}
		if time.Since(t.since) > p.d.lease-p.d.look {
			p.drop(t) // the lease would run out during the look
			continue
		}
		if !p.free(t) {
			kept = append(kept, t)
			continue
		}
		p.enter(t, 1)
		go func() {
			p.d.perform(ctx, t, p.writer)
			p.done <- t
		}()
	}
	clear(p.waiting[len(kept):])
	p.waiting = kept
}

// drop forgets a site whose lease is about to run out; it is due again then.
// Who is patient gives it back at once and claims it anew.
func (p *pool) drop(t *task) {
	delete(p.held, t.lease.Site.ID)
	if p.patient {
		p.expired = append(p.expired, t.lease.Site.Origin)
		p.returned = append(p.returned, t.current())
	}
	t.tell(ErrNotNow)
}

func (p *pool) free(t *task) bool {
	return p.domains[t.domain] < p.d.opt.PerDomain && p.hosts[t.address] < p.d.opt.PerAddress
}

func (p *pool) enter(t *task, n int) {
	p.inFlight += n
	p.domains.add(t.domain, n)
	p.hosts.add(t.address, n)
}

// counter counts by name; what has none is not counted.
type counter map[string]int

func (c counter) add(name string, n int) {
	if name == "" {
		return
	}
	if c[name] += n; c[name] == 0 {
		delete(c, name)
	}
}

// finished takes a task back whose look has ended.
func (p *pool) finished(t *task) {
	p.enter(t, -1)
	delete(p.held, t.lease.Site.ID)
	if !t.unused {
		return
	}
	t.tries++
	if p.patient && t.tries < attempts {
		t.unused = false
		p.add(t)
		return
	}
	if p.stopping || !p.writer.offer(p.d.putOff(t, t.lease.Site, patience)) {
		p.returned = append(p.returned, t.current())
		t.tell(ErrNotNow)
	}
}

// giveUp hands back what was not used, and puts off sites that wait long for
// crowded hosts, when nobody else could be claimed for their sake.
func (p *pool) giveUp(ctx context.Context) {
	if len(p.returned) > 0 {
		if err := p.d.opt.Store.Release(ctx, p.returned); err == nil {
			p.returned = nil
		}
	}
	if p.patient || p.room() > 0 {
		return
	}
	kept := p.waiting[:0]
	for _, t := range p.waiting {
		if time.Since(t.since) >= patience && p.writer.offer(p.d.putOff(t, t.lease.Site, patience)) {
			delete(p.held, t.lease.Site.ID)
		} else {
			kept = append(kept, t)
		}
	}
	clear(p.waiting[len(kept):])
	p.waiting = kept
}

// unused gives all leases that were not looked at.
func (p *pool) unused() []Lease {
	for _, t := range p.waiting {
		p.returned = append(p.returned, t.current())
		t.tell(ErrNotNow)
	}
	p.waiting = nil
	return p.returned
}

func (t *task) tell(err error) {
	if t.recorded != nil {
		t.recorded <- err
		t.recorded = nil
	}
}
