package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// alert is what an Alertmanager notifies of.
type alert struct {
	Status      string // firing or resolved
	Labels      map[string]string
	Annotations map[string]string
}

// monitoring is a real Prometheus with our rules, a real Alertmanager behind
// it, and whom that notifies.
type monitoring struct {
	dir, prometheus string
	mu              sync.Mutex
	told            []alert
}

// window is what the tests make of the minutes and hours of the rules.
const window = "8s"

// hasty makes the rules fire and resolve within seconds; what they ask for
// stays.
func hasty(t *testing.T) string {
	t.Helper()
	rules := readDeployed(t, "prometheus/rules.yml")
	rules = regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAllString(rules, "")
	return regexp.MustCompile(`\[\d+[mh]\]`).ReplaceAllString(strings.ReplaceAll(rules, "offset 1h", "offset "+window), "["+window+"]")
}

// hastyRoutes is the example of an Alertmanager, without its waiting and with
// a receiver.
func hastyRoutes(t *testing.T, url string) string {
	t.Helper()
	text := regexp.MustCompile(`(group_wait|group_interval): \w+`).ReplaceAllString(readDeployed(t, "prometheus/alertmanager.yml"), "$1: 1s")
	return strings.Replace(text, "- name: team\n", "- name: team\n    webhook_configs: [{url: "+url+"}]\n", 1)
}

func readDeployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(deployDir + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startMonitoring watches daemons at their addresses.
func startMonitoring(t *testing.T, daemons []string) *monitoring {
	t.Helper()
	m := &monitoring{dir: t.TempDir()}
	team := httptest.NewServer(http.HandlerFunc(m.notified))
	t.Cleanup(team.Close)
	prometheus, alertmanager := freeAddress(t), freeAddress(t)
	targets, err := json.Marshal(daemons)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string {
		path := filepath.Join(m.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file("rules.yml", hasty(t))
	config := file("prometheus.yml", fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: robotswatch, static_configs: [{targets: %s}]}]
`, alertmanager, targets))
	runUntilTheEnd(t, exec.Command("prometheus-alertmanager", "--config.file="+file("alertmanager.yml", hastyRoutes(t, team.URL)),
		"--storage.path="+filepath.Join(m.dir, "alertmanager"), "--web.listen-address="+alertmanager, "--cluster.listen-address=", "--log.level=error"))
	runUntilTheEnd(t, exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(m.dir, "tsdb"),
		"--web.listen-address="+prometheus, "--log.level=error"))
	m.prometheus = "http://" + prometheus
	m.within(t, "every daemon is scraped", func() bool { n, err := ask(m.prometheus, "up == 1"); return err == nil && n == len(daemons) })
	return m
}

func (m *monitoring) notified(_ http.ResponseWriter, r *http.Request) {
	var group struct{ Alerts []alert }
	if err := json.NewDecoder(r.Body).Decode(&group); err != nil {
		return // the test waits for it in vain
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, group.Alerts...)
}

// heard gives the first that was said about an alert of a daemon in a status,
// nil when nothing was; of one that tells of all daemons together the instance
// does not count.
func (m *monitoring) heard(name, instance, status string) *alert {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.told {
		if of := a.Labels["instance"]; a.Labels["alertname"] == name && a.Status == status && (of == "" || of == instance) {
			return &a
		}
	}
	return nil
}

// fires waits until the team is notified; what is said has to say what to do.
func (m *monitoring) fires(t *testing.T, name, instance string) {
	t.Helper()
	m.within(t, name+" fires", func() bool { return m.heard(name, instance, "firing") != nil })
	a := m.heard(name, instance, "firing")
	for _, text := range []string{a.Labels["severity"], a.Annotations["summary"], a.Annotations["description"]} {
		if text == "" || strings.Contains(text, "<no value>") {
			t.Errorf("%s: %v %v", name, a.Labels, a.Annotations)
		}
	}
}

func (m *monitoring) resolves(t *testing.T, name, instance string) {
	t.Helper()
	m.within(t, name+" resolves", func() bool { return m.heard(name, instance, "resolved") != nil })
}

// within a minute: several programs have to look at each other in turn.
func (m *monitoring) within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	within(t, time.Minute, what, holds)
}

// ask gives how many series a query finds.
func ask(api, query string) (int, error) {
	r, err := http.Get(api + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s: %s", query, answer.Error)
	}
	return len(answer.Data.Result), nil
}
