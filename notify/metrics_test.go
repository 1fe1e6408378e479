package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// sites is a source of what metrics show.
type sites struct {
	list   []notify.SiteSeries
	broken bool
}

func (s *sites) SiteCounts(context.Context) (map[fetch.State]int, error) {
	if s.broken {
		return nil, errors.New("disk on fire")
	}
	n := map[fetch.State]int{}
	for _, x := range s.list {
		n[x.State]++
	}
	return n, nil
}

func (s *sites) AgentTotals(context.Context) ([]notify.AgentTotal, error) {
	return []notify.AgentTotal{{Agent: "GPTBot", Access: diff.Blocked, Source: robots.SourceNamed, Sites: 7}}, nil
}

func (s *sites) Overdue(context.Context, time.Time) (int, error) { return 3, nil }

func (s *sites) EachSite(_ context.Context, f func(notify.SiteSeries) error) error {
	for _, x := range s.list {
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

func (s *sites) Pending(context.Context) (map[string]notify.Waiting, error) {
	return map[string]notify.Waiting{"policy": {Changes: 4}}, nil
}

func wantSeries(t *testing.T, reg *prometheus.Registry, name, want string) {
	t.Helper()
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}

func newMetrics(t *testing.T, source notify.StateSource, limit int, receivers ...string) (*prometheus.Registry, *notify.Metrics) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m := notify.NewMetrics(reg, "1.2.3", "go1.26")
	m.Agents([]string{"GPTBot", "CCBot"})
	m.Receivers(receivers, nil)
	notify.NewGauges(reg, source, m, limit)
	return reg, m
}

func TestSeriesThatTheConfigurationNamesExistAtZero(t *testing.T) {
	reg, _ := newMetrics(t, &sites{}, 100, "policy", "pager")
	wantSeries(t, reg, "robotswatch_deliveries_total", `
# HELP robotswatch_deliveries_total Messages to receivers, by what became of the attempt.
# TYPE robotswatch_deliveries_total counter
robotswatch_deliveries_total{receiver="pager",result="dead"} 0
robotswatch_deliveries_total{receiver="pager",result="retried"} 0
robotswatch_deliveries_total{receiver="pager",result="sent"} 0
robotswatch_deliveries_total{receiver="policy",result="dead"} 0
robotswatch_deliveries_total{receiver="policy",result="retried"} 0
robotswatch_deliveries_total{receiver="policy",result="sent"} 0
`)
	wantSeries(t, reg, "robotswatch_deliveries_pending", `
# HELP robotswatch_deliveries_pending Changes that wait to be delivered.
# TYPE robotswatch_deliveries_pending gauge
robotswatch_deliveries_pending{receiver="pager"} 0
robotswatch_deliveries_pending{receiver="policy"} 4
`)
	wantSeries(t, reg, "robotswatch_access_changes_total", `
# HELP robotswatch_access_changes_total Recorded changes of the access of watched agents.
# TYPE robotswatch_access_changes_total counter
robotswatch_access_changes_total{agent="CCBot",direction="loosened"} 0
robotswatch_access_changes_total{agent="CCBot",direction="mixed"} 0
robotswatch_access_changes_total{agent="CCBot",direction="tightened"} 0
robotswatch_access_changes_total{agent="GPTBot",direction="loosened"} 0
robotswatch_access_changes_total{agent="GPTBot",direction="mixed"} 0
robotswatch_access_changes_total{agent="GPTBot",direction="tightened"} 0
`)
	for name, n := range map[string]int{
		"robotswatch_build_info": 1, "robotswatch_sites": 6, "robotswatch_sites_overdue": 1, "robotswatch_checks_total": 5,
		"robotswatch_fetch_duration_seconds": 1, "robotswatch_changes_total": 18, "robotswatch_oldest_pending_delivery_seconds": 1,
		"robotswatch_config_last_reload_successful": 1, "robotswatch_config_last_reload_success_timestamp_seconds": 1,
		"robotswatch_store_errors_total": 1, "robotswatch_per_site_metrics_capped": 1,
	} {
		if got, err := testutil.GatherAndCount(reg, name); err != nil || got != n {
			t.Errorf("%s: %d series, %v; want %d", name, got, err, n)
		}
	}
	if got, _ := testutil.GatherAndCount(reg, "robotswatch_agent_sites"); got != 2*(4*3+1) {
		t.Errorf("robotswatch_agent_sites: %d series", got)
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) != 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func TestSeriesPerSite(t *testing.T) {
	source := &sites{list: []notify.SiteSeries{
		{Origin: "https://a.example", State: fetch.Policy, LastCheckAt: time.Unix(100, 0), Access: []watcher.AgentAccess{
			{Agent: "GPTBot", Access: diff.Access{Level: diff.Blocked}}, {Agent: "CCBot", Access: diff.Access{Level: diff.Unknown}}}},
		{Origin: "https://b.example", State: fetch.Pending},
	}}
	reg, _ := newMetrics(t, source, 4)
	wantSeries(t, reg, "robotswatch_site_access", `
# HELP robotswatch_site_access What an agent may fetch on a site: 0 nothing, 1 some paths (restricted), 2 most (partial), 3 everything.
# TYPE robotswatch_site_access gauge
robotswatch_site_access{agent="GPTBot",site="https://a.example"} 0
`)
	if n, _ := testutil.GatherAndCount(reg, "robotswatch_site_state"); n != 12 {
		t.Errorf("%d series of site states, want 12", n)
	}
	// A site that leaves takes its series along.
	source.list = source.list[1:]
	if n, _ := testutil.GatherAndCount(reg, "robotswatch_site_access"); n != 0 {
		t.Errorf("%d series of a site that is gone", n)
	}
	// One site x agent more than the limit: only aggregates, and it is said.
	for i := range 2 {
		source.list = append(source.list, notify.SiteSeries{Origin: fmt.Sprintf("https://%d.example", i), State: fetch.Policy})
	}
	if n, _ := testutil.GatherAndCount(reg, "robotswatch_site_state"); n != 0 {
		t.Errorf("%d series per site above the limit", n)
	}
	wantSeries(t, reg, "robotswatch_per_site_metrics_capped", `
# HELP robotswatch_per_site_metrics_capped 1 when there are more sites than metrics.per_site_limit allows series for.
# TYPE robotswatch_per_site_metrics_capped gauge
robotswatch_per_site_metrics_capped 1
`)
}

func TestAStoreThatCannotBeReadFailsTheScrape(t *testing.T) {
	reg, _ := newMetrics(t, &sites{broken: true}, 4)
	if _, err := reg.Gather(); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("error %v", err)
	}
}

func TestChangesAreCountedForWatchedAgentsOnly(t *testing.T) {
	reg, m := newMetrics(t, &sites{}, 4, "policy")
	m.Changed(blocks(0, "GPTBot", "InventedBot"))
	m.Checked(fetch.Outcome{State: fetch.Policy, Took: time.Second})
	if n, _ := testutil.GatherAndCount(reg, "robotswatch_access_changes_total"); n != 6 {
		t.Errorf("%d series, want 6: what sites name must not make series", n)
	}
	wantSeries(t, reg, "robotswatch_checks_total", `
# HELP robotswatch_checks_total Finished looks at sites, by what was found.
# TYPE robotswatch_checks_total counter
robotswatch_checks_total{outcome="absent"} 0
robotswatch_checks_total{outcome="denied"} 0
robotswatch_checks_total{outcome="not_robots"} 0
robotswatch_checks_total{outcome="policy"} 1
robotswatch_checks_total{outcome="unreachable"} 0
`)
	// Agents and receivers that left take their series along.
	m.Agents([]string{"CCBot"})
	m.Receivers(nil, nil)
	if n, _ := testutil.GatherAndCount(reg, "robotswatch_access_changes_total"); n != 3 {
		t.Errorf("%d series after an agent left, want 3", n)
	}
	if n, _ := testutil.GatherAndCount(reg, "robotswatch_deliveries_total"); n != 0 {
		t.Errorf("%d series after the receiver left", n)
	}
}

// A digest that comes once a day is no alert that is a day late.
func TestWhatIsHeldBackOnPurposeIsNotLate(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w := newWorld(t, 3)
		reg := prometheus.NewRegistry()
		w.metrics = notify.NewMetrics(reg, "", "")
		notify.NewGauges(reg, w.store, w.metrics, 0)
		refuse := &inbox{answer: func(notify.Message) error { return errors.New("not now") }}
		digest, quiet := people("digest"), people("quiet")
		digest.Mode, digest.Digest = notify.Digest, "@every 24h"
		quiet.Quiet = notify.QuietHours{From: 0, To: 23 * time.Hour}
		d := w.deliver([]notify.Target{{Config: digest, Sender: refuse}, {Config: quiet, Sender: refuse}})
		defer w.run(d)()
		late := func(want float64) {
			t.Helper()
			list, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				if f.GetName() != "robotswatch_oldest_pending_delivery_seconds" {
					continue
				}
				if got := f.GetMetric()[0].GetGauge().GetValue(); got < want || got > want+60 {
					t.Errorf("the oldest delivery waits for %v s, want %v", got, want)
				}
			}
		}
		w.record(blocks(0, "GPTBot"))
		d.Poke()
		time.Sleep(5 * time.Hour)
		late(0)
		time.Sleep(19*time.Hour + time.Minute) // both were tried by now
		late(24 * 3600)
	})
}

