package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/secret"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// alertmanager is a real one, started by the test.
type alertmanager struct {
	t   *testing.T
	URL string
	cmd *exec.Cmd
	dir string
}

func startAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	needs.Program(t, "prometheus-alertmanager")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	a := &alertmanager{t: t, URL: "http://" + address, dir: t.TempDir()}
	config := "route: {receiver: none}\nreceivers: [{name: none}]\n"
	if err := os.WriteFile(filepath.Join(a.dir, "am.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	a.start(address)
	t.Cleanup(a.stop)
	return a
}

func (a *alertmanager) start(address string) {
	a.t.Helper()
	a.cmd = exec.Command("prometheus-alertmanager", "--config.file="+filepath.Join(a.dir, "am.yml"),
		"--storage.path="+filepath.Join(a.dir, "data"), "--web.listen-address="+address, "--cluster.listen-address=")
	if err := a.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.eventually("ready", func() bool {
		resp, err := http.Get(a.URL + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == 200
	})
}

func (a *alertmanager) stop() {
	a.cmd.Process.Kill()
	a.cmd.Wait()
}

// eventually polls a process that has no other way to tell.
func (a *alertmanager) eventually(what string, ok func() bool) {
	a.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			a.t.Fatalf("not %s within 30 s; firing: %v", what, a.firing())
		case <-tick.C:
		}
	}
}

// firing lists alerts as "name site agent", sorted.
func (a *alertmanager) firing() []string {
	resp, err := http.Get(a.URL + "/api/v2/alerts?active=true")
	if err != nil {
		return []string{err.Error()}
	}
	defer resp.Body.Close()
	var list []struct {
		Labels      map[string]string
		Annotations map[string]string
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return []string{err.Error()}
	}
	out := []string{}
	for _, x := range list {
		out = append(out, strings.TrimSpace(fmt.Sprint(x.Labels["alertname"], " ", x.Labels["site"], " ", x.Labels["agent"], " ", x.Labels["state"])))
	}
	slices.Sort(out)
	return out
}

func (a *alertmanager) wantFiring(want ...string) {
	a.t.Helper()
	slices.Sort(want)
	a.eventually(fmt.Sprintf("firing %q", want), func() bool { return slices.Equal(a.firing(), want) })
}

func (a *alertmanager) config() notify.ReceiverConfig {
	return notify.ReceiverConfig{Name: "am", To: notify.AlertmanagerConfig{URL: secret.New(a.URL)}, MinSeverity: watcher.Critical}
}

func TestAlertmanagerShowsAndResolves(t *testing.T) {
	w, a := newWorld(t, 3), startAlertmanager(t)
	d := w.dispatcher(a.config())
	stop := w.run(d)
	w.record(blocks(0, "GPTBot", "CCBot"), stateful(1, fetch.Policy, fetch.Unreachable, watcher.Critical))
	d.Poke()
	outage := "RobotsTxtUnavailable https://site1.example  unreachable"
	a.wantFiring("RobotsAgentBlocked https://site0.example GPTBot", "RobotsAgentBlocked https://site0.example CCBot", outage)

	freed := frees(0, "GPTBot")
	w.record(freed)
	d.Poke()
	a.wantFiring("RobotsAgentBlocked https://site0.example CCBot", outage)

	// An Alertmanager that was restarted has forgotten everything; a new
	// dispatcher, as after a restart of the daemon, tells it at once.
	a.stop()
	stop()
	a.start(strings.TrimPrefix(a.URL, "http://"))
	d = w.dispatcher(a.config())
	defer w.run(d)()
	a.wantFiring("RobotsAgentBlocked https://site0.example CCBot", outage)

	// The end of an outage is no more than a warning; who shows the outage is
	// told all the same.
	w.record(stateful(1, fetch.Unreachable, fetch.Policy, watcher.Warning))
	partly := access(0, diff.Mixed, diff.Blocked, diff.Partial, "CCBot")
	w.record(partly)
	d.Poke()
	a.wantFiring()
}

func TestAlertsOfSitesThatLeftEnd(t *testing.T) {
	w, a := newWorld(t, 2), startAlertmanager(t)
	d := w.dispatcher(a.config())
	stop := w.run(d)
	w.record(blocks(0, "GPTBot"), blocks(1, "GPTBot"))
	d.Poke()
	a.wantFiring("RobotsAgentBlocked https://site0.example GPTBot", "RobotsAgentBlocked https://site1.example GPTBot")
	stop()
	if _, err := w.store.SyncSites(context.Background(), time.Now(), func(yield func(watcher.SiteConfig, error) bool) {
		yield(watcher.SiteConfig{Origin: origin(1)}, nil)
	}, func(string, string) time.Time { return time.Now() }); err != nil {
		t.Fatal(err)
	}
	d = w.dispatcher(a.config())
	defer w.run(d)()
	a.wantFiring("RobotsAgentBlocked https://site1.example GPTBot")
}
