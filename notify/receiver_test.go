package notify_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// world is a store with sites, and the way of changes into it.
type world struct {
	t       testing.TB
	store   *store.Store
	router  *notify.Router
	links   notify.Links
	log     *slog.Logger
	metrics *notify.Metrics
	totals  notify.TotalsSource
	n       int // changes recorded
}

func newWorld(t testing.TB, sites int) *world {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db"), store.Options{Daemon: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	list := func(yield func(watcher.SiteConfig, error) bool) {
		for i := range sites {
			if !yield(watcher.SiteConfig{Origin: origin(i), Tags: []string{"news"}}, nil) {
				return
			}
		}
	}
	if _, err := s.SyncSites(t.Context(), time.Now(), iter.Seq2[watcher.SiteConfig, error](list), func(string, string) time.Time { return time.Now() }); err != nil {
		t.Fatal(err)
	}
	return &world{t: t, store: s, links: notify.Links{External: "https://robots.example"}, log: slog.New(slog.DiscardHandler)}
}

func origin(i int) string { return fmt.Sprintf("https://site%d.example", i) }

// dispatcher for receivers; the router routes to them from now on.
func (w *world) dispatcher(receivers ...notify.ReceiverConfig) *notify.Dispatcher {
	w.t.Helper()
	targets, err := notify.Targets(receivers, notify.Means{
		Policy: netpolicy.Policy{AllowPrivate: true}, Bodies: w.store, Log: w.log, Links: w.links,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.deliver(targets)
}

func (w *world) deliver(targets []notify.Target) *notify.Dispatcher {
	w.t.Helper()
	cat, err := agents.Load()
	if err != nil {
		w.t.Fatal(err)
	}
	var receivers []notify.ReceiverConfig
	for _, t := range targets {
		receivers = append(receivers, t.Config)
	}
	if w.router, err = notify.NewRouter(receivers, cat); err != nil {
		w.t.Fatal(err)
	}
	d, err := notify.NewDispatcher(w.store, targets, notify.Options{Owner: "test", Links: w.links, Router: w.router, Totals: w.totals, Metrics: w.metrics, Log: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.Config.Name)
	}
	if err := w.store.Sync(w.t.Context(), names, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	return d
}

// run starts a dispatcher; the function returned stops it.
func (w *world) run(d *notify.Dispatcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Run(ctx); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}()
	return func() { cancel(); <-done }
}

// record puts changes of distinct sites into the store in one transaction.
func (w *world) record(changes ...watcher.Change) []watcher.Change {
	w.t.Helper()
	origins := make([]string, len(changes))
	for i, c := range changes {
		origins[i] = c.Site
	}
	leases, err := w.store.ClaimSites(w.t.Context(), time.Now(), origins, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	bySite := map[string]watcher.Lease{}
	for _, l := range leases {
		bySite[l.Site.Origin] = l
	}
	var results []watcher.Result
	for i := range changes {
		c := &changes[i]
		w.n++
		c.ID, c.At = fmt.Sprintf("01TEST%020d", w.n), time.Now().UTC().Truncate(time.Millisecond)
		receivers, key := w.router.Route(*c)
		l, ok := bySite[c.Site]
		if !ok {
			w.t.Fatalf("%s is not claimed", c.Site)
		}
		site := l.Site
		site.LastCheckAt, site.NextCheckAt = time.Now(), time.Now().Add(time.Hour)
		results = append(results, watcher.Result{Lease: l, Site: site,
			Changes: []watcher.Routed{{Change: *c, Receivers: receivers, GroupKey: key}}})
	}
	if lost, err := w.store.Record(w.t.Context(), results); err != nil || lost != 0 {
		w.t.Fatalf("Record: %d lost, %v", lost, err)
	}
	return changes
}

func (w *world) pending() map[string]int {
	w.t.Helper()
	waiting, err := w.store.Pending(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	n := map[string]int{}
	for name, x := range waiting {
		n[name] = x.Changes
	}
	return n
}

// blocks is the change by which a site blocks agents.
func blocks(site int, tokens ...string) watcher.Change {
	return access(site, diff.Tightened, diff.Allowed, diff.Blocked, tokens...)
}

// frees is the opposite.
func frees(site int, tokens ...string) watcher.Change {
	return access(site, diff.Loosened, diff.Blocked, diff.Allowed, tokens...)
}

func access(site int, d diff.Direction, before, after diff.Level, tokens ...string) watcher.Change {
	c := watcher.Change{
		Schema: watcher.ChangeSchema, Site: origin(site), Tags: []string{"news"}, Kind: watcher.KindAccess,
		Severity: watcher.Critical, Summary: tokens[0] + " now " + string(after), Cause: watcher.CauseRules,
		State:   watcher.StateChange{Before: fetch.Policy, After: fetch.Policy},
		Watched: true, WatchedFirst: len(tokens),
	}
	rule, line := "Disallow: /", 12
	entries := []diff.Entry{{Example: "/", Rule: &rule, Line: &line}}
	for _, token := range tokens {
		a := diff.AgentChange{Agent: token, Direction: d, Proven: true,
			Before:          diff.Access{Level: before, Source: robots.SourceWildcard},
			After:           diff.Access{Level: after, Source: robots.SourceNamed},
			NewlyDisallowed: []diff.Entry{}, NewlyAllowed: []diff.Entry{}}
		if d == diff.Tightened {
			a.NewlyDisallowed = entries
		} else {
			a.NewlyAllowed = entries
		}
		c.Agents = append(c.Agents, a)
	}
	return c
}

func stateful(site int, before, after fetch.State, severity watcher.Severity) watcher.Change {
	return watcher.Change{
		Schema: watcher.ChangeSchema, Site: origin(site), Tags: []string{"news"}, Kind: watcher.KindState, Severity: severity,
		Summary: "robots.txt " + string(after), Cause: watcher.CauseStatus, Agents: []diff.AgentChange{}, Watched: true,
		State: watcher.StateChange{Before: before, After: after}, Reason: "http_503", Detail: "503 Service Unavailable",
	}
}

// inbox is a receiver that keeps what it gets, in the test's process.
type inbox struct {
	mu       sync.Mutex
	messages []notify.Message
	at       []time.Time
	attempts int
	answer   func(m notify.Message) error // nil: takes everything
}

func (b *inbox) Send(ctx context.Context, m notify.Message) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempts++
	if b.answer != nil {
		if err := b.answer(m); err != nil {
			return "", err
		}
	}
	b.messages = append(b.messages, m)
	b.at = append(b.at, time.Now())
	return "", nil
}

func (b *inbox) titles() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		list = append(list, m.Text.Title)
	}
	return list
}

// got are the messages taken so far.
func (b *inbox) got() []notify.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages)
}

