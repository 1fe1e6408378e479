//go:build !race

// Alerts have deadlines that the race detector's daemons miss.

package main

import (
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/simweb"
)

// trouble is what makes alerts fire, and what the runbook says to do.
type trouble struct {
	alerts     []string
	begin, end func()
	after      func() // what has to be so in the end; nil: nothing more
}

// troubled is a daemon with troubles to come, one after the other.
type troubled struct {
	*stage
	address  string
	p        *process
	config   string
	troubles []trouble
}

// configureAt writes the configuration of a daemon that Prometheus can find.
func (d *troubled) configureAt(parts ...string) {
	d.config = strings.Join(append([]string{fmt.Sprintf("[server]\nlisten = %q\n", d.address)}, parts...), "\n")
	d.configure(d.config)
}

// TestAlertsFireAndResolve lets a real Prometheus with our rules and a real
// Alertmanager watch real daemons, each of which meets its trouble; all at
// once, since each alert is to tell of its own trouble only.
func TestAlertsFireAndResolve(t *testing.T) {
	for _, name := range []string{"prometheus", "prometheus-alertmanager"} {
		needs.Program(t, name)
	}
	t.Parallel()
	var daemons []*troubled
	var addresses []string
	for _, prepare := range []func(*troubled){killed, receiversFail, storm, stuck, locked, dark} {
		d := &troubled{stage: newStage(t), address: freeAddress(t)}
		prepare(d)
		d.p = start(t, d.dir).ready()
		daemons, addresses = append(daemons, d), append(addresses, d.address)
	}
	m := startMonitoring(t, addresses)
	fired := map[string]bool{}
	for round := 0; ; round++ {
		met := 0
		// Each step for all: what they wait for passes at the same time.
		for _, step := range []func(*monitoring, *troubled, trouble){begin, fire, end, resolve} {
			for _, d := range daemons {
				if round < len(d.troubles) {
					step(m, d, d.troubles[round])
					met++
				}
			}
		}
		if met == 0 {
			break
		}
	}
	for _, d := range daemons {
		for _, x := range d.troubles {
			for _, a := range x.alerts {
				fired[a] = true
			}
		}
	}
	for _, a := range alertNames(t) {
		if !fired[a] {
			t.Errorf("no trouble makes %s fire", a)
		}
	}
}

func begin(m *monitoring, d *troubled, x trouble) {
	for _, a := range x.alerts {
		if m.heard(a, d.address, "firing") != nil {
			d.t.Errorf("%s fires before anything is wrong", a)
		}
	}
	x.begin()
}

func fire(m *monitoring, d *troubled, x trouble) {
	for _, a := range x.alerts {
		m.fires(d.t, a, d.address)
	}
}

func end(_ *monitoring, _ *troubled, x trouble) { x.end() }

func resolve(m *monitoring, d *troubled, x trouble) {
	for _, a := range x.alerts {
		m.resolves(d.t, a, d.address)
	}
	if x.after != nil {
		x.after()
	}
}

// sh runs a command of the program and gives what it prints.
func (d *troubled) sh(args ...string) string {
	d.t.Helper()
	out, err := program(d.t, d.dir, nil, append([]string{"--config", "config.toml"}, args...)...).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "config.toml:") {
		d.t.Errorf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// alter writes to the store behind the daemon's back: how long ago something
// was cannot be waited for.
func (d *troubled) alter(statement string) {
	d.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(d.dir, "test.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(d.t.Context(), statement); err != nil {
		d.t.Fatal(err)
	}
}

func killed(d *troubled) {
	d.configureAt(d.sites("killed.example"))
	d.troubles = []trouble{
		{alerts: []string{"RobotswatchReloadFailed"},
			begin: func() { d.write("config.toml", "nonsense"); d.p.signal(syscall.SIGHUP) },
			end: func() {
				if said := d.sh("config", "check"); !strings.Contains(said, "config.toml:1:") {
					d.t.Errorf("config check says %q", said)
				}
				d.configure(d.config)
				d.p.signal(syscall.SIGHUP)
			}},
		{alerts: []string{"RobotswatchDown"},
			begin: func() { d.p.signal(syscall.SIGKILL); d.p.end() },
			end:   func() { d.p = start(d.t, d.dir).ready() }},
	}
}

// receiversFail has one that refuses, and one that is away for a while.
func receiversFail(d *troubled) {
	var refuse, away atomic.Bool
	taken := make(chan struct{}, 100)
	answer := func(failing *atomic.Bool, status int) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if failing.Load() {
				w.WriteHeader(status)
				return
			}
			taken <- struct{}{}
		}))
		d.t.Cleanup(s.Close)
		return s
	}
	gone, slow := answer(&refuse, http.StatusGone), answer(&away, http.StatusServiceUnavailable)
	d.configureAt(d.sites("gone.example")+"tags = [\"gone\"]\n", d.sites("slow.example")+"tags = [\"slow\"]\n",
		hook("gone", gone.URL)+"tags = [\"gone\"]\n", hook("slow", slow.URL)+"tags = [\"slow\"]\n")
	d.troubles = []trouble{{alerts: []string{"RobotswatchDeliveriesOld", "RobotswatchDeliveriesDead"},
		begin: func() {
			refuse.Store(true)
			away.Store(true)
			d.web.Set("gone.example", simweb.Text(blocksAll))
			d.web.Set("slow.example", simweb.Text(blocksAll))
			eventually(d.t, "a message waits", func() bool { v, _ := d.p.metric(`robotswatch_deliveries_pending{receiver="slow"}`); return v == 1 })
			d.alter("UPDATE deliveries SET created_at = created_at - 7200000")
		},
		end: func() {
			if said := d.sh("deliveries"); !strings.Contains(said, "slow") || !strings.Contains(said, "503 Service Unavailable") {
				d.t.Errorf("deliveries says\n%s", said)
			}
			if said := d.sh("deliveries", "--dead"); !strings.Contains(said, "gone") || !strings.Contains(said, "410 Gone") {
				d.t.Errorf("deliveries --dead says\n%s", said)
			}
			away.Store(false)
			refuse.Store(false)
			d.sh("notify", "test", "--receiver", "gone")
			d.sh("deliveries", "--dead", "--retry", "--receiver", "gone")
		},
		after: func() { // the test message, that which was dead and that which was late
			for range 3 {
				select {
				case <-taken:
				case <-time.After(time.Minute):
					d.t.Fatal("not everything arrived in the end")
				}
			}
		}}}
}

