// Package pgtest gives tests a PostgreSQL: the one that
// $ROBOTSWATCH_TEST_POSTGRES names, or a cluster of its own, started from the
// installed binaries as an unprivileged user on a socket in a temporary
// directory, and gone with the test process.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// EnvURL names a server whose user may create databases.
const EnvURL = "ROBOTSWATCH_TEST_POSTGRES"

// ErrNotInstalled is that there are no PostgreSQL binaries.
var ErrNotInstalled = errors.New("PostgreSQL is not installed and $" + EnvURL + " is not set")

// Cluster is a running server.
type Cluster struct {
	url  string // of the database postgres
	dir  string
	bin  string
	cred *syscall.Credential
	proc *exec.Cmd
	done chan struct{}
	made atomic.Int64
}

// Start gives a server. Its Stop must be called; if the process dies before,
// the server dies too.
func Start() (*Cluster, error) {
	if u := os.Getenv(EnvURL); u != "" {
		return &Cluster{url: u}, nil
	}
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(bins) == 0 {
		if p, err := exec.LookPath("initdb"); err == nil {
			bins = []string{p}
		}
	}
	if len(bins) == 0 {
		return nil, ErrNotInstalled
	}
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: filepath.Dir(slices.Max(bins)), done: make(chan struct{})}
	if err := c.init(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if err := c.Boot(); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) init() error {
	// The server refuses to run as root.
	name := "postgres"
	if os.Geteuid() == 0 {
		u, err := user.Lookup(name)
		if err != nil {
			if u, err = user.Lookup("nobody"); err != nil {
				return err
			}
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		c.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(c.dir, uid, gid); err != nil {
			return err
		}
	}
	out, err := c.command("initdb", "-D", c.dir+"/data", "-U", name, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	c.url = (&url.URL{Scheme: "postgres", User: url.User(name), Path: "/postgres", RawQuery: url.Values{"host": {c.dir}}.Encode()}).String()
	return nil
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// Boot starts the server of a cluster that is down.
func (c *Cluster) Boot() error {
	c.proc = c.command("postgres", "-D", c.dir+"/data", "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "full_page_writes=off", "-c", "max_connections=200")
	var log strings.Builder
	c.proc.Stderr = &log
	started := make(chan error)
	c.done = make(chan struct{})
	go func(proc *exec.Cmd, done chan struct{}) {
		// The kernel ties the death signal to the thread that started it.
		runtime.LockOSThread()
		defer close(done)
		err := proc.Start()
		started <- err
		if err == nil {
			_ = proc.Wait()
		}
	}(c.proc, c.done)
	if err := <-started; err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.done:
			return fmt.Errorf("postgres ended: %s", log.String())
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-tick.C:
		}
	}
}

// Down ends the server at once, as a crash would; Boot brings it back.
func (c *Cluster) Down() error {
	if c.proc == nil || c.proc.Process == nil {
		return errors.New("not a server of this process")
	}
	if err := c.proc.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.done
	return nil
}

// Stop ends the server and removes its files.
func (c *Cluster) Stop() {
	if c == nil || c.proc == nil {
		return
	}
	_ = c.Down()
	os.RemoveAll(c.dir)
}

// Database makes an empty database for one test and gives its URL.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("t%d_%d", os.Getpid(), c.made.Add(1))
	c.exec(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { c.exec(t, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	u, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func (c *Cluster) exec(t testing.TB, query string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, query); err != nil {
		t.Fatal(err)
	}
}

// Owned reports an error for a server that this process cannot take down.
func (c *Cluster) Owned() error {
	if c.proc == nil {
		return errors.New("the server of $" + EnvURL + " is not ours to take down")
	}
	return nil
}