// tried is how often it was sent something.
func (b *inbox) tried() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.attempts
}

// when is the time at which the i-th message was taken.
func (b *inbox) when(i int) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at[i]
}

func (b *inbox) set(answer func(notify.Message) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// endpoint is a webhook receiver on loopback.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
	got    chan struct{}
}

// newEndpoint answers by status(n) for the n-th request, from 0; nil: 200.
func newEndpoint(t testing.TB, status func(n int, w http.ResponseWriter)) *endpoint {
	e := &endpoint{got: make(chan struct{}, 1000)}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		n := len(e.bodies)
		e.bodies = append(e.bodies, body)
		e.heads = append(e.heads, r.Header)
		e.mu.Unlock()
		if status != nil {
			status(n, w)
		}
		e.got <- struct{}{}
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) requests() (heads []http.Header, bodies [][]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heads, e.bodies
}

func await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s within 20 s", what)
		panic("unreachable")
	}
}

func decode[T any](t testing.TB, raw []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

var deadOnes = store.DeliveryFilter{Statuses: []notify.Status{notify.StatusDead}}

// warm uses a store before any test does so under a fake clock: its
// compressors keep channels for the life of the process, which must not
// belong to a test's bubble.
func warm(t testing.TB) {
	t.Helper()
	once.Do(func() {
		w := newWorld(t, 1)
		w.deliver([]notify.Target{{Config: machine("r"), Sender: &inbox{}}})
		w.record(blocks(0, "GPTBot"))
		if _, err := w.store.ListDeliveries(t.Context(), store.DeliveryFilter{}); err != nil {
			t.Fatal(err)
		}
	})
}

var once sync.Once

// simulate runs a test under a fake clock that begins at midnight UTC.
func simulate(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	warm(t)
	synctest.Test(t, test)
}

// body keeps a text in the store and gives its hash.
func (w *world) body(site int, text string) string {
	w.t.Helper()
	leases, err := w.store.ClaimSites(w.t.Context(), time.Now(), []string{origin(site)}, time.Minute)
	if err != nil || len(leases) != 1 {
		w.t.Fatalf("claim: %v", err)
	}
	s := leases[0].Site
	s.Body = sha256.Sum256([]byte(text))
	s.State, s.Readable, s.ReadableAt = fetch.Policy, fetch.Policy, time.Now()
	s.LastCheckAt = s.LastCheckAt.Add(time.Duration(len(text)+1) * time.Millisecond)
	if s.LastCheckAt.Before(time.Unix(1, 0)) {
		s.LastCheckAt = time.Now()
	}
	s.NextCheckAt = time.Now().Add(time.Hour)
	if _, err := w.store.Record(w.t.Context(), []watcher.Result{{Lease: leases[0], Site: s, Body: []byte(text),
		Observation: &watcher.Observation{At: s.LastCheckAt, State: fetch.Policy, Status: 200, Body: s.Body, Bytes: int64(len(text))}}}); err != nil {
		w.t.Fatal(err)
	}
	return s.Body.String()
}
