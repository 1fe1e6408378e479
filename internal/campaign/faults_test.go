//go:build !race

package campaign

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/store/pgtest"
	"github.com/robotswatch/robotswatch/watcher"
)

// blow is a time in which a daemon was killed or PostgreSQL was away.
type blow struct {
	kind     string
	from, to time.Time
}

// torment is a cluster and what is done to it.
type torment struct {
	t       *testing.T
	pg      *pgtest.Cluster
	store   *store.Store
	conf    string
	crowd   *crowd
	to      *receiver
	daemons []*daemon
	ended   []*daemon
	blows   []blow
	ids     map[string]bool // of recorded changes
}

// Daemons on one PostgreSQL are killed and stopped at random, and PostgreSQL
// crashes under them. No site is asked twice at once, none is forgotten, no
// change is lost or doubled, and each reaches its receiver, twice only where a
// blow left no other way.
func TestClusterUnderFaults(t *testing.T) {
	length, patient := 6*time.Second, false
	if text := os.Getenv("ROBOTSWATCH_CLUSTER"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		patient = true
	}
	pg := server(t)
	if err := pg.Owned(); err != nil {
		needs.Lacking(t, "%v", err)
	}
	c := &torment{t: t, pg: pg, to: newReceiver(t)}
	c.crowd = newCrowd(t, map[bool]int{false: 300, true: 1000}[patient], map[bool]time.Duration{false: 5 * time.Second, true: 40 * time.Second}[patient])
	url := pg.Database(t)
	c.conf = setup{store: url, concurrency: 32, schedule: map[bool]string{false: "@every 2s", true: "@every 8s"}[patient],
		fetch: `timeout = "2s"`, sites: c.crowd.sites, receivers: c.to.tables()}.write(t)
	for range 3 {
		c.daemons = append(c.daemons, start(t, c.conf))
	}
	c.store = look(t, url)
	for end := time.Now().Add(length); time.Now().Before(end); {
		pass(500*time.Millisecond + rand.N(min(length/5, 4*time.Second)))
		c.strike()
	}
	c.settle(patient)
	c.end()
	c.judgeRequests()
	c.judgeChanges(map[bool]int{false: 10, true: 1000}[patient])
	c.judgeDeliveries(patient)
	c.judgeDigests()
}

// strike does something bad to somebody.
func (c *torment) strike() {
	c.t.Helper()
	b := blow{from: time.Now()}
	i, n := rand.IntN(len(c.daemons)), rand.IntN(10)
	switch {
	case n < 3 || len(c.blows) == 0:
		b.kind = "PostgreSQL away"
		if err := c.pg.Down(); err != nil {
			c.t.Fatal(err)
		}
		pass(rand.N(3 * time.Second)) // so long is it away
		if err := c.pg.Boot(); err != nil {
			c.t.Fatal(err)
		}
	case n < 5:
		b.kind = "stop"
		c.daemons[i].stop()
		c.replace(i)
	default:
		b.kind = "kill"
		c.daemons[i].kill()
		c.replace(i)
	}
	b.to = time.Now()
	c.blows = append(c.blows, b)
}

func (c *torment) replace(i int) {
	c.ended = append(c.ended, c.daemons[i])
	c.daemons[i] = start(c.t, c.conf)
}

// settle lets the cluster come to rest: nothing changes any more, every site
// is looked at once more, and what was recorded is delivered. What killed
// daemons had leased waits for the end of those leases; who is patient too.
func (c *torment) settle(patient bool) {
	c.t.Helper()
	c.crowd.freeze()
	await(c.t, time.Minute, "the store does not come back", func() bool { return c.store.Ping(c.t.Context()) == nil })
	frozen := c.crowd.frozen.Load()
	free := " AND lease_until <= " + now
	limit := time.Minute
	if patient {
		free, limit = "", 5*time.Minute
	}
	begun := time.Now()
	await(c.t, limit, "not every site was looked at again", func() bool {
		return count(c.t, c.store, "SELECT count(*) FROM sites WHERE last_check_at <= $1"+free, frozen) == 0
	})
	c.t.Logf("all sites were looked at again after %v", time.Since(begun).Round(time.Second))
	if !patient {
		return
	}
	await(c.t, 3*time.Minute, "not everything was delivered", func() bool {
		return count(c.t, c.store, "SELECT count(*) FROM deliveries WHERE status <> 'sent' AND receiver = 'each'") == 0
	})
}

// now by the clock of the store.
const now = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)"

func (c *torment) judgeRequests() {
	c.crowd.mu.Lock()
	defer c.crowd.mu.Unlock()
	kinds := map[string]int{}
	for _, b := range c.blows {
		kinds[b.kind]++
	}
	c.t.Logf("%d requests to %d sites, blows: %v", c.crowd.requests, len(c.crowd.sites), kinds)
	if n := len(c.crowd.overlaps); n > 0 {
		c.t.Errorf("%d times a site was asked while it was being asked: %.10q", n, c.crowd.overlaps)
	}
}

