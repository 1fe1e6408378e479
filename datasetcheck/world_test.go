package datasetcheck

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// world is a store with a history, exported, and a server over it.
type world struct {
	bin, dir, api string
	hosts         []string
}

var start = time.Date(2023, 11, 4, 4, 0, 0, 0, time.UTC)

// build makes the binary, or takes ROBOTSWATCH_BIN.
func build(t *testing.T) string {
	if bin := os.Getenv("ROBOTSWATCH_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "robotswatch")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/robotswatch")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// newWorld makes up weekly captures of hosts, brings them in, exports all
// tables, and starts a server that watches the same hosts.
func newWorld(t *testing.T, hosts, weeks int) *world {
	w := &world{bin: build(t), dir: t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	w.api = "http://" + address + "/api/v1"
	var captures, cfg bytes.Buffer
	// No look finds anything, and none comes in the time that is compared.
	fmt.Fprintf(&cfg, "[store]\nurl = \"sqlite:%s\"\n[server]\nlisten = %q\n", filepath.Join(w.dir, "test.db"), address)
	for i := range hosts {
		host := fmt.Sprintf("host%d.invalid", i)
		w.hosts = append(w.hosts, host)
		fmt.Fprintf(&cfg, "[[sites]]\nurl = %q\ntags = [\"even%d\"]\n", host, i%2)
		capture(t, &captures, host, rand.New(rand.NewPCG(7, uint64(i))), weeks)
	}
	for name, content := range map[string][]byte{"config.toml": cfg.Bytes(), "captures.jsonl": captures.Bytes()} {
		if err := os.WriteFile(filepath.Join(w.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.run(t, "backfill", "jsonl", "captures.jsonl")
	for _, table := range []string{"observations", "policies", "changes"} {
		w.run(t, "export", table, "--out", table+".parquet")
	}
	w.serve(t)
	return w
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.bin, append([]string{"--config", "config.toml", "--log-format", "text"}, args...)...)
	cmd.Dir = w.dir
	return cmd
}

func (w *world) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := w.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func (w *world) serve(t *testing.T) {
	cmd := w.command("run")
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, log.String())
		}
	})
	// Another process, which has no other way to tell.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(time.Minute); time.Now().Before(late); <-tick.C {
		if resp, err := http.Get(strings.TrimSuffix(w.api, "/api/v1") + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
	}
	t.Fatal("the server did not come up")
}

var crawlers = []string{"GPTBot", "CCBot", "Google-Extended", "ClaudeBot", "Bytespider", "UnheardOfBot"}

// capture makes up what an archive has of a host.
func capture(t *testing.T, out *bytes.Buffer, host string, r *rand.Rand, weeks int) {
	version, outage, status := 0, 0, 0
	enc := json.NewEncoder(out)
	for week := range weeks {
		if r.IntN(12) == 0 {
			version = r.IntN(2 * len(crawlers))
		}
		if outage == 0 && r.IntN(20) == 0 {
			outage, status = 1+r.IntN(6), []int{0, 404, 403, 503}[r.IntN(4)]
		}
		line := map[string]any{"site": "https://" + host, "time": start.AddDate(0, 0, 7*week).Add(time.Duration(r.IntN(3600)) * time.Second)}
		if outage > 0 {
			outage--
			line["status"], line["error"] = status, "request_error"
		} else {
			text := fmt.Sprintf("# %s\nUser-agent: *\nDisallow: /v%d/\nCrawl-delay: %d\n", host, version%3, 1+version%2)
			for i := range version % len(crawlers) {
				text += "\nUser-agent: " + crawlers[i] + "\nDisallow: /\nAllow: /feed\n"
			}
			text += fmt.Sprintf("\nContent-Signal: ai-train=%s\nSitemap: https://%s/%d.xml\n", []string{"yes", "no"}[version%2], host, version)
			line["status"], line["body_base64"] = 200, base64.StdEncoding.EncodeToString([]byte(text))
			line["headers"] = map[string]string{"Server": "nginx, \"quoted\""}
		}
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
}

// get asks the API for an object.
func (w *world) get(t *testing.T, path string, into any) {
	t.Helper()
	resp, err := http.Get(w.api + path)
	if err != nil {
		t.Fatal(err)
	}
	read(t, path, resp, into)
}

func (w *world) post(t *testing.T, path string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(w.api+path, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	read(t, path, resp, into)
}

func read(t *testing.T, path string, resp *http.Response, into any) {
	t.Helper()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var text bytes.Buffer
		_, _ = text.ReadFrom(resp.Body)
		t.Fatalf("%s: %s\n%s", path, resp.Status, text.String())
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// list asks for all pages of a list.
func list[R any](t *testing.T, w *world, path string) (all []R) {
	t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	for cursor := ""; ; {
		var page struct {
			Data       []R    `json:"data"`
			NextCursor string `json:"next_cursor"`
		}
		w.get(t, path+sep+"limit=1000&cursor="+cursor, &page)
		all = append(all, page.Data...)
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}
