package notify

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// scrapeTimeout bounds what one scrape may ask of the store: less than the 10
// seconds that Prometheus waits, so that the rest arrives without it.
const scrapeTimeout = 8 * time.Second

// Gauges collect the state of things from the store at each scrape, so that
// series of sites that left the configuration are gone with them. Series per
// site exist only while there are no more than the limit allows.
type Gauges struct {
	source  StateSource
	metrics *Metrics
	limit   int
	desc    gaugeDescs
}

type gaugeDescs struct {
	sites, overdue, agentSites, access, state, lastCheck, lastChange,
	pending, oldest, capped *prometheus.Desc
}

// NewGauges registers the collector. perSiteLimit bounds site x agent series
// (metrics.per_site_limit).
func NewGauges(reg prometheus.Registerer, source StateSource, m *Metrics, perSiteLimit int) *Gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("robotswatch_"+name, help, labels, nil)
	}
	g := &Gauges{source: source, metrics: m, limit: perSiteLimit, desc: gaugeDescs{
		sites:      desc("sites", "Watched sites, by confirmed state.", "state"),
		overdue:    desc("sites_overdue", "Sites on which no look finished in 24 hours."),
		agentSites: desc("agent_sites", "Sites by what an agent may fetch there now and why.", "agent", "access", "source"),
		access:     desc("site_access", "What an agent may fetch on a site: 0 nothing, 1 some paths (restricted), 2 most (partial), 3 everything.", "site", "agent"),
		state:      desc("site_state", "1 for the confirmed state of a site.", "site", "state"),
		lastCheck:  desc("site_last_check_timestamp_seconds", "When the last look at a site finished.", "site"),
		lastChange: desc("site_last_change_timestamp_seconds", "When the last change of a site was recorded.", "site"),
		pending:    desc("deliveries_pending", "Changes that wait to be delivered.", "receiver"),
		oldest:     desc("oldest_pending_delivery_seconds", "Age of the oldest change that waits to be delivered, without what digests, quiet hours and hourly limits keep back; 0 when none does."),
		capped:     desc("per_site_metrics_capped", "1 when there are more sites than metrics.per_site_limit allows series for."),
	}}
	reg.MustRegister(g)
	return g
}

// Describe sends the names of all series.
func (g *Gauges) Describe(ch chan<- *prometheus.Desc) {
	d := g.desc
	for _, x := range []*prometheus.Desc{d.sites, d.overdue, d.agentSites, d.access, d.state, d.lastCheck, d.lastChange, d.pending, d.oldest, d.capped} {
		ch <- x
	}
}

// Collect reads the store. What cannot be read is an invalid metric, so that
// the scrape says so.
func (g *Gauges) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for _, part := range []func(context.Context, chan<- prometheus.Metric) error{g.collectSites, g.collectAgents, g.collectDeliveries} {
		if err := part(ctx, ch); err != nil {
			ch <- prometheus.NewInvalidMetric(g.desc.sites, err)
			return
		}
	}
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (g *Gauges) collectSites(ctx context.Context, ch chan<- prometheus.Metric) error {
	counts, err := g.source.SiteCounts(ctx)
	if err != nil {
		return err
	}
	total := 0
	for _, s := range allStates {
		ch <- gauge(g.desc.sites, float64(counts[s]), string(s))
		total += counts[s]
	}
	overdue, err := g.source.Overdue(ctx, time.Now().Add(-watcher.MaxGap))
	if err != nil {
		return err
	}
	ch <- gauge(g.desc.overdue, float64(overdue))
	if total*max(len(g.metrics.watched()), 1) > g.limit {
		ch <- gauge(g.desc.capped, 1)
		return nil
	}
	ch <- gauge(g.desc.capped, 0)
	return g.source.EachSite(ctx, func(s SiteSeries) error {
		g.collectSite(s, ch)
		return nil
	})
}

func (g *Gauges) collectSite(s SiteSeries, ch chan<- prometheus.Metric) {
	for _, state := range allStates {
		v := 0.0
		if s.State == state {
			v = 1
		}
		ch <- gauge(g.desc.state, v, s.Origin, string(state))
	}
	if !s.LastCheckAt.IsZero() {
		ch <- gauge(g.desc.lastCheck, float64(s.LastCheckAt.UnixMilli())/1000, s.Origin)
	}
	if !s.LastChangeAt.IsZero() {
		ch <- gauge(g.desc.lastChange, float64(s.LastChangeAt.UnixMilli())/1000, s.Origin)
	}
	for _, a := range s.Access {
		if v, ok := levelValue(a.Level); ok {
			ch <- gauge(g.desc.access, v, s.Origin, a.Agent)
		}
	}
}

// levelValue is a level as a number; unknown has none.
func levelValue(l diff.Level) (float64, bool) {
	switch l {
	case diff.Blocked:
		return 0, true
	case diff.Restricted:
		return 1, true
	case diff.Partial:
		return 2, true
	case diff.Allowed:
		return 3, true
	}
	return 0, false
}

var (
	allLevels  = []diff.Level{diff.Allowed, diff.Partial, diff.Restricted, diff.Blocked}
	allSources = []robots.Source{robots.SourceNamed, robots.SourceWildcard, robots.SourceDefault, robots.SourceStatus}
)

// possible leaves out what cannot be: no group that applies, yet rules.
func possible(l diff.Level, s robots.Source) bool {
	return s != robots.SourceDefault || l == diff.Allowed
}

func (g *Gauges) collectAgents(ctx context.Context, ch chan<- prometheus.Metric) error {
	totals, err := g.source.AgentTotals(ctx)
	if err != nil {
		return err
	}
	type key struct {
		agent  string
		level  diff.Level
		source robots.Source
	}
	sums := map[key]int{}
	for _, a := range g.metrics.watched() {
		for _, l := range allLevels {
			for _, s := range allSources {
				if possible(l, s) {
					sums[key{a, l, s}] = 0
				}
			}
		}
	}
	for _, t := range totals {
		sums[key{t.Agent, t.Access, t.Source}] += t.Sites
	}
	for k, n := range sums {
		ch <- gauge(g.desc.agentSites, float64(n), k.agent, string(k.level), string(k.source))
	}
	return nil
}

func (g *Gauges) collectDeliveries(ctx context.Context, ch chan<- prometheus.Metric) error {
	pending, err := g.source.Pending(ctx)
	if err != nil {
		return err
	}
	names, holding := g.metrics.receiverNames()
	for _, name := range names {
		ch <- gauge(g.desc.pending, float64(pending[name].Changes), name)
	}
	age := 0.0
	for name, w := range pending {
		// What waits for a digest is not late: an alert would cry wolf each day.
		oldest := w.Oldest
		if slices.Contains(holding, name) {
			oldest = w.OldestTried
		}
		if !oldest.IsZero() {
			age = max(age, time.Since(oldest).Seconds())
		}
	}
	ch <- gauge(g.desc.oldest, age)
	return nil
}
