package watcher

import (
	"context"
	"time"
)

const (
	// batchSize results at most are one transaction.
	batchSize = 256
	// batchWait is how long a result waits for others.
	batchWait = 100 * time.Millisecond
	// firstRetry and lastRetry bound the pauses after a failed transaction.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 15 * time.Second
	// lastWords is how long recording is tried after the daemon was asked to
	// stop.
	lastWords = 5 * time.Second
	// oneByOneAfter failures a batch is written result by result, to find one
	// that cannot be written.
	oneByOneAfter = 4
)

// written is a result on its way to the store.
type written struct {
	task   *task
	result Result
	err    error // what whoever waits for the look is told when this is recorded
}

// writer records results in batches, one transaction at a time.
type writer struct {
	d    *Daemon
	in   chan written
	done chan struct{}
	stop chan struct{} // closed when the daemon stops: no more long pauses
	end  func()        // no more attempts

	batch []written // being gathered or recorded; its room is used again
}

func (d *Daemon) startWriter(ctx context.Context) *writer {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	w := &writer{d: d, in: make(chan written, batchSize), done: make(chan struct{}), stop: make(chan struct{}), end: end}
	go w.run(ctx)
	return w
}

// put waits for room: a store that does not keep up slows the looks down.
func (w *writer) put(r written) { w.in <- r }

// offer does not wait, and reports whether there was room.
func (w *writer) offer(r written) bool {
	select {
	case w.in <- r:
		return true
	default:
		return false
	}
}

// hurry ends endless retries: what cannot be recorded soon is dropped.
func (w *writer) hurry() {
	close(w.stop)
	time.AfterFunc(lastWords, w.end)
}

// close waits until everything is recorded or dropped, a limited time after
// hurry. Nothing may be put any more.
func (w *writer) close() {
	close(w.in)
	<-w.done
	w.end()
}

func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	for {
		first, ok := <-w.in
		if !ok {
			return
		}
		w.gather(first)
		w.record(ctx, w.batch)
		clear(w.batch[:cap(w.batch)])
	}
}

// gather collects what arrives within batchWait.
func (w *writer) gather(first written) {
	w.batch = append(w.batch[:0], first)
	timer := time.NewTimer(batchWait)
	defer timer.Stop()
	for len(w.batch) < batchSize {
		select {
		case r, ok := <-w.in:
			if !ok {
				return
			}
			w.batch = append(w.batch, r)
		case <-timer.C:
			return
		}
	}
}

// record writes a batch, again and again until it is written. Only when the
// daemon stops does it give up, and then the sites are due again.
func (w *writer) record(ctx context.Context, batch []written) {
	pause, stop := firstRetry, w.stop
	for failures := 1; ; failures++ {
		err := w.try(ctx, batch)
		w.d.recording.note(err)
		if err == nil {
			return
		}
		w.d.opt.Observer.Recording(err)
		w.d.opt.Log.Error("cannot record results", "results", len(batch), "failures", failures, "error", err)
		if failures%oneByOneAfter == 0 {
			if batch = w.oneByOne(ctx, batch); len(batch) == 0 {
				w.d.recording.note(nil)
				return
			}
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, lastRetry)
		case <-stop:
			stop, pause = nil, firstRetry
		case <-ctx.Done():
			w.drop(batch, err)
			return
		}
	}
}

// oneByOne separates what cannot be recorded from the rest. As long as
// nothing can, the store is to blame, and all is kept.
func (w *writer) oneByOne(ctx context.Context, batch []written) (left []written) {
	if len(batch) == 1 {
		return batch
	}
	var last error
	for _, r := range batch {
		if err := w.try(ctx, []written{r}); err != nil {
			left, last = append(left, r), err
		}
	}
	if len(left) < len(batch) {
		w.drop(left, last)
		return nil
	}
	return left
}

// drop forgets results; their leases run out and the sites are due again.
func (w *writer) drop(batch []written, err error) {
	for _, r := range batch {
		w.d.opt.Log.Error("a result is dropped, the site will be looked at again", "site", r.result.Site.Origin, "error", err)
		r.task.tell(err)
	}
}

func (w *writer) try(ctx context.Context, batch []written) error {
	results := make([]Result, len(batch))
	latest := w.d.opt.Clock().Add(maxPlan).UTC() // the clock may have been set back since the look
	for i, r := range batch {
		results[i] = r.result
		if results[i].Site.NextCheckAt.After(latest) {
			results[i].Site.NextCheckAt = latest
		}
	}
	lost, err := w.d.opt.Store.Record(ctx, results)
	if err != nil {
		return err
	}
	w.d.opt.Observer.Recorded(len(batch)-lost, lost)
	if lost > 0 {
		w.d.opt.Log.Warn("results came too late and were dropped", "results", lost)
	}
	told := false
	for _, r := range batch {
		for _, c := range r.result.Changes {
			w.d.opt.Observer.Changed(c.Change)
			told = true
		}
		r.task.tell(r.err)
	}
	if told {
		w.d.opt.Committed()
	}
	return nil
}
