//go:build !race

// The program of these tests is built without the race detector.

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/simweb"
)

// TestEveryPanelOfTheDashboardHasData runs a daemon over sites that change,
// lets a real Prometheus scrape it, and asks every query of the dashboard.
func TestEveryPanelOfTheDashboardHasData(t *testing.T) {
	prometheus := needs.Program(t, "prometheus")
	t.Parallel()
	dir := t.TempDir()
	daemon := startDaemonToScrape(t, dir)
	api := startPrometheus(t, prometheus, dir, daemon)

	var queries []string
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Annotations struct{ List []struct{ Expr string } }
	}
	b, err := os.ReadFile("../../deploy/grafana/robotswatch.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	// rate and increase need a few scrapes with changes between them.
	variables := strings.NewReplacer("$__rate_interval", "30s", "$job", "robotswatch", "$agent", ".*", "[7d]", "[30s]", "[2m]", "[30s]")
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries = append(queries, variables.Replace(target.Expr))
		}
	}
	if len(queries) < 20 {
		t.Fatalf("only %d queries", len(queries))
	}
	for _, a := range dashboard.Annotations.List {
		if _, err := ask(api, variables.Replace(a.Expr)); err != nil {
			t.Errorf("annotation: %v", err)
		}
	}
	for _, q := range queries {
		within(t, 90*time.Second, "there is data for "+q, func() bool {
			n, err := ask(api, q)
			if err != nil {
				t.Fatal(err)
			}
			return n > 0
		})
	}
}

func startDaemonToScrape(t *testing.T, dir string) (address string) {
	t.Helper()
	web, err := simweb.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	address = freeAddress(t)
	config := fmt.Sprintf(`
[store]
url = "sqlite:%s"
[schedule]
default = "@every 1s"
[fetch]
proxy = "%s"
allow_private_networks = true
[server]
listen = %q
[agents]
watch = ["GPTBot", "CCBot"]
[[receivers]]
name = "log"
type = "log"
`, filepath.Join(dir, "scraped.db"), web.ProxyURL(), address)
	for i := range 3 {
		host := fmt.Sprintf("site%d.example", i)
		config += fmt.Sprintf("[[sites]]\nurl = \"http://%s\"\n", host)
		var scenes []simweb.Scene
		for k := range 500 {
			scenes = append(scenes, simweb.Text(fmt.Sprintf("User-agent: *\nDisallow: /%d/\n\nUser-agent: GPTBot\nDisallow: /\n", k)).For(2))
		}
		web.Play(host, scenes...)
	}
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	runUntilTheEnd(t, program(t, dir, nil, "--config", file, "run"))
	return address
}

func startPrometheus(t *testing.T, binary, dir, daemon string) (api string) {
	t.Helper()
	file := filepath.Join(dir, "prometheus.yml")
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: robotswatch\n    static_configs: [{targets: [%q]}]\n", daemon)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	runUntilTheEnd(t, exec.Command(binary, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+address))
	api = "http://" + address
	eventually(t, "Prometheus is up", func() bool {
		r, err := http.Get(api + "/-/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return api
}
