package main

import (
	"context"
	"time"
)

// adoptPatience is how long a start waits for the store to follow the
// configuration. A million new sites take longer than whoever started the
// daemon can wait; looks at those that are in the store need not wait either.
const adoptPatience = time.Second

// loading is the first configuration on its way into the store.
type loading struct {
	stop context.CancelFunc
	done chan struct{}
	err  error // what ended it, once done is closed
}

func (d *daemon) startLoading(ctx context.Context, e *engine) *loading {
	ctx, stop := context.WithCancel(ctx)
	l := &loading{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.err = e.adopt(ctx, d.store, d.log)
	}()
	return l
}

// wait waits for the end, but not for longer than patience; then ended is
// false.
func (l *loading) wait(patience time.Duration) (ended bool, err error) {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	select {
	case <-l.done:
		return true, l.err
	case <-enough.C:
		return false, nil
	}
}

// ended is closed when it has come to an end; never for none.
func (l *loading) ended() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.done
}

// await waits for the end, if there is one to wait for.
func (l *loading) await(ctx context.Context) error {
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end stops it where it is. The next start goes on from there.
func (l *loading) end() {
	l.stop()
	<-l.done
}