func TestDeliveriesAreCounted(t *testing.T) {
	simulate(t, func(t *testing.T) {
		w := newWorld(t, 3)
		reg := prometheus.NewRegistry()
		w.metrics = notify.NewMetrics(reg, "", "")
		box := &inbox{answer: func(m notify.Message) error {
			if m.Changes[0].Site == origin(0) {
				return &notify.SendError{Err: errors.New("no"), Permanent: true}
			}
			if time.Now().Minute() == 0 {
				return errors.New("later")
			}
			return nil
		}}
		d := w.deliver([]notify.Target{{Config: machine("r"), Sender: box}})
		defer w.run(d)()
		w.record(blocks(0, "GPTBot"), blocks(1, "GPTBot"))
		d.Poke()
		time.Sleep(30 * time.Minute)
		retried := box.tried() - 2
		wantSeries(t, reg, "robotswatch_deliveries_total", fmt.Sprintf(`
# HELP robotswatch_deliveries_total Messages to receivers, by what became of the attempt.
# TYPE robotswatch_deliveries_total counter
robotswatch_deliveries_total{receiver="r",result="dead"} 1
robotswatch_deliveries_total{receiver="r",result="retried"} %d
robotswatch_deliveries_total{receiver="r",result="sent"} 1
`, retried))
		if retried == 0 {
			t.Error("nothing was retried")
		}
	})
}
