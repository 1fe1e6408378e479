package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/robotswatch/robotswatch/internal/simweb"
)

func TestRulesAreRightAndHaveARunbook(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}, {"check", "config", "--syntax-only", "prometheus.yml"}} {
		cmd := exec.Command("promtool", args...)
		cmd.Dir = deployDir + "prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	rules, err := os.ReadFile(deployDir + "prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	runbook, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	if len(alerts) < 10 {
		t.Fatalf("%d alerts", len(alerts))
	}
	for _, a := range alerts {
		if !strings.Contains(string(runbook), "\n### "+a[1]+"\n") {
			t.Errorf("%s has no entry in docs/operations.md", a[1])
		}
	}
}

// hasty makes the rules fire and resolve within seconds; what they ask for
// stays.
func hasty(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile(deployDir + "prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAllString(string(rules), "")
	return regexp.MustCompile(`\[\d+[mh]\]`).ReplaceAllString(text, "[8s]")
}

// TestAlertsFireAndResolve lets a real Prometheus with our rules watch a real
// daemon that meets one trouble after the other.
func TestAlertsFireAndResolve(t *testing.T) {
	prometheus, err := exec.LookPath("prometheus")
	if testing.Short() || err != nil {
		t.Skip("Prometheus is not installed, or the run is short")
	}
	t.Parallel()
	s := newStage(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(refusing.Close)
	address := freeAddress(t)
	config := fmt.Sprintf("[server]\nlisten = %q\n", address) + s.sites("a.example", "b.example") + hook("gone", refusing.URL)
	s.configure(config)
	s.write("rules.yml", hasty(t))
	s.write("prometheus.yml", fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs: [{job_name: robotswatch, static_configs: [{targets: [%q]}]}]
`, address))
	p := start(t, s.dir).ready()
	api := freeAddress(t)
	cmd := exec.Command(prometheus, "--config.file="+filepath.Join(s.dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(s.dir, "tsdb"), "--web.listen-address="+api, "--log.level=error")
	runUntilTheEnd(t, cmd)
	firing := func(alert string) bool {
		n, err := ask("http://"+api, fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing"}`, alert))
		return err == nil && n > 0
	}
	eventually(t, "Prometheus scrapes", func() bool { n, err := ask("http://"+api, "up == 1"); return err == nil && n == 1 })

	for _, trouble := range []struct {
		alert      string
		begin, end func()
	}{
		{"RobotswatchReloadFailed",
			func() { s.write("config.toml", "nonsense"); p.signal(syscall.SIGHUP) },
			func() { s.configure(config); p.signal(syscall.SIGHUP) }},
		{"RobotswatchDeliveriesDead",
			func() { s.web.Set("a.example", simweb.Text("User-agent: *\nDisallow: /\n")) },
			func() {}}, // it looks back for a while
		{"RobotswatchDown",
			func() { p.signal(syscall.SIGKILL); p.end() },
			func() { p = start(t, s.dir).ready() }},
	} {
		if firing(trouble.alert) {
			t.Errorf("%s fires before anything is wrong", trouble.alert)
		}
		trouble.begin()
		eventually(t, trouble.alert+" fires", func() bool { return firing(trouble.alert) })
		trouble.end()
		eventually(t, trouble.alert+" resolves", func() bool { return !firing(trouble.alert) })
	}
}
