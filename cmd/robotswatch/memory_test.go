//go:build !race

// The race detector ends in its own way when memory is refused.

package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/simweb"
)

// TestFaultOutOfMemory lets the system refuse memory, which ends the program;
// what it had recorded is there, and it starts again.
func TestFaultOutOfMemory(t *testing.T) {
	t.Parallel()
	needs.Program(t, "prlimit")
	s := newStage(t)
	var hosts []string
	for i := range 20 {
		hosts = append(hosts, fmt.Sprintf("site%d.example", i))
		s.play(hosts[i], simweb.Text("").For(2), simweb.Text(blocksAll).For(0))
	}
	s.configure(s.sites(hosts...))
	cmd := program(t, s.dir, nil, "--config", "config.toml", "--log-format", "json", "run")
	cmd.Env = append(cmd.Env, "GOGC=off", "GOMEMLIMIT=off") // nothing is given back
	p := startCommand(t, cmd).ready()
	eventually(t, "each change is recorded", func() bool { v, _ := p.metric(critical); return v == 20 })
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`VmData:\s+(\d+) kB`).FindSubmatch(status)
	if used == nil {
		t.Fatalf("no VmData in\n%s", status)
	}
	if out, err := exec.Command("prlimit", "--pid", fmt.Sprint(p.cmd.Process.Pid), "--data="+string(used[1])+"000").CombinedOutput(); err != nil {
		t.Fatalf("prlimit: %v: %s", err, out)
	}
	for i, h := range hosts {
		s.web.Set(h, simweb.Answer{Body: blocksAll + strings.Repeat(fmt.Sprintf("# %d\n", i), 100_000), Stateless: true})
	}
	if code := p.end(); code != exitTrouble {
		t.Errorf("exit code %d, want %d", code, exitTrouble)
	}
	if !strings.Contains(p.log(), "memory") {
		t.Errorf("nothing is said of memory:\n%.2000s", p.log())
	}
	p = start(t, s.dir).ready()
	if v, _ := p.metric(`robotswatch_agent_sites{access="blocked",agent="GPTBot",source="wildcard"}`); v != 20 {
		t.Errorf("%v of 20 sites are known to block", v)
	}
	p.stop()
	if out, err := program(t, s.dir, nil, "--config", "config.toml", "store", "check").CombinedOutput(); err != nil {
		t.Errorf("store check: %v\n%s", err, out)
	}
}
