package notify

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// Results of a delivery attempt.
const (
	resultSent    = "sent"
	resultRetried = "retried"
	resultDead    = "dead"
)

var _ watcher.Observer = (*Metrics)(nil)

// Metrics are the collectors of the daemon: counters that its parts feed, and
// gauges read from the store at each scrape. A nil *Metrics counts nothing.
type Metrics struct {
	checks        *prometheus.CounterVec
	fetchSeconds  prometheus.Histogram
	changes       *prometheus.CounterVec
	accessChanges *prometheus.CounterVec
	deliveries    *prometheus.CounterVec
	storeErrors   prometheus.Counter
	lost          prometheus.Counter
	ownOutage     prometheus.Gauge
	reloadOK      prometheus.Gauge
	reloadAt      prometheus.Gauge

	mu      sync.Mutex
	names   []string        // receivers
	holding []string        // those of them that hold changes back on purpose
	known   map[string]bool // agents that have series
}

// NewMetrics registers the collectors. version is shown by build_info.
func NewMetrics(reg prometheus.Registerer, version, goVersion string) *Metrics {
	m := &Metrics{
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "robotswatch_checks_total", Help: "Finished looks at sites, by what was found.",
		}, []string{"outcome"}),
		fetchSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "robotswatch_fetch_duration_seconds", Help: "How long looks at sites took.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60},
		}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "robotswatch_changes_total", Help: "Recorded changes.",
		}, []string{"kind", "severity"}),
		accessChanges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "robotswatch_access_changes_total", Help: "Recorded changes of the access of watched agents.",
		}, []string{"agent", "direction"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "robotswatch_deliveries_total", Help: "Messages to receivers, by what became of the attempt.",
		}, []string{"receiver", "result"}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "robotswatch_store_errors_total", Help: "Failed operations of the store.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "robotswatch_results_lost_total", Help: "Looks that took longer than their lease and were not recorded.",
		}),
		ownOutage: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "robotswatch_own_outage", Help: "1 while the daemon's own network seems to be down, so that failures are not held against sites.",
		}),
		reloadOK: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "robotswatch_config_last_reload_successful", Help: "Whether the last load of the configuration succeeded.",
		}),
		reloadAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "robotswatch_config_last_reload_success_timestamp_seconds", Help: "When the configuration was last loaded successfully.",
		}),
		known: map[string]bool{},
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "robotswatch_build_info", Help: "Version of the program; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": goVersion},
	})
	info.Set(1)
	reg.MustRegister(m.checks, m.fetchSeconds, m.changes, m.accessChanges, m.deliveries,
		m.storeErrors, m.lost, m.ownOutage, m.reloadOK, m.reloadAt, info)
	for _, s := range outcomeStates {
		m.checks.WithLabelValues(string(s))
	}
	for _, k := range allKinds {
		for _, s := range []watcher.Severity{watcher.Info, watcher.Warning, watcher.Critical} {
			m.changes.WithLabelValues(string(k), string(s))
		}
	}
	return m
}

var (
	outcomeStates = []fetch.State{fetch.Policy, fetch.Absent, fetch.Denied, fetch.Unreachable, fetch.NotRobots}
	allStates     = append([]fetch.State{fetch.Pending}, outcomeStates...)
	allKinds      = []watcher.Kind{watcher.KindAccess, watcher.KindState, watcher.KindSignal,
		watcher.KindCrawlDelay, watcher.KindSitemap, watcher.KindCosmetic}
)

var directions = []string{"tightened", "loosened", "mixed"}

// Agents are the watched ones: their series exist at zero from now on, those
// of agents no longer watched disappear.
func (m *Metrics) Agents(watched []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := make(map[string]bool, len(watched))
	for _, a := range watched {
		keep[a] = true
		for _, d := range directions {
			m.accessChanges.WithLabelValues(a, d)
		}
	}
	for a := range m.known {
		if !keep[a] {
			m.accessChanges.DeletePartialMatch(prometheus.Labels{"agent": a})
		}
	}
	m.known = keep
}

