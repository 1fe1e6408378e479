package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/simweb"
)

// asProgram in the environment makes the test binary the program itself, so
// that tests of the process need no other binary.
const asProgram = "ROBOTSWATCH_TEST_AS_PROGRAM"

// parallel is how many tests run at once unless the command line says: most of
// their time they wait for processes, and for seconds to pass.
const parallel = "4"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	os.Exit(m.Run()) // reads the command line after that
}

// patience of tests for something that must happen.
const patience = 15 * time.Second

// process is a robotswatch of its own.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string // of its HTTP server, once ready was called
	ended   chan error

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed at each line
}

// program is the command line of the program in a directory, with a wrapper
// in front of it or none.
func program(t *testing.T, dir string, wrapper []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(append([]string{}, wrapper...), append([]string{self}, args...)...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// start runs the daemon with config.toml in dir.
func start(t *testing.T, dir string, wrapper ...string) *process {
	t.Helper()
	return startCommand(t, program(t, dir, wrapper, "--config", "config.toml", "--log-format", "json", "run"))
}

func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan error, 1), news: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			close(p.news)
			p.news = make(chan struct{})
			p.mu.Unlock()
		}
		p.ended <- cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() // what has ended already does not mind
		<-p.ended
		if t.Failed() {
			t.Logf("the log of process %d:\n%s", cmd.Process.Pid, p.log())
		}
	})
	return p
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// says waits for a line with all of the words, from the first line on.
func (p *process) says(words ...string) string {
	p.t.Helper()
	line, ok := p.mentions(patience, words...)
	if !ok {
		p.t.Fatalf("no line says %q:\n%s", words, p.log())
	}
	return line
}

func (p *process) mentions(limit time.Duration, words ...string) (string, bool) {
	late := time.After(limit)
	for seen := 0; ; {
		p.mu.Lock()
		lines, news := p.lines[seen:], p.news
		p.mu.Unlock()
		for _, l := range lines {
			if containsAll(l, words) {
				return l, true
			}
		}
		seen += len(lines)
		select {
		case <-news:
		case <-late:
			return "", false
		}
	}
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// ready waits until the daemon runs.
func (p *process) ready() *process {
	p.t.Helper()
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(p.says("robotswatch is running")), &line); err != nil {
		p.t.Fatal(err)
	}
	p.address = line.Address
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// end waits for the end of the process and gives its exit code, -1 when a
// signal ended it.
func (p *process) end() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("it does not end:\n%s", p.log())
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop ends the daemon as a service manager does, and gives how long it took.
func (p *process) stop() time.Duration {
	p.t.Helper()
	asked := time.Now()
	p.signal(syscall.SIGTERM)
	if code := p.end(); code != exitOK {
		p.t.Errorf("exit code %d after SIGTERM", code)
	}
	return time.Since(asked)
}

func (p *process) ask(method, path string) (status int, body string) {
	p.t.Helper()
	req, err := http.NewRequest(method, "http://"+p.address+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// metric is the value of a series; ok is false when there is none.
func (p *process) metric(series string) (v float64, ok bool) {
	p.t.Helper()
	_, body := p.ask("GET", "/metrics")
	for line := range strings.Lines(body) {
		if rest, is := strings.CutPrefix(line, series+" "); is {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return v, true
		}
	}
	return 0, false
}

// eventually waits until a condition holds that only asking can tell.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	within(t, patience, what, holds)
}

// within asks another process, which has no other way to tell, until a
// condition holds.
func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(late) {
			t.Fatalf("it never came true: %s", what)
		}
	}
}

func wait(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

const blocksAll = "User-agent: *\nDisallow: /\n"

// pass lets time pass that is a test's input: the moment of a blow, how long
// a trouble lasts. Nothing is waited for.
func pass(d time.Duration) { <-time.After(d) }

// stage is a directory with a configuration, and a simulated web.
type stage struct {
	t   *testing.T
	dir string
	web *simweb.Web
	set map[string]bool // hosts with a robots.txt
}

func newStage(t *testing.T) *stage {
	t.Helper()
	web, err := simweb.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return &stage{t: t, dir: t.TempDir(), web: web, set: map[string]bool{}}
}

// configure writes config.toml: what each test needs, and parts of its own.
// Of a table that stands in both, that of the test counts.
func (s *stage) configure(parts ...string) {
	s.t.Helper()
	own := strings.Join(parts, "\n")
	var b strings.Builder
	for _, table := range []string{
		"[store]\nurl = \"sqlite:test.db\"",
		"[server]\nlisten = \"127.0.0.1:0\"",
		"[schedule]\ndefault = \"@every 1s\"",
		"[confirm]\ninterval = \"1s\"",
		fmt.Sprintf("[fetch]\nproxy = %q\nallow_private_networks = true\ntimeout = \"5s\"", s.web.ProxyURL()),
	} {
		if head, _, _ := strings.Cut(table, "\n"); !strings.Contains(own, head) {
			b.WriteString(table + "\n")
		}
	}
	s.write("config.toml", b.String()+own)
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// sites configures some by host name. Those that play nothing have an empty
// robots.txt.
func (s *stage) sites(hosts ...string) string {
	var b strings.Builder
	for _, h := range hosts {
		if !s.set[h] {
			s.play(h, simweb.Text("").For(0))
		}
		fmt.Fprintf(&b, "[[sites]]\nurl = \"http://%s\"\n", h)
	}
	return b.String()
}

func (s *stage) play(host string, scenes ...simweb.Scene) {
	s.set[host] = true
	s.web.Play(host, scenes...)
}

// hook configures a receiver.
func hook(name, url string) string {
	return fmt.Sprintf("[[receivers]]\nname = %q\ntype = \"webhook\"\nurl = %q\ngroup_wait = \"0\"\n", name, url)
}

// freeAddress is one that nobody listens at and that no connection of another
// test is given meanwhile: systems take ports for those from 32768 on.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err != nil {
			continue // somebody else's
		}
		defer l.Close()
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

func runUntilTheEnd(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("%s had ended: %v", cmd.Path, err)
		}
		cmd.Wait() // its exit code is not what this is about
		if t.Failed() {
			t.Logf("%s\n%.3000s", cmd.Path, log.String())
		}
	})
}
