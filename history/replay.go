package history

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"github.com/robotswatch/robotswatch/watcher"
)

// Records is what a replay needs of storage.
type Records interface {
	watcher.Bodies
	// WalkRecords walks all sites of which something was seen, in order of
	// origin, from after one on; origin limits it to one site.
	WalkRecords(ctx context.Context, origin, after string) iter.Seq2[Record, error]
	// Correct makes the changes of sites those that are told now, in one
	// transaction. Nothing is delivered.
	Correct(ctx context.Context, sites []*Retelling) error
}

// ReplayOptions are those of Replay.
type ReplayOptions struct {
	Judge  *watcher.Judge
	Store  Records
	Origin string                 // only this site; "" all
	Write  bool                   // record what differs
	Tell   func(*Retelling) error // each site that differs, in order; after it was recorded
	Done   func(sites int)        // from time to time: how many were replayed
}

// Replayed counts what a replay found.
type Replayed struct {
	Sites     int // replayed
	Differ    int // of those
	Told      int // changes that are as they would be told
	Missing   int
	Different int
	Extra     int
	Failed    int // sites that could not be replayed
}

// Differences is how many changes differ.
func (n *Replayed) Differences() int { return n.Missing + n.Different + n.Extra }

// replayBatch is how many sites are replayed side by side and corrected in one
// transaction.
const replayBatch = 64

// Replay tells the changes of all sites again, from what was seen of them, and
// compares them with those that are stored. It may be run again at any time:
// what was recorded does not differ any more.
func Replay(ctx context.Context, o ReplayOptions) (n Replayed, err error) {
	t := &reteller{deriver: deriver{judge: o.Judge, bodies: o.Store, gap: DefaultGap}}
	batch := make([]Record, 0, replayBatch)
	flush := func() error {
		found, err := t.retellAll(ctx, batch)
		if err != nil {
			return err
		}
		return o.take(ctx, &n, found)
	}
	for rec, err := range o.Store.WalkRecords(ctx, o.Origin, "") {
		if err != nil {
			return n, fmt.Errorf("replay: %w", err)
		}
		if batch = append(batch, rec); len(batch) < replayBatch {
			continue
		}
		if err := flush(); err != nil {
			return n, fmt.Errorf("replay: %w", err)
		}
		clear(batch)
		batch = batch[:0]
	}
	if err := flush(); err != nil {
		return n, fmt.Errorf("replay: %w", err)
	}
	return n, nil
}

// take counts, records and passes on what was found.
func (o *ReplayOptions) take(ctx context.Context, n *Replayed, found []*Retelling) error {
	var differ, wrong []*Retelling
	for _, r := range found {
		n.Sites++
		n.Told += r.Told
		if r.Same() {
			continue
		}
		differ = append(differ, r)
		if r.Failed != nil {
			n.Failed++
			continue
		}
		wrong = append(wrong, r)
		n.Differ++
		n.Missing += len(r.Missing)
		n.Different += len(r.Different)
		n.Extra += len(r.Extra)
	}
	if o.Write && len(wrong) > 0 {
		if err := o.Store.Correct(ctx, wrong); err != nil {
			return err
		}
	}
	for _, r := range differ {
		if err := o.Tell(r); err != nil {
			return err
		}
	}
	o.Done(n.Sites)
	return nil
}

// retellAll retells sites side by side. One that cannot be read does not keep
// the others from it.
func (t *reteller) retellAll(ctx context.Context, batch []Record) ([]*Retelling, error) {
	found := make([]*Retelling, len(batch))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				r, err := t.retell(ctx, batch[i])
				if err != nil {
					r = &Retelling{Origin: batch[i].Config.Origin, Failed: err}
				}
				found[i] = r
			}
		})
	}
	for i := range batch {
		next <- i
	}
	close(next)
	wg.Wait()
	return found, ctx.Err()
}