func storm(d *troubled) {
	var hosts []string
	for i := range 130 {
		hosts = append(hosts, fmt.Sprintf("shop%d.example", i))
	}
	d.configureAt("[schedule]\ndefault = \"@every 2s\"\n", d.sites(hosts...))
	d.troubles = []trouble{{alerts: []string{"RobotswatchMassChange", "RobotswatchAgentNewlyBlocked"},
		begin: func() {
			eventually(d.t, "each site is known", func() bool { v, _ := d.p.metric(`robotswatch_sites{state="policy"}`); return v == 130 })
			for _, h := range hosts {
				d.web.Set(h, simweb.Text("User-agent: GPTBot\nDisallow: /\n"))
			}
		},
		end: func() {
			for page, word := range map[string]string{"/agents/GPTBot": "shop", "/changes": "GPTBot"} {
				if status, body := d.p.ask("GET", page); status != http.StatusOK || !strings.Contains(body, word) {
					d.t.Errorf("%s: status %d", page, status)
				}
			}
		}}}
}

// stuck looks at its one site for longer than anybody has patience, and has
// not finished a look for a day.
func stuck(d *troubled) {
	d.configureAt(fmt.Sprintf("[fetch]\nproxy = %q\nallow_private_networks = true\ntimeout = \"30s\"\n", d.web.ProxyURL()), d.sites("stuck.example"))
	d.troubles = []trouble{{alerts: []string{"RobotswatchStalled", "RobotswatchSitesOverdue"},
		begin: func() {
			d.web.Set("stuck.example", simweb.Answer{Delay: 20 * time.Second})
			asked := d.web.Stats("stuck.example").Requests
			eventually(d.t, "a look hangs", func() bool { return d.web.Stats("stuck.example").Requests > asked })
			const day = 25 * 60 * 60 * 1000
			d.alter(fmt.Sprintf("UPDATE sites SET last_check_at = last_check_at - %d, state_since = state_since - %[1]d", day))
		},
		end: func() { d.web.Set("stuck.example", simweb.Text("")) }}}
}

func locked(d *troubled) {
	d.configureAt(d.sites("locked.example"))
	var unlock func()
	d.troubles = []trouble{{alerts: []string{"RobotswatchStoreErrors"},
		begin: func() { unlock = lockDatabase(d.t, filepath.Join(d.dir, "test.db")) },
		end: func() {
			unlock()
			if said := d.sh("store", "check"); !strings.Contains(said, "sound") {
				d.t.Errorf("store check says %q", said)
			}
		}}}
}

// dark loses its way to the web.
func dark(d *troubled) {
	var hosts []string
	for i := range 12 {
		hosts = append(hosts, fmt.Sprintf("far%d.example", i))
	}
	w := newWay(d.t, d.web.ProxyURL().Host)
	d.configureAt(fmt.Sprintf("[fetch]\nproxy = \"http://%s\"\nallow_private_networks = true\ntimeout = \"5s\"\n", w.address), d.sites(hosts...))
	d.troubles = []trouble{{alerts: []string{"RobotswatchOwnOutage"},
		begin: func() {
			eventually(d.t, "each site is known", func() bool { v, _ := d.p.metric(`robotswatch_sites{state="policy"}`); return v == 12 })
			w.cut()
		},
		end: func() {
			w.mend()
			if v, _ := d.p.metric(`robotswatch_sites{state="policy"}`); v != 12 {
				d.t.Errorf("%v of 12 sites are as they were", v)
			}
		}}}
}

// way is a TCP connection to somewhere that can be cut.
type way struct {
	t           *testing.T
	address, to string
	mu          sync.Mutex
	listener    net.Listener
	open        []net.Conn
}

func newWay(t *testing.T, to string) *way {
	t.Helper()
	w := &way{t: t, address: "127.0.0.1:0", to: to}
	w.mend()
	w.address = w.listener.Addr().String()
	t.Cleanup(w.cut)
	return w
}

func (w *way) mend() {
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener = l
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // cut
			}
			out, err := net.Dial("tcp", w.to)
			if err != nil {
				in.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, in, out)
			w.mu.Unlock()
			for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1]) // ends with either side
					pair[0].Close()
				}()
			}
		}
	}()
}

func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener.Close()
	for _, c := range w.open {
		c.Close()
	}
	w.open = nil
}
