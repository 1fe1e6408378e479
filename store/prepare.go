package store

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// outcome is a result prepared for its statements.
type outcome struct {
	*watcher.Result
	memory   string
	packed   []byte // of the body
	evidence []byte
	digest   watcher.Hash   // of the observation's record
	before   evidence.Mark  // of the open run
	changes  []packedChange // of Changes
	from, to standing
	kept     bool // the lease held
}

// quiet reports whether the look found what was there, so that the site
// stands where it stood. An unreachable one may have aged.
func (o *outcome) quiet() bool {
	was, is := &o.Lease.Site, &o.Site
	return o.Observation == nil && len(o.Changes) == 0 && was.State == is.State && is.State != fetch.Unreachable &&
		!was.Memory.Tentative && !is.Memory.Tentative && was.Unstable() == is.Unstable() && was.Body == is.Body &&
		was.Memory.Watch == is.Memory.Watch && slices.Equal(was.Profile, is.Profile) && slices.Equal(was.Signals, is.Signals)
}

// moved reports whether the site stands elsewhere, or other bytes.
func (o *outcome) moved() bool {
	return o.Observation != nil || o.from != o.to || o.Lease.Site.Body != o.Site.Body
}

// prepare does outside of the transaction, and on all processors, what needs
// no database. The batch is in order of sites.
func prepare(results []watcher.Result) ([]outcome, error) {
	batch := make([]outcome, len(results))
	for i := range results {
		batch[i].Result = &results[i]
	}
	slices.SortFunc(batch, func(a, b outcome) int { return cmp.Compare(a.Lease.Site.ID, b.Lease.Site.ID) })
	return batch, inParts(len(batch), func(i int) error { return batch[i].prepare() })
}

func (o *outcome) prepare() (err error) {
	if o.memory, err = packMemory(&o.Site); err != nil {
		return err
	}
	if o.Body != nil {
		o.packed = packBody(o.Body)
	}
	if o.Observation != nil {
		if o.evidence, err = packEvidence(o.Site.Origin, o.Observation.Evidence); err != nil {
			return fmt.Errorf("evidence of %s: %w", o.Site.Origin, err)
		}
		o.digest = evidence.Digest(evidence.RecordOf(o.Site.Origin, o.Observation).Text())
	}
	if len(o.Changes) == 0 {
		return nil
	}
	o.changes = make([]packedChange, len(o.Changes))
	for i := range o.Changes {
		if o.changes[i], err = packChange(&o.Changes[i].Change); err != nil {
			return err
		}
	}
	return nil
}

// partSize is how many things are worth a goroutine.
const partSize = 32

// inParts does something for each of n, side by side when there are many.
func inParts(n int, do func(i int) error) error {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/partSize))
	errs := make([]error, parts)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() {
			for i := p * n / parts; i < (p+1)*n/parts && errs[p] == nil; i++ {
				errs[p] = do(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
