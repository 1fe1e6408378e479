package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

// Dispatcher brings what is in the outbox to its receivers: one worker a
// receiver, so that a slow or dead one delays no other. Make a new one when
// the configuration changes.
type Dispatcher struct {
	outbox  Outbox
	workers []*worker
	names   []string
	holding []string // those of them that hold changes back on purpose
	metrics *Metrics
	log     *slog.Logger
}

// Options of a Dispatcher.
type Options struct {
	// Owner of leases: equal for processes that cannot run at the same time on
	// one store, so that a restart need not wait for the lease of its
	// predecessor to run out; otherwise unique to the process.
	Owner string
	// Links makes the addresses in messages.
	Links   Links
	Router  *Router      // tells what a receiver asked for
	Totals  TotalsSource // what digests tell of the state of things; nil leaves it out
	Metrics *Metrics     // nil counts nothing
	Log     *slog.Logger
}

// Target is a receiver and the way to reach it.
type Target struct {
	Config ReceiverConfig
	Sender Sender
}

// NewDispatcher makes the workers; Run starts them.
func NewDispatcher(outbox Outbox, targets []Target, o Options) (*Dispatcher, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Router == nil {
		return nil, errors.New("a dispatcher needs the router")
	}
	d := &Dispatcher{outbox: outbox, metrics: o.Metrics, log: o.Log}
	for _, t := range targets {
		c := t.Config
		if c.MaxAge == 0 {
			c.MaxAge = DefaultMaxAge
		}
		if c.Timeout == 0 {
			c.Timeout = DefaultTimeout
		}
		w := &worker{
			cfg: c, sender: t.Sender, outbox: outbox, owner: o.Owner,
			links: o.Links, router: o.Router, totals: o.Totals, metrics: o.Metrics,
			log:  o.Log.With("receiver", c.Name),
			poke: make(chan struct{}, 1),
		}
		if c.Mode == Digest {
			s, err := cron.ParseStandard(c.Digest)
			if err != nil {
				return nil, fmt.Errorf("receiver %q: digest schedule %q: %w", c.Name, c.Digest, err)
			}
			w.digest = s
		}
		d.workers = append(d.workers, w)
		d.names = append(d.names, c.Name)
		if c.holds() {
			d.holding = append(d.holding, c.Name)
		}
	}
	return d, nil
}

// Poke wakes the workers: something may have got into the outbox. It never
// blocks.
func (d *Dispatcher) Poke() {
	for _, w := range d.workers {
		select {
		case w.poke <- struct{}{}:
		default:
		}
	}
}

// Run delivers until the context ends; a send that is under way then has five
// seconds to finish, or will be repeated by the next run.
func (d *Dispatcher) Run(ctx context.Context) error {
	for failures := 1; ; failures++ {
		err := d.begin(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		d.log.Error("cannot begin to deliver, will try again", "error", err)
		sleep(ctx, backoff(failures))
	}
	var wg sync.WaitGroup
	for _, w := range d.workers {
		wg.Go(func() { w.run(ctx) })
	}
	wg.Wait()
	return nil
}

// begin makes outbox and metrics follow the receivers.
func (d *Dispatcher) begin(ctx context.Context) error {
	d.metrics.Receivers(d.names, d.holding)
	if err := d.outbox.Sync(ctx, d.names, time.Now()); err != nil {
		return fmt.Errorf("tell the outbox its receivers: %w", err)
	}
	return nil
}

// Drain delivers what is in the outbox now without waiting for more to come
// together, and returns when each receiver has got everything, or has failed
// once, or the context ends. Held messages (digests, quiet hours) stay.
func (d *Dispatcher) Drain(ctx context.Context) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, w := range d.workers {
		wg.Go(func() { w.drain(ctx) })
	}
	wg.Wait()
	return ctx.Err()
}