// step from one version of a site to the next.
type step struct{ before, after string }

// judgeChanges compares the history of each site with its changes: one for
// each step, in order, from the first version to the one served at the end.
func (c *torment) judgeChanges(least int) {
	c.t.Helper()
	total := 0
	changes := c.changes()
	for i, site := range c.crowd.sites {
		versions := c.versions(site)
		var want []step
		for k := 1; k < len(versions); k++ {
			want = append(want, step{versions[k-1], versions[k]})
		}
		if !slices.Equal(changes[site], want) {
			c.t.Errorf("%s: changes %v, want %v", site, changes[site], want)
		}
		total += len(want)
		if c.checkedSince(site) && versions[len(versions)-1] != c.crowd.hash(i) {
			c.t.Errorf("%s: the last version was not recorded", site)
		}
	}
	c.t.Logf("%d changes of %d sites", total, len(c.crowd.sites))
	if total < least {
		c.t.Errorf("only %d changes: this proves little", total)
	}
}

// changes are the steps of each site, in order, as they were recorded.
func (c *torment) changes() map[string][]step {
	c.t.Helper()
	all, err := c.store.Changes(c.t.Context(), watcher.ChangeFilter{Cosmetic: true})
	if err != nil {
		c.t.Fatal(err)
	}
	by := map[string][]step{}
	c.ids = map[string]bool{}
	for _, change := range slices.Backward(all) {
		c.ids[change.ID] = true
		if change.Kind != watcher.KindAccess {
			c.t.Errorf("%s: unexpected %s: %s", change.Site, change.Kind, change.Summary)
		}
		by[change.Site] = append(by[change.Site], step{change.BeforeSHA256, change.AfterSHA256})
	}
	return by
}

func (c *torment) checkedSince(site string) bool {
	return count(c.t, c.store, "SELECT count(*) FROM sites WHERE origin = $1 AND last_check_at > $2", site, c.crowd.frozen.Load()) == 1
}

// versions are the files of a site, in order, as they were observed.
func (c *torment) versions(site string) (hashes []string) {
	c.t.Helper()
	runs, err := c.store.Observations(c.t.Context(), site, time.Time{}, time.Time{}, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range slices.Backward(runs) {
		if o.State == fetch.Policy {
			hashes = append(hashes, o.Body.String())
		}
	}
	return slices.Compact(hashes)
}

// judgeDeliveries wants every change delivered, and again only after a blow.
func (c *torment) judgeDeliveries(patient bool) {
	c.t.Helper()
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	again := 0
	for id, times := range c.to.arrived {
		if _, ok := c.ids[id]; !ok {
			c.t.Errorf("%s was delivered and never recorded", id)
		}
		for k := 1; k < len(times); k++ {
			again++
			if !c.struck(times[k-1], times[k]) {
				c.t.Errorf("%s came again after %v, and nothing bad had happened", id, times[k].Sub(times[k-1]))
			}
		}
	}
	for id := range c.ids {
		if patient && len(c.to.arrived[id]) == 0 {
			c.t.Errorf("%s was never delivered", id)
		}
	}
	c.t.Logf("%d changes were delivered, %d times again after a blow", len(c.to.arrived), again)
}

// struck reports whether a blow lies between two times.
func (c *torment) struck(from, to time.Time) bool {
	return slices.ContainsFunc(c.blows, func(b blow) bool { return b.kind != "stop" && !b.to.Before(from) && !b.from.After(to) })
}

// judgeDigests wants at most one a minute, however many daemons there are.
func (c *torment) judgeDigests() {
	c.t.Helper()
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	for k := 1; k < len(c.to.digests); k++ {
		a, b := c.to.digests[k-1], c.to.digests[k]
		if a.Truncate(time.Minute).Equal(b.Truncate(time.Minute)) && !c.struck(a, b) {
			c.t.Errorf("two digests came within a minute: %v, %v", a, b)
		}
	}
	c.t.Logf("%d digests", len(c.to.digests))
}

// end stops the daemons: none keeps a lease.
func (c *torment) end() {
	c.t.Helper()
	for _, d := range c.daemons {
		if over := d.metric("robotswatch_sites_overdue"); over > 0 {
			c.t.Errorf("%v sites are overdue", over)
		}
		d.stop()
	}
	forgotten := count(c.t, c.store, "SELECT count(*) FROM sites WHERE last_check_at <= $1", c.crowd.frozen.Load())
	if n := count(c.t, c.store, "SELECT count(*) FROM sites WHERE lease_until > "+now); n > forgotten {
		c.t.Errorf("%d leases were not handed back, beside %d of killed daemons", n-forgotten, forgotten)
	}
	cleaned := 0
	for _, d := range append(c.ended, c.daemons...) {
		cleaned += d.said["store cleaned"]
	}
	if cleaned > 1 {
		c.t.Errorf("the store was cleaned %d times, want once", cleaned)
	}
}
