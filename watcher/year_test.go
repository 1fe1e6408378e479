package watcher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/sizes"
)

// TestVirtualYear runs a daemon through random schedules, faults, slow
// servers, Retry-After, restarts, crashes, long stops, clocks that jump both
// ways, and outages of its own network, and watches three promises: no gap of
// more than 24 hours between two finished looks while it runs, never two
// looks at one site at once, never more at once to one party than allowed.
// ROBOTSWATCH_YEAR_DAYS and ROBOTSWATCH_YEAR_SITES set the size.
func TestVirtualYear(t *testing.T) {
	days, sites := sizes.Of(t, "ROBOTSWATCH_YEAR_DAYS", 40, 12), sizes.Of(t, "ROBOTSWATCH_YEAR_SITES", 60, 20)
	synctest.Test(t, func(t *testing.T) {
		y := newYear(t, days, sites)
		y.live()
		y.check()
	})
}

// span of real time.
type span struct{ from, to time.Time }

// year is the world that the daemon lives in.
type year struct {
	t     *testing.T
	rand  *rand.Rand
	store *memStore
	web   *fakeWeb
	start time.Time
	end   time.Time

	mu       sync.Mutex
	offset   time.Duration          // of the wall clock
	offline  bool                   // our own network is down
	excused  []span                 // times that the promise does not cover
	finished map[string][]time.Time // real times of recorded looks
	crashes  int
	jumps    int
}

var yearSchedules = []string{
	"@every 24h", "@every 6h", "@every 1h", "@every 23h59m", "0 */6 * * *", "17 3 * * *", "@daily",
	"CRON_TZ=Europe/Berlin 30 2 * * *", "CRON_TZ=America/New_York 0 9 * * *", "CRON_TZ=Australia/Lord_Howe 0,30 1 * * *",
}

func newYear(t *testing.T, days, sites int) *year {
	y := &year{t: t, rand: rand.New(rand.NewPCG(24, uint64(days))), start: time.Now(), finished: map[string][]time.Time{}}
	y.end = y.start.Add(time.Duration(days) * 24 * time.Hour)
	var list []Site
	for i := range sites {
		host := fmt.Sprintf("site%d.example", i)
		if i%3 == 0 {
			host = fmt.Sprintf("site%d.crowded.example", i) // a third of them belong together
		}
		c := SiteConfig{Origin: "https://" + host, Schedule: yearSchedules[i%len(yearSchedules)]}
		list = append(list, Site{Origin: c.Origin, Config: c, State: fetch.Pending})
	}
	y.store = newMemStore(list...)
	y.web = newFakeWeb(y.answer)
	y.web.clock = y.clock
	y.web.takes = y.takes
	return y
}

func (y *year) clock() time.Time {
	y.mu.Lock()
	defer y.mu.Unlock()
	return time.Now().Add(y.offset)
}

// takes is called for every look: mostly quick, at times as slow as can be.
func (y *year) takes(string) time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch x := y.rand.IntN(100); {
	case x < 3:
		return 60 * time.Second
	case x < 10:
		return time.Duration(y.rand.Int64N(int64(30 * time.Second)))
	}
	return time.Duration(50+y.rand.IntN(1000)) * time.Millisecond
}

// answer is made when a look finishes.
func (y *year) answer(origin string, _ time.Time) fetch.Outcome {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.offline {
		return fetch.Outcome{State: fetch.Unreachable, Reason: fetch.DNSTimeout}
	}
	switch x := y.rand.IntN(100); {
	case x < 4:
		return fetch.Outcome{State: fetch.Unreachable, Reason: fetch.Timeout}
	case x < 8:
		return fetch.Outcome{State: fetch.Unreachable, Reason: "http_503", Status: 503, RetryAfter: time.Duration(y.rand.Int64N(int64(100 * time.Hour)))}
	case x < 9:
		return fetch.Outcome{State: fetch.Absent, Reason: "http_404", Status: 404}
	case x < 10:
		return fetch.Outcome{State: fetch.Denied, Reason: "http_403", Status: 403, RetryAfter: 30 * 24 * time.Hour}
	case x < 12:
		return policyAnswer(fmt.Sprintf("User-agent: *\nDisallow: /%d\n", y.rand.IntN(5)))
	}
	return policyAnswer(openToAll)
}