// Receivers are those that exist, likewise; holding are those of them that keep
// changes back on purpose. A dispatcher that begins to run says so itself.
func (m *Metrics) Receivers(names, holding []string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := make(map[string]bool, len(names))
	for _, n := range names {
		keep[n] = true
		for _, r := range []string{resultSent, resultRetried, resultDead} {
			m.deliveries.WithLabelValues(n, r)
		}
	}
	for _, n := range m.names {
		if !keep[n] {
			m.deliveries.DeletePartialMatch(prometheus.Labels{"receiver": n})
		}
	}
	m.names, m.holding = names, holding
}

// Checked counts a finished look.
func (m *Metrics) Checked(o fetch.Outcome) {
	if m == nil {
		return
	}
	m.checks.WithLabelValues(string(o.State)).Inc()
	m.fetchSeconds.Observe(o.Took.Seconds())
}

// Changed counts a recorded change. Agents that are not watched have no
// series, so that what sites name cannot make series without end.
func (m *Metrics) Changed(c watcher.Change) {
	if m == nil {
		return
	}
	m.changes.WithLabelValues(string(c.Kind), string(c.Severity)).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range c.Agents {
		if m.known[a.Agent] && a.Direction != "" {
			m.accessChanges.WithLabelValues(a.Agent, string(a.Direction)).Inc()
		}
	}
}

// OwnOutage says whether the daemon's own network is down.
func (m *Metrics) OwnOutage(on bool) {
	if m == nil {
		return
	}
	m.ownOutage.Set(0)
	if on {
		m.ownOutage.Set(1)
	}
}

// Recording does nothing: the store itself tells of each failed attempt, see
// StoreFailed.
func (m *Metrics) Recording(error) {}

// Recorded counts results that came too late to be recorded.
func (m *Metrics) Recorded(_, lost int) {
	if m != nil {
		m.lost.Add(float64(lost))
	}
}

// StoreFailed counts a failed operation of the store.
func (m *Metrics) StoreFailed(error) {
	if m != nil {
		m.storeErrors.Inc()
	}
}

// Reloaded says how loading the configuration went.
func (m *Metrics) Reloaded(ok bool, at time.Time) {
	if m == nil {
		return
	}
	if !ok {
		m.reloadOK.Set(0)
		return
	}
	m.reloadOK.Set(1)
	m.reloadAt.Set(float64(at.UnixMilli()) / 1000)
}

func (m *Metrics) delivered(receiver, result string) {
	if m != nil {
		m.deliveries.WithLabelValues(receiver, result).Inc()
	}
}

// StateSource is what the gauges need of storage.
type StateSource interface {
	// SiteCounts counts the sites of the configuration by state.
	SiteCounts(ctx context.Context) (map[fetch.State]int, error)
	// AgentTotals counts them for each watched agent by effective access and
	// source.
	AgentTotals(ctx context.Context) ([]AgentTotal, error)
	// Overdue counts those without a finished look since the time given.
	Overdue(ctx context.Context, since time.Time) (int, error)
	// EachSite calls f for each.
	EachSite(ctx context.Context, f func(SiteSeries) error) error
	// Pending says by receiver what is still to be delivered.
	Pending(ctx context.Context) (map[string]Waiting, error)
}

// Waiting is what a receiver is still to be told.
type Waiting struct {
	Changes     int
	Oldest      time.Time // when the oldest of them was recorded
	OldestTried time.Time // the same of those that were tried; zero when none was
}

// SiteSeries is what per-site series show.
type SiteSeries struct {
	Origin       string
	State        fetch.State
	LastCheckAt  time.Time
	LastChangeAt time.Time
	Access       []watcher.AgentAccess // effective
}

func (m *Metrics) watched() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.known))
}

func (m *Metrics) receiverNames() (names, holding []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.names), slices.Clone(m.holding)
}
