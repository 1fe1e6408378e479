package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// plan is how SQLite means to run a query.
func plan(t *testing.T, s *Store, query string, args ...any) string {
	t.Helper()
	rows, err := s.Query(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var steps []string
	if err := each(rows, func(scan Scan) error {
		var id, parent, unused int
		var detail string
		err := scan(&id, &parent, &unused, &detail)
		steps = append(steps, detail)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "; ")
}

// SQLite has no statistics here and guesses; these queries must not depend on
// a lucky guess.
func TestPlans(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db"))
	dense := rest(watcher.SiteFilter{})
	rare := rest(watcher.SiteFilter{})
	rare.at([]place{{fetch.Policy, 1, 0}, {fetch.Policy, 2, 0}})
	late := rest(watcher.SiteFilter{CheckedBefore: t0})
	changes := func(f watcher.ChangeFilter) (string, []any) {
		c, err := s.changeConditions(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		c.add("changes.id < %s", noKey)
		return "SELECT data FROM changes WHERE " + c.sql() + " ORDER BY changes.id DESC LIMIT 50", c.args
	}
	ofSite, ofSiteArgs := changes(watcher.ChangeFilter{Site: "https://a.example", Agent: "GPTBot", Kinds: []watcher.Kind{watcher.KindAccess}})
	agent := condition(touching, "GPTBot")
	newest, newestArgs := changes(watcher.ChangeFilter{Severity: watcher.Warning})
	deadOnes := DeliveryFilter{Statuses: []notify.Status{notify.StatusDead}}.conditions()
	openOnes := DeliveryFilter{Statuses: []notify.Status{notify.StatusPending, notify.StatusDead}}.conditions()
	for _, c := range []struct {
		name, query string
		args        []any
		want, never string
	}{
		{"claim", strings.Replace(claimDue, "{{skip_locked}}", "", 1), []any{1, 2, 3, 4}, "sites_due (next_check_at<?)", "TEMP B-TREE"},
		{"claim far", claimFar, []any{1, 2, 3, 4}, "sites_due (next_check_at>?)", "TEMP B-TREE"},
		{"sites, dense", "SELECT id FROM sites WHERE " + dense.sql() + " ORDER BY origin LIMIT 50", dense.args, "(origin>?)", "TEMP B-TREE"},
		{"sites, rare", "SELECT origin FROM sites WHERE " + rare.sql(), rare.args, "sites_standing (state=? AND profile_id=? AND tags_id=?)", "SCAN sites"},
		{"changes of a site", ofSite, ofSiteArgs, "changes_site (site_id=? AND id<?)", "TEMP B-TREE"},
		{"access of sites", "SELECT data FROM changes WHERE " + accessOfSites + " ($1, $2)", []any{1, 2}, "changes_site (site_id=?)", "changes_kind"},
		{"changes of an agent", "SELECT i.id FROM changes i WHERE " + agent.sql(), agent.args, "changes_agents (agents_id=?)", "SCAN i"},
		{"newest changes", newest, newestArgs, "PRIMARY KEY (id<?)", "TEMP B-TREE"},
		{"late", "SELECT origin FROM sites WHERE " + late.sql() + " ORDER BY next_check_at LIMIT 50", late.args, "sites_due (next_check_at<?)", "TEMP B-TREE"},
		{"dead deliveries", "SELECT d.id FROM deliveries d WHERE " + deadOnes.sql() + " ORDER BY d.id", deadOnes.args, "deliveries_dead", "TEMP B-TREE"},
		{"open deliveries", "SELECT d.id FROM deliveries d WHERE " + openOnes.sql() + " ORDER BY d.id", openOnes.args, "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)", "SCAN deliveries;"},
		{"overdue", "SELECT count(*) FROM sites WHERE " + overdue, []any{1, 2}, "sites_due (next_check_at<?)", "SCAN sites"},
	} {
		if got := plan(t, s, c.query, c.args...); !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
