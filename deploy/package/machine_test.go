//go:build system

package package_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asClient in the environment makes the test binary fetch a URL: it is run in
// the network of a machine.
const asClient = "ROBOTSWATCH_TEST_GET"

func TestMain(m *testing.M) {
	if url := os.Getenv(asClient); url != "" {
		os.Exit(get(url))
	}
	if os.Getenv(asTown) != "" {
		os.Exit(town())
	}
	os.Exit(m.Run())
}

func get(url string) int {
	resp, err := (&http.Client{Timeout: 5 * time.Second}).Get(url)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer resp.Body.Close()
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

// patience of tests for something that must happen; others may be at work.
const patience = 30 * time.Second

// baseTree is a Debian with systemd and nothing else. ROBOTSWATCH_SUITE names
// its release.
func baseTree(t *testing.T) string {
	t.Helper()
	return madeOnce(t, "systemd", func(suite, tree string) {
		run(t, "debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,ca-certificates", suite, tree)
	})
}

// treeWith is the base tree with more of Debian's packages.
func treeWith(t *testing.T, name string, packages ...string) string {
	t.Helper()
	base := baseTree(t)
	return madeOnce(t, name, func(_, tree string) {
		run(t, "cp", "-a", "--reflink=auto", base, tree)
		run(t, "chroot", tree, "sh", "-c", "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "+strings.Join(packages, " "))
	})
}

// madeOnce is a tree that is made once and kept under the user's cache
// directory.
func madeOnce(t *testing.T, name string, fill func(suite, tree string)) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	suite := cmp.Or(os.Getenv("ROBOTSWATCH_SUITE"), "bookworm")
	kept := filepath.Join(cache, "robotswatch", "debian-"+suite+"-"+name)
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	made, err := os.MkdirTemp(filepath.Dir(kept), ".making-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(made) })
	tree := filepath.Join(made, "tree")
	t.Log("making a Debian, which takes some minutes")
	fill(suite, tree)
	if err := os.Rename(tree, kept); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return kept
}

// machine is a Debian of its own with a running systemd.
type machine struct {
	t      *testing.T
	root   string
	leader string // process id of its systemd, as seen from here
	self   string
	slow   time.Duration // how many times as slow as this one it is
}

// boot starts a copy of a tree, without a network.
func boot(t *testing.T, tree string) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("make package-test needs root: it starts a Debian")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: filepath.Join(t.TempDir(), "root"), self: self, slow: 1}
	run(t, "cp", "-a", "--reflink=auto", tree, m.root)
	// /etc/machine-id is made anew at the first start.
	if err := os.Remove(m.root + "/etc/machine-id"); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var console bytes.Buffer
	cmd := exec.Command("systemd-nspawn", "--quiet", "--directory="+m.root, "--boot", "--private-network", "--register=no", "--keep-unit",
		fmt.Sprintf("--machine=robotswatch-%d", os.Getpid()), "--console=pipe", "systemd.log_target=console")
	cmd.Stdout, cmd.Stderr = &console, &console
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) // it powers off
		select {
		case <-ended:
		case <-time.After(patience):
			cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("the console:\n%s", console.String())
		}
	})
	m.await("it is up", func() bool {
		// A child that goes again comes before its systemd.
		out, _ := exec.Command("pgrep", "-P", fmt.Sprint(cmd.Process.Pid)).Output()
		if m.leader = strings.TrimSpace(string(out)); m.leader == "" || strings.Contains(m.leader, "\n") {
			return false
		}
		state, _ := m.try("systemctl", "is-system-running")
		return state == "running" || state == "degraded"
	})
	return m
}

func (m *machine) await(what string, holds func() bool) {
	m.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond) // another system, which has no other way to tell
	defer tick.Stop()
	for late := time.Now().Add(m.slow * patience); !holds(); <-tick.C {
		if time.Now().After(late) {
			log, _ := m.try("journalctl", "--no-pager", "-n", "20", "-u", "robotswatch*")
			m.t.Fatalf("it never came true: %s\n%s", what, log)
		}
	}
}

// try runs a command in the machine.
func (m *machine) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), m.slow*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--target", m.leader, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"}, args...)...)
	cmd.WaitDelay = time.Second // what it left behind may hold its output
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), errors.Join(err, ctx.Err())
}

// do runs a command that must work.
func (m *machine) do(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		log, _ := m.try("journalctl", "--no-pager", "-n", "40", "-u", "robotswatch*")
		m.t.Fatalf("%v: %v\n%s\n%s", args, err, out, log)
	}
	return out
}

// page gets a page from the machine's own network; ok is that it has status 200.
func (m *machine) page(url string) (body string, ok bool) {
	cmd := exec.Command("nsenter", "--target", m.leader, "--net", m.self)
	cmd.Env = append(os.Environ(), asClient+"="+url)
	out, err := cmd.Output()
	return string(out), err == nil
}

// property of a unit.
func (m *machine) property(unit, name string) string {
	m.t.Helper()
	return m.do("systemctl", "show", "--property="+name, "--value", unit)
}

func (m *machine) has(path string) bool {
	_, err := os.Lstat(filepath.Join(m.root, path))
	return err == nil
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, path), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}
