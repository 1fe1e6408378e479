package history

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/watcher"
)

// Store is what a backfill needs of storage.
type Store interface {
	watcher.Bodies
	// Past gives what is known of sites, in their order; of one that was never
	// heard of the origin alone.
	Past(ctx context.Context, origins []string) ([]Past, error)
	// Rewrite records sites in one transaction. One that is not configured
	// becomes inactive. Nothing is delivered.
	Rewrite(ctx context.Context, sites []*Rewrite) error
	// Compact is asked for once at the end, when so many changes were recorded: it
	// may put in order what came out of order.
	Compact(ctx context.Context, changes int64) error
}

// Phase of a backfill.
type Phase string

const (
	Reading Phase = "reading" // Done and Total are octets
	Judging Phase = "judging" // Done and Total are captures
)

// Progress of a backfill.
type Progress struct {
	Phase       Phase
	Done, Total int64 // Total is 0 when it is not known
	Captures    int64 // read so far
}

// Summary counts what a backfill did.
type Summary struct {
	Captures   int64 // read
	Bad        int64 // could not be used
	Redirects  int64 // say nothing: what they lead to was captured elsewhere, if at all
	Unresolved int64 // revisits of something that is not in the input
	Repeated   int64 // at the time of another capture of the site
	Watched    int64 // at a time that was watched live, which counts more
	New        int64 // told something new
	Sites      int64
	Rewritten  int64 // sites of which something new was told
	Runs       int64 // of answers, of those sites
	Changes    int64 // of those sites
	Untidy     error // why the store was not put in order; everything is recorded all the same
}

// Options of Run.
type Options struct {
	Judge    *watcher.Judge
	Store    Store
	Origin   func(string) (string, error) // the one form of a site
	Gap      time.Duration                // 0: DefaultGap
	MaxBytes int64                        // of a body
	TempDir  string                       // "" is the system's
	Bad      func(Bad)
	Progress func(Progress)
}

// Run brings a source into the store. It may be run again at any time.
func Run(ctx context.Context, source Source, o Options) (sum Summary, err error) {
	if o.Gap == 0 {
		o.Gap = DefaultGap
	}
	s, err := newSpill(o.TempDir, source.Size())
	if err != nil {
		return sum, fmt.Errorf("backfill: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r := run{Options: o, spill: s, sum: &sum, captures: fetch.NewCaptures(o.MaxBytes), origins: make(map[string]string)}
	if err := r.read(ctx, source); err != nil {
		return sum, fmt.Errorf("backfill: %w", err)
	}
	if err := r.write(ctx); err != nil {
		return sum, fmt.Errorf("backfill: %w", err)
	}
	if sum.Rewritten > 0 {
		sum.Untidy = o.Store.Compact(ctx, sum.Changes)
	}
	return sum, nil
}

type run struct {
	Options
	spill    *spill
	sum      *Summary
	captures *fetch.Captures
	origins  map[string]string // as written -> the one form
	octets   int64
	judged   int64
}

// knownOrigins bounds run.origins.
const knownOrigins = 50_000

// read spills what the source has.
func (r *run) read(ctx context.Context, source Source) error {
	return source.Read(ctx, r.take, r.bad, func(n int) {
		r.octets += int64(n)
		r.Progress(Progress{Phase: Reading, Done: r.octets, Total: source.Size(), Captures: r.sum.Captures})
	})
}

// maxBad is how much is said of one thing that is wrong, in characters: some of
// it is repeated from an archive.
const maxBad = 500

func (r *run) bad(b Bad) {
	r.sum.Bad++
	b.What = visible.Short(b.What, maxBad)
	r.Bad(b)
}

// earliest is a time before which there was no robots.txt.
var earliest = time.Date(1994, 1, 1, 0, 0, 0, 0, time.UTC)

func (r *run) take(c Capture) error {
	r.sum.Captures++
	origin, err := r.origin(c.Origin)
	if err != nil {
		r.bad(Bad{c.Where, "site: " + err.Error()})
		return nil
	}
	c.Origin = origin
	c.At = c.At.UTC().Truncate(time.Millisecond)
	if now := time.Now(); c.At.Before(earliest) || c.At.After(now) {
		r.bad(Bad{c.Where, fmt.Sprintf("time %s: want one between 1994 and now", c.At.Format(time.RFC3339))})
		return nil
	}
	l := look{site: origin, digest: c.Digest, revisit: c.Revisit, out: fetch.Outcome{At: c.At}}
	if !c.Revisit {
		l.out, err = r.captures.Outcome(c.Capture)
	}
	switch {
	case errors.Is(err, fetch.ErrRedirect):
		r.sum.Redirects++
		return nil
	case err != nil:
		r.bad(Bad{c.Where, err.Error()})
		return nil
	}
	if l.out.State == fetch.Policy {
		l.hash = sha256.Sum256(l.out.Body)
	}
	return r.spill.add(&l)
}

func (r *run) origin(written string) (string, error) {
	if origin, ok := r.origins[written]; ok {
		return origin, nil
	}
	origin, err := r.Origin(written)
	if err != nil {
		return "", err
	}
	if len(r.origins) >= knownOrigins {
		clear(r.origins)
	}
	r.origins[written] = origin
	return origin, nil
}

// batchSites is how many sites are judged together and recorded in one
// transaction.
const batchSites = 200

// write judges partition by partition. While one batch is recorded the next
// one is judged.
func (r *run) write(ctx context.Context) (err error) {
	d := &deriver{judge: r.Judge, bodies: r.Store, gap: r.Gap}
	var recording sync.WaitGroup
	var failed error // of the recording under way
	flush := func() error {
		recording.Wait()
		return failed
	}
	defer func() { err = errors.Join(err, flush()) }()
	return r.spill.each(ctx, func(sites []siteLooks) error {
		for batch := range slices.Chunk(sites, batchSites) {
			rewrites, err := r.judgeBatch(ctx, d, batch)
			if err != nil {
				return err
			}
			if err := flush(); err != nil {
				failed = nil
				return err
			}
			if len(rewrites) > 0 {
				recording.Go(func() { failed = r.Store.Rewrite(ctx, rewrites) })
			}
			r.Progress(Progress{Phase: Judging, Done: r.judged, Total: r.spill.looks, Captures: r.sum.Captures})
		}
		return nil
	})
}

// judgeBatch judges sites side by side.
func (r *run) judgeBatch(ctx context.Context, d *deriver, batch []siteLooks) ([]*Rewrite, error) {
	origins := make([]string, len(batch))
	for i := range batch {
		origins[i] = batch[i].site
	}
	pasts, err := r.Store.Past(ctx, origins)
	if err != nil {
		return nil, err
	}
	rewrites := make([]*Rewrite, len(batch))
	counts := make([]derived, len(batch))
	errs := make([]error, len(batch))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				rewrites[i], counts[i], errs[i] = d.derive(ctx, pasts[i], batch[i].looks)
			}
		})
	}
	for i := range batch {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, n := range counts {
		r.judged += int64(len(batch[i].looks))
		r.sum.add(n, rewrites[i])
	}
	return slices.DeleteFunc(rewrites, func(w *Rewrite) bool { return w == nil }), nil
}

func (s *Summary) add(n derived, w *Rewrite) {
	s.Sites++
	s.Repeated += int64(n.repeated)
	s.Unresolved += int64(n.unresolved)
	s.Watched += int64(n.covered)
	s.New += int64(n.fresh)
	if w != nil {
		s.Rewritten++
		s.Runs += int64(len(w.Runs))
		s.Changes += int64(len(w.Changes))
	}
}
