//go:build !race

// The program of these tests is built without the race detector.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
)

// The fault campaign: a real daemon is killed at random moments again and
// again while sites change and receivers misbehave. Then every change must
// have reached every receiver, in order within its site, and under no other
// id; and again only where a kill, or the receiver itself, left no other way.
//
// ROBOTSWATCH_CAMPAIGN is the number of kills; a few by default.
const (
	campaignSites   = 12
	campaignTimeout = 500 * time.Millisecond // of one delivery
)

func kills(t *testing.T) int { return sizes.Of(t, "ROBOTSWATCH_CAMPAIGN", 6, 2) }

// span is the time in which a kill took effect.
type span struct{ from, to time.Time }

// campaign is the daemon with all that is round it.
type campaign struct {
	t         *testing.T
	dir       string
	web       *simweb.Web
	receivers []*faultyReceiver
	trouble   atomic.Bool
	kills     []span
	log       bytes.Buffer
}

func newCampaign(t *testing.T, dir string) *campaign {
	t.Helper()
	c := &campaign{t: t, dir: dir}
	var err error
	if c.web, err = simweb.New(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.web.Close() })
	var config strings.Builder
	fmt.Fprintf(&config, `
[store]
url = "sqlite:%s"
[schedule]
default = "@every 1s"
[fetch]
proxy = "%s"
allow_private_networks = true
timeout = "2s"
[server]
listen = "127.0.0.1:0"
[agents]
watch = ["GPTBot", "CCBot"]
`, filepath.Join(dir, "campaign.db"), c.web.ProxyURL())
	c.receivers = faultyReceivers(&c.trouble)
	for _, f := range c.receivers {
		s := httptest.NewServer(f)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		fmt.Fprintf(&config, "[[receivers]]\nname = %q\ntype = \"webhook\"\nurl = %q\ntimeout = %q\n", f.name, s.URL, campaignTimeout)
	}
	for i := range campaignSites {
		host := fmt.Sprintf("site%d.example", i)
		fmt.Fprintf(&config, "[[sites]]\nurl = %q\n", "http://"+host)
		// Each second look finds another policy, and none comes back, which
		// would be taken for flapping.
		var scenes []simweb.Scene
		for k := range 2000 {
			scenes = append(scenes, simweb.Text(fmt.Sprintf("User-agent: *\nDisallow: /%d/\n", k)).For(2))
		}
		c.web.Play(host, scenes...)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *campaign) command(args ...string) *exec.Cmd {
	return program(c.t, c.dir, nil, append([]string{"--config", filepath.Join(c.dir, "config.toml")}, args...)...)
}

// start runs the daemon; its log is kept.
func (c *campaign) start() *exec.Cmd {
	c.t.Helper()
	cmd := c.command("run", "--log-format", "json")
	cmd.Stderr = &c.log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// runFor lets the daemon live for a while, then kills it.
func (c *campaign) runFor(d time.Duration) {
	c.t.Helper()
	cmd := c.start()
	pass(d)
	err := c.kill(cmd)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		c.t.Fatalf("the daemon ended by itself: %v\n%s", err, c.log.String())
	}
}

func (c *campaign) kill(cmd *exec.Cmd) error {
	c.t.Helper()
	from := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	err := cmd.Wait()
	c.kills = append(c.kills, span{from, time.Now()})
	return err
}

// recorded are the changes that receivers must have got, by site in order.
func (c *campaign) recorded() map[string][]string {
	c.t.Helper()
	out, err := c.command("changes", "--format", "json", "--limit", "0").Output()
	if err != nil {
		c.t.Fatalf("changes: %v", err)
	}
	by := map[string][]string{}
	for line := range bytes.Lines(out) {
		var change watcher.Change
		if err := json.Unmarshal(line, &change); err != nil {
			c.t.Fatal(err)
		}
		if change.Severity != watcher.Info {
			by[change.Site] = append(by[change.Site], change.ID)
		}
	}
	for _, ids := range by {
		slices.Sort(ids)
	}
	return by
}

// settle ends all trouble and lets the daemon deliver what is left.
func (c *campaign) settle() {
	c.t.Helper()
	c.trouble.Store(false)
	for i := range campaignSites {
		c.web.Set(fmt.Sprintf("site%d.example", i), simweb.Text("User-agent: *\nDisallow: /\n"))
	}
	cmd := c.start()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	deadline := time.Now().Add(3 * time.Minute)
	for quiet := 0; quiet < 3; {
		if time.Now().After(deadline) {
			out, _ := c.command("deliveries").CombinedOutput()
			c.t.Errorf("not everything was delivered in time:\n%.2000s", out)
			break
		}
		<-tick.C
		out, err := c.command("deliveries", "--format", "json").Output()
		if err != nil {
			c.t.Fatalf("deliveries: %v", err)
		}
		if quiet++; len(out) > 0 {
			quiet = 0
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("the daemon did not end well: %v", err)
	}
}

func TestFaultCampaign(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, t.TempDir())
	c.trouble.Store(true)
	c.runFor(3 * time.Second) // the baseline
	random := rand.New(rand.NewPCG(7, 7))
	for i := range kills(t) {
		if i%10 == 9 {
			c.moveStore()
		}
		c.runFor(200*time.Millisecond + time.Duration(random.IntN(2300))*time.Millisecond)
	}
	c.settle()
	c.judge()
}

// moveStore copies the database's files away and back.
func (c *campaign) moveStore() {
	c.t.Helper()
	away := c.t.TempDir()
	files, err := filepath.Glob(filepath.Join(c.dir, "campaign.db*"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range files {
		copyFile(c.t, f, filepath.Join(away, filepath.Base(f)))
		if err := os.Remove(f); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, f := range files {
		copyFile(c.t, filepath.Join(away, filepath.Base(f)), f)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The same with a disk that is full for a while: nothing is recorded then and
// nothing is lost, and what was recorded before goes on being delivered.
func TestFaultCampaignWithAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		needs.Lacking(t, "needs a small file system of its own: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	c := newCampaign(t, dir)
	c.trouble.Store(true)
	c.runFor(3 * time.Second)
	ballast := filepath.Join(dir, "ballast")
	for range max(1, kills(t)/12) {
		fill(t, ballast)
		cmd := c.start()
		pass(2 * time.Second)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		fill(t, ballast)
		pass(time.Second)
		if err := c.kill(cmd); err == nil {
			t.Error("the daemon ended by itself")
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		c.runFor(2 * time.Second)
	}
	c.settle()
	c.judge()
}
