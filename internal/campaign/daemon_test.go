//go:build !race

package campaign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/store"
)

// setup is the configuration of a daemon.
type setup struct {
	store       string
	concurrency int
	schedule    string
	fetch       string   // more lines of [fetch]
	receivers   string   // more tables
	sites       []string // origins
}

// write makes the configuration file and gives its path.
func (s setup) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf(`[store]
url = %q
[schedule]
default = %q
digest = "* * * * *"
[fetch]
concurrency = %d
per_address = %[3]d
per_domain = %[3]d
allow_private_networks = true
%s
[server]
listen = "127.0.0.1:0"
[[site_files]]
path = "sites.txt"
%s`, s.store, s.schedule, s.concurrency, s.fetch, s.receivers)
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sites.txt"), []byte(strings.Join(s.sites, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// origins gives n sites at one port, each at an address of its own.
func origins(scheme string, port, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s://127.%d.%d.%d:%d", scheme, 1+i/60_000, i/240%250, i%240+1, port)
	}
	return list
}

// daemon is a running process.
type daemon struct {
	t       testing.TB
	cmd     *exec.Cmd
	address string
	begun   time.Time
	ended   chan struct{}

	mu   sync.Mutex
	said map[string]int // messages of the log
	last []string       // its latest lines
}

// start runs the daemon and waits until it is ready.
func start(t *testing.T, config string, env ...string) *daemon {
	t.Helper()
	d := launch(t, config, env...)
	d.awaitReady(t)
	return d
}

// launch runs the daemon.
func launch(t *testing.T, config string, env ...string) *daemon {
	t.Helper()
	program := binary(t, "robotswatch") // the first time that takes a while
	d := &daemon{t: t, begun: time.Now(), ended: make(chan struct{}), said: map[string]int{}}
	d.cmd = exec.Command(program, "--config", config, "--log-format", "json", "run")
	d.cmd.Env = append(os.Environ(), env...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, address := make(chan error), make(chan string, 1)
	go func() {
		// The kernel ties the death signal to the thread that started it.
		runtime.LockOSThread()
		err := d.cmd.Start()
		if started <- err; err == nil {
			d.follow(stderr, address)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.kill(); d.tell() })
	select {
	case d.address = <-address:
	case <-d.ended:
		t.Fatalf("the daemon did not start:\n%s", strings.Join(d.last, "\n"))
	}
	return d
}

func (d *daemon) follow(stderr io.Reader, address chan<- string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		_ = json.Unmarshal(lines.Bytes(), &line)
		d.mu.Lock()
		d.said[line.Msg]++
		if d.last = append(d.last, lines.Text()); len(d.last) > 40 {
			d.last = d.last[1:]
		}
		d.mu.Unlock()
		if line.Msg == "robotswatch is running" {
			address <- line.Address
		}
	}
	_ = d.cmd.Wait()
	close(d.ended)
}

func (d *daemon) tell() {
	if d.t.Failed() {
		d.t.Logf("the end of the log of daemon %d:\n%s", d.cmd.Process.Pid, strings.Join(d.last, "\n"))
	}
}

func (d *daemon) awaitReady(t *testing.T) {
	t.Helper()
	await(t, time.Minute, "the daemon is not ready", func() bool {
		_, err := d.get("/-/ready")
		return err == nil
	})
}

// saidTimes is how often the log had a message.
func (d *daemon) saidTimes(msg string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said[msg]
}

// awaitSaid waits until the log has had a message.
func (d *daemon) awaitSaid(limit time.Duration, msg string) {
	d.t.Helper()
	await(d.t, limit, "the log does not say "+msg, func() bool { return d.saidTimes(msg) > 0 })
}

func (d *daemon) get(path string) ([]byte, error) {
	res, err := http.Get("http://" + d.address + path)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, res.Status)
	}
	return body, err
}

// metric gives the sum of the series whose name and labels begin with a text.
func (d *daemon) metric(series string) float64 {
	d.t.Helper()
	body, err := d.get("/metrics")
	if err != nil {
		d.t.Fatal(err)
	}
	sum := math.NaN()
	for line := range bytes.Lines(body) {
		name, value, _ := strings.Cut(string(bytes.TrimSpace(line)), " ")
		if after, ok := strings.CutPrefix(name, series); !ok || after != "" && after[0] != '{' && !strings.Contains(series, "{") {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			d.t.Fatalf("%s: %v", line, err)
		}
		if math.IsNaN(sum) {
			sum = 0
		}
		sum += v
	}
	if math.IsNaN(sum) {
		d.t.Fatalf("there is no metric %s", series)
	}
	return sum
}

func (d *daemon) checks() float64 { return d.metric("robotswatch_checks_total") }

// awaitSweep waits until every site has been looked at.
func (d *daemon) awaitSweep(limit time.Duration) {
	d.t.Helper()
	await(d.t, limit, "not all sites were looked at", func() bool { return d.metric(`robotswatch_sites{state="pending"}`) == 0 })
}

// rate measures finished checks a second.
func (d *daemon) rate(window time.Duration) float64 {
	d.t.Helper()
	return rateOf(window, d)
}

// rateOf measures finished checks a second of several daemons together.
func rateOf(window time.Duration, daemons ...*daemon) float64 {
	total := func() (sum float64) {
		for _, d := range daemons {
			sum += d.checks()
		}
		return sum
	}
	before, begun := total(), time.Now()
	pass(window) // the measurement
	return (total() - before) / time.Since(begun).Seconds()
}

// cpu is what the process has used so far.
func (d *daemon) cpu() time.Duration {
	d.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100 // clock ticks
}

// peak is the largest resident memory so far, in octets.
func (d *daemon) peak() int64 {
	d.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		d.t.Fatal(err)
	}
	return kib << 10
}

func (d *daemon) signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// kill ends the process at once.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.ended
}

// stop asks the daemon to end, and wants it to end well.
func (d *daemon) stop() {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(30 * time.Second):
		d.t.Fatal("the daemon does not end")
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		d.t.Errorf("the daemon ended with %d", code)
	}
}

// await polls another process, which has no other way to tell.
func await(t testing.TB, limit time.Duration, otherwise string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s within %v", otherwise, limit)
		case <-tick.C:
		}
	}
}

// pass lets time pass that is a test's input: the moment of a blow, how long
// a measurement takes. Nothing is waited for.
func pass(d time.Duration) { <-time.After(d) }

// look opens the store beside the daemons.
func look(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// count runs a query that gives one number.
func count(t *testing.T, s *store.Store, query string, args ...any) (n int) {
	t.Helper()
	if err := s.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
