package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/simweb"
)

// These tests are the table of faults in docs/operations.md. Killed daemons,
// full disks under load and receivers that fail are in campaign_test.go.

// refuses expects that the daemon does not start, and says why.
func refuses(t *testing.T, p *process, words ...string) {
	t.Helper()
	if code := p.end(); code != exitTrouble {
		t.Errorf("exit code %d, want %d", code, exitTrouble)
	}
	p.says(append(words, "robotswatch: ")...)
}

func TestFaultTwoDaemonsOnOneFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example"))
	first := start(t, s.dir).ready()
	inUse := []string{"the store is in use by another daemon", fmt.Sprintf("process %d on ", first.cmd.Process.Pid)}
	refuses(t, start(t, s.dir), inUse...)
	// So it is where another name leads to the file.
	if err := os.Symlink("test.db", filepath.Join(s.dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	s.configure("[store]\nurl = \"sqlite:link.db\"\n", s.sites("a.example"))
	refuses(t, start(t, s.dir), inUse...)
	// A kill leaves nothing behind that would refuse the next.
	first.signal(syscall.SIGKILL)
	first.end()
	start(t, s.dir).ready().stop()
}

func TestFaultDamagedFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example"))
	start(t, s.dir).ready().stop()
	path := filepath.Join(s.dir, "test.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(from, to int) {
		b := append([]byte{}, whole...)
		for i := from; i < to; i++ {
			b[i] = 0xa5
		}
		s.write("test.db", string(b))
	}
	damage(0, 4096)
	refuses(t, start(t, s.dir), "store sqlite:test.db: ", "file is not a database")
	damage(100, 4096)
	refuses(t, start(t, s.dir), "store sqlite:test.db: ", "malformed")

	damage(len(whole)/2, len(whole))
	out, _ := program(t, s.dir, nil, "--config", "config.toml", "store", "check").CombinedOutput()
	if strings.Contains(string(out), "the store is sound") {
		t.Errorf("half of the file is gone, and store check says %s", out)
	}
}

// mountTmpfs gives a small file system of its own.
func mountTmpfs(t *testing.T, dir, size string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		needs.Lacking(t, "needs a file system of its own: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func TestFaultReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mountTmpfs(t, s.dir, "24m")
	s.configure(s.sites("a.example"))
	start(t, s.dir).ready().stop()
	readOnly := func(flag uintptr) {
		if err := syscall.Mount("", s.dir, "", syscall.MS_REMOUNT|flag, "size=24m"); err != nil {
			t.Fatal(err)
		}
	}
	readOnly(syscall.MS_RDONLY)
	refuses(t, start(t, s.dir), "store sqlite:test.db: ", "read-only file system")
	readOnly(0)
	start(t, s.dir).ready().stop()
}

func TestFaultFullDisk(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mountTmpfs(t, s.dir, "24m")
	s.configure(s.sites("a.example", "b.example"))
	p := start(t, s.dir).ready()
	eventually(t, "a.example is looked at", func() bool { return s.web.Stats("a.example").Requests > 0 })
	ballast := filepath.Join(s.dir, "ballast")
	fill(t, ballast)
	eventually(t, "the metrics tell of it", func() bool { v, _ := p.metric("robotswatch_store_errors_total"); return v > 0 })
	if status, _ := p.ask("GET", "/api/v1/sites"); status != http.StatusOK {
		t.Errorf("what is known can be read, but the answer is %d", status)
	}
	within(t, 2*patience, "it is not ready", func() bool {
		status, _ := p.ask("GET", "/-/ready")
		return status == http.StatusServiceUnavailable
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.web.Set("a.example", simweb.Text("User-agent: *\nDisallow: /\n"))
	eventually(t, "changes are recorded again", func() bool {
		v, _ := p.metric(`robotswatch_changes_total{kind="access",severity="critical"}`)
		return v > 0
	})
	p.stop()
}

// Without descriptors nothing can be looked at. That is no fault of the sites.
func TestFaultNoFileDescriptors(t *testing.T) {
	t.Parallel()
	needs.Program(t, "prlimit")
	s := newStage(t)
	var hosts []string
	for i := range 80 {
		hosts = append(hosts, fmt.Sprintf("site%d.example", i))
		s.play(hosts[i], simweb.Answer{Delay: 300 * time.Millisecond}.For(0))
	}
	s.configure(s.sites(hosts...), "[confirm]\nfailures = 2\ninterval = \"1s\"\n")
	p := start(t, s.dir).ready()
	eventually(t, "each site is known", func() bool { v, _ := p.metric(`robotswatch_sites{state="policy"}`); return v == 80 })
	limit := func(files string) {
		if out, err := exec.Command("prlimit", "--pid", fmt.Sprint(p.cmd.Process.Pid), "--nofile="+files+":1024").CombinedOutput(); err != nil {
			t.Fatalf("prlimit: %v: %s", err, out)
		}
	}
	limit("16")
	p.says("taken as an outage of this machine's network")
	pass(3 * time.Second) // more than two looks at each: enough to confirm a fault
	limit("1024")
	looks := s.web.Total().Requests
	eventually(t, "sites are looked at again", func() bool { return s.web.Total().Requests > looks+80 })
	for _, severity := range []string{"warning", "critical"} {
		if v, _ := p.metric(`robotswatch_changes_total{kind="state",severity="` + severity + `"}`); v != 0 {
			t.Errorf("%v state events were made of our own want", v)
		}
	}
	p.stop()
}

func TestFaultNoNames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.write("resolv.conf", "nameserver 127.0.0.1\noptions attempts:1 timeout:1\n")
	s.write("alone.sh", "set -e\nmount --bind resolv.conf /etc/resolv.conf\nexec \"$@\"\n")
	alone := []string{"unshare", "--mount", "sh", "alone.sh"}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		needs.Lacking(t, "needs a mount namespace: %v %s", err, out)
	}
	var hosts []string
	for i := range 40 {
		hosts = append(hosts, fmt.Sprintf("site%d.example", i))
	}
	config := s.sites(hosts...) + "[confirm]\nfailures = 2\ninterval = \"3s\"\n"
	s.configure(config)
	p := start(t, s.dir).ready()
	eventually(t, "each site is known", func() bool { v, _ := p.metric(`robotswatch_sites{state="policy"}`); return v == 40 })
	p.stop()
	s.configure("[fetch]\ntimeout = \"2s\"\n", config) // no proxy: it asks for names itself
	p = start(t, s.dir, alone...).ready()
	eventually(t, "the metrics tell of it", func() bool { v, _ := p.metric("robotswatch_own_outage"); return v == 1 })
	if v, _ := p.metric(`robotswatch_sites{state="policy"}`); v != 40 {
		t.Errorf("%v of 40 sites are as they were", v)
	}
	if v, _ := p.metric(`robotswatch_changes_total{kind="state",severity="critical"}`); v != 0 {
		t.Errorf("%v state events were made of our own outage", v)
	}
	p.stop()
}

// fill writes a file until there is no room left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 4096)
	for {
		if _, err = w.Write(make([]byte, 4096)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