// live lets the daemon run until the year is over, with what happens to it.
func (y *year) live() {
	for time.Now().Before(y.end) {
		ctx, cancel := context.WithCancel(y.t.Context())
		store := &crashing{memStore: y.store, year: y}
		d := testDaemon(y.t, store, y.web, "@every 24h", func(o *Options) {
			o.Clock, o.Poll, o.Concurrency, o.PerDomain = y.clock, 10*time.Second, 6, 2
		})
		stopped := make(chan error)
		go func() { stopped <- d.Run(ctx) }()
		for range 1 + y.draw(12) {
			time.Sleep(y.upTo(40 * time.Hour))
			y.happen()
		}
		time.Sleep(time.Minute) // the daemon has to live long enough to see the clock leap
		crash := y.draw(3) == 0
		if crash {
			y.crashes++
			store.crash()
		}
		down := time.Now()
		cancel()
		if err := <-stopped; err != nil && !crash {
			y.t.Errorf("Run ended with %v", err)
		}
		switch y.draw(4) {
		case 0:
			time.Sleep(y.upTo(50 * time.Hour))
		default:
			time.Sleep(y.upTo(5 * time.Minute))
		}
		y.excuse(span{down, time.Now()})
	}
}

func (y *year) draw(n int) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.rand.IntN(n)
}

func (y *year) upTo(d time.Duration) time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	return time.Duration(y.rand.Int64N(int64(d)))
}

func (y *year) excuse(s span) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.excused = append(y.excused, s)
}

// happen changes the world while the daemon runs.
func (y *year) happen() {
	switch y.draw(6) {
	case 0: // the clock jumps by up to two days, either way
		jump := y.upTo(96*time.Hour) - 48*time.Hour
		y.mu.Lock()
		y.offset += jump
		y.jumps++
		y.mu.Unlock()
	case 1: // it is put right
		y.mu.Lock()
		y.offset = 0
		y.jumps++
		y.mu.Unlock()
	case 2: // our own network is down
		from := time.Now()
		y.setOffline(true)
		time.Sleep(y.upTo(20 * time.Hour))
		y.setOffline(false)
		y.excuse(span{from, time.Now()})
	}
}

func (y *year) setOffline(on bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.offline = on
}

// check measures the gaps between looks, times without promise taken out.
func (y *year) check() {
	looks, longest := 0, time.Duration(0)
	for origin, times := range y.finished {
		if !slices.IsSortedFunc(times, time.Time.Compare) {
			y.t.Fatalf("%s: looks out of order", origin)
		}
		looks += len(times)
		for i, at := range times {
			from := y.start
			if i > 0 {
				from = times[i-1]
			}
			gap := at.Sub(from) - y.excusedIn(span{from, at})
			longest = max(longest, gap)
			if gap > 24*time.Hour {
				y.t.Errorf("%s: %v without a look until %v", origin, gap, at.Sub(y.start))
			}
		}
		if last := times[len(times)-1]; y.end.Sub(last)-y.excusedIn(span{last, y.end}) > 24*time.Hour {
			y.t.Errorf("%s: no look any more after %v", origin, last.Sub(y.start))
		}
	}
	if len(y.finished) != len(y.store.sites) {
		y.t.Errorf("%d of %d sites were looked at", len(y.finished), len(y.store.sites))
	}
	if y.web.overlap > 0 {
		y.t.Errorf("%d times two looks at one site at once", y.web.overlap)
	}
	for host, n := range y.web.mostIn {
		if n > 2 {
			y.t.Errorf("%d looks at once at %s, 2 are allowed", n, host)
		}
	}
	y.t.Logf("%d looks, longest gap %v, %d crashes, %d jumps of the clock, %d times without promise", looks, longest, y.crashes, y.jumps, len(y.excused))
}

func (y *year) excusedIn(in span) (sum time.Duration) {
	for _, e := range y.excused {
		from, to := e.from, e.to
		if from.Before(in.from) {
			from = in.from
		}
		if to.After(in.to) {
			to = in.to
		}
		if to.After(from) {
			sum += to.Sub(from)
		}
	}
	return sum
}

// crashing is a store that a daemon which crashed cannot reach any more.
// What it records are finished looks.
type crashing struct {
	*memStore
	year *year
	mu   sync.Mutex
	gone bool
}

var errCrashed = errors.New("crashed")

func (c *crashing) crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

func (c *crashing) crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

func (c *crashing) Record(ctx context.Context, r []Result) (int, error) {
	if c.crashed() {
		return 0, errCrashed
	}
	lost, err := c.memStore.Record(ctx, r)
	c.year.mu.Lock()
	defer c.year.mu.Unlock()
	for _, r := range r {
		origin := r.Site.Origin
		if looked := r.Site.LastCheckAt != r.Lease.Site.LastCheckAt; looked && c.memStore.site(origin).LastCheckAt == r.Site.LastCheckAt {
			c.year.finished[origin] = append(c.year.finished[origin], time.Now())
		}
	}
	return lost, err
}

func (c *crashing) Release(ctx context.Context, l []Lease) error {
	if c.crashed() {
		return errCrashed
	}
	return c.memStore.Release(ctx, l)
}
