package main

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/watcher"
)

const reloadOK = "robotswatch_config_last_reload_successful"

func TestReloadOfABadFileKeepsTheOldConfiguration(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example"))
	p := start(t, s.dir).ready()
	eventually(t, "a.example is looked at", func() bool { return s.web.Stats("a.example").Requests > 0 })
	for _, c := range []struct{ part, says string }{
		{"[[sites]]\nurl = \"http://b.example\"\nshedule = \"@every 1h\"\n", "config.toml:18:1: sites.shedule: unknown key; did you mean schedule?"},
		{"[[sites]]\n[[sites\n", "config.toml:17:"},
		{"[[site_files]]\npath = \"nowhere.txt\"\n", "nowhere.txt"},
		{"[store]\nurl = \"sqlite:other.db\"\n", "store.url changed: that needs a restart"},
		{"[server]\nlisten = \"127.0.0.1:0\"\nweb_config = \"web.yml\"\n", "server.web_config"},
	} {
		s.configure(s.sites("a.example"), c.part)
		p.signal(syscall.SIGHUP)
		p.says("configuration not reloaded, the old one stays in force", c.says)
		if v, _ := p.metric(reloadOK); v != 0 {
			t.Errorf("%s: %s is %v, want 0", c.says, reloadOK, v)
		}
		if status, body := p.ask("POST", "/-/reload"); status != http.StatusInternalServerError || !strings.Contains(body, c.says) {
			t.Errorf("asked by HTTP: %d %s, want %q", status, body, c.says)
		}
	}
	seen := s.web.Stats("a.example").Requests
	eventually(t, "a.example goes on being looked at", func() bool { return s.web.Stats("a.example").Requests > seen })

	s.configure(s.sites("a.example", "b.example"))
	p.signal(syscall.SIGHUP)
	p.says("configuration reloaded")
	if v, _ := p.metric(reloadOK); v != 1 {
		t.Errorf("%s is %v after a good reload, want 1", reloadOK, v)
	}
	eventually(t, "b.example is looked at", func() bool { return s.web.Stats("b.example").Requests > 0 })
	p.stop()
}

// Who changes the configuration of a daemon that is just starting, and still
// reads the old one, gets the new one.
func TestReloadWhileTheConfigurationIsStillRead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example"))
	file, slow := filepath.Join(s.dir, "config.toml"), filepath.Join(s.dir, "slow")
	old, err := os.ReadFile(file)
	if err == nil {
		err = errors.Join(os.Remove(file), syscall.Mkfifo(slow, 0o600), os.Symlink("slow", file))
	}
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, s.dir)
	reads, err := os.OpenFile(slow, os.O_WRONLY, 0) // waits until it is read
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.configure(s.sites("a.example", "b.example"))
	p.signal(syscall.SIGHUP)
	if _, err := reads.Write(old); err != nil {
		t.Error(err)
	}
	reads.Close()
	p.ready().says("configuration reloaded")
	eventually(t, "b.example is looked at", func() bool { return s.web.Stats("b.example").Requests > 0 })
	p.stop()
}

// events is a receiver that keeps what it got.
type events struct {
	*httptest.Server
	mu    sync.Mutex
	got   []watcher.Change
	delay time.Duration
	asked chan string // told the id of each request when it comes
}

func newEvents(t *testing.T, delay time.Duration) *events {
	e := &events{delay: delay, asked: make(chan string, 100)}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c watcher.Change
		if json.NewDecoder(r.Body).Decode(&c) != nil {
			return
		}
		e.mu.Lock()
		e.got = append(e.got, c)
		e.mu.Unlock()
		e.asked <- c.ID
		wait(r, e.delay)
	}))
	t.Cleanup(func() { e.CloseClientConnections(); e.Close() })
	return e
}

func (e *events) of(site string) (list []watcher.Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.got {
		if c.Site == site {
			list = append(list, c)
		}
	}
	return list
}

func TestReloadFollowsEverythingThatCanChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	one, two := newEvents(t, 0), newEvents(t, 0)
	s.configure(s.sites("a.example", "b.example"), hook("one", one.URL), "[agents]\nwatch = [\"GPTBot\"]\n")
	p := start(t, s.dir).ready()
	access := func(site, agent string) string {
		return fmt.Sprintf("robotswatch_site_access{agent=%q,site=%q}", agent, "http://"+site)
	}
	for _, site := range []string{"a.example", "b.example"} {
		eventually(t, site+" is known", func() bool { _, ok := p.metric(access(site, "GPTBot")); return ok })
	}

	s.configure(hook("two", two.URL),
		"[agents]\nwatch = [\"CCBot\"]\n[metrics]\nper_site_limit = 1\n[schedule]\ndefault = \"@every 1h\"\n[log]\nlevel = \"error\"\n",
		s.sites("c.example")+"schedule = \"@every 1s\"\n", s.sites("b.example"))
	if status, body := p.ask("POST", "/-/reload"); status != http.StatusOK {
		t.Fatalf("reload: %d %s", status, body)
	}
	if _, told := p.mentions(0, "configuration reloaded"); told {
		t.Error("log.level = \"error\" is not followed")
	}
	if v, _ := p.metric("robotswatch_per_site_metrics_capped"); v != 1 {
		t.Error("metrics.per_site_limit is not followed")
	}
	eventually(t, "c.example is looked at", func() bool { return s.web.Stats("c.example").Requests > 2 })
	if v, ok := p.metric(`robotswatch_access_changes_total{agent="CCBot",direction="tightened"}`); !ok || v != 0 {
		t.Error("the new agent has no series")
	}
	if _, ok := p.metric(`robotswatch_access_changes_total{agent="GPTBot",direction="tightened"}`); ok {
		t.Error("the old agent still has series")
	}
	if _, ok := p.metric(`robotswatch_deliveries_pending{receiver="one"}`); ok {
		t.Error("the old receiver still has series")
	}
	// The old default left b.example due within a second; the new plan is hours.
	a, b := s.web.Stats("a.example").Requests, s.web.Stats("b.example").Requests
	s.web.Set("c.example", simweb.Text("User-agent: CCBot\nDisallow: /\n"))
	eventually(t, "the new receiver hears of the new agent", func() bool { return len(two.of("http://c.example")) == 1 })
	if n := s.web.Stats("b.example").Requests; n > b+1 {
		t.Errorf("b.example was looked at %d more times within seconds, at @every 1h", n-b)
	}
	if n := s.web.Stats("a.example").Requests; n > a {
		t.Errorf("a.example has left and was looked at %d more times", n-a)
	}
	if len(one.got) > 0 {
		t.Errorf("a receiver that has left got %v", one.got)
	}
	p.stop()
}

func TestReloadAndStopLoseNeitherLookNorDelivery(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	box := newEvents(t, 1500*time.Millisecond)
	s.play("slow.example", simweb.Answer{Delay: 2 * time.Second}.For(0))
	s.configure(s.sites("slow.example", "news.example"), hook("box", box.URL))
	p := start(t, s.dir).ready()
	eventually(t, "news.example is known", func() bool {
		status, _ := p.ask("GET", "/api/v1/sites/news.example?scheme=http")
		return status == http.StatusOK && s.web.Stats("news.example").Requests > 1
	})
	for i, do := range []func(){
		func() { p.signal(syscall.SIGHUP); p.says("configuration reloaded") },
		func() { p.stop(); p = start(t, s.dir).ready() },
	} {
		s.web.Set("news.example", simweb.Text(fmt.Sprintf("User-agent: *\nDisallow: /%d\n", i)))
		select {
		case <-box.asked:
		case <-time.After(patience):
			t.Fatal("the change is not announced")
		}
		looks := s.web.Stats("slow.example").Requests
		do() // while one message and one look are under way
		eventually(t, "slow.example is looked at again, without waiting for its lease to run out",
			func() bool { return s.web.Stats("slow.example").Requests > looks })
		eventually(t, "nothing is pending", func() bool { v, _ := p.metric(`robotswatch_deliveries_pending{receiver="box"}`); return v == 0 })
	}
	ids := map[string]int{}
	for _, c := range box.of("http://news.example") {
		if ids[c.ID]++; ids[c.ID] > 1 {
			t.Errorf("%s was sent twice", c.ID)
		}
	}
	if len(ids) != 2 {
		t.Errorf("%d changes were delivered, want 2", len(ids))
	}
	p.stop()
}

func TestReloadMovesTheServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first, second := freeAddress(t), freeAddress(t)
	server := func(address, web string) string {
		return fmt.Sprintf("[server]\nlisten = %q\nweb_config = %q\n", address, web)
	}
	s.configure(server(first, ""), s.sites("a.example"))
	p := start(t, s.dir).ready()
	s.configure(server(second, ""), s.sites("a.example"))
	if status, body := p.ask("POST", "/-/reload"); status != http.StatusOK {
		t.Fatalf("reload: %d %s", status, body)
	}
	eventually(t, "the old port is closed", func() bool {
		c, err := net.Dial("tcp", first)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	p.address = second
	writeCertificate(s)
	s.write("web.yml", "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n")
	s.configure(server(second, filepath.Join(s.dir, "web.yml")), s.sites("a.example"))
	if status, body := p.ask("POST", "/-/reload"); status != http.StatusOK {
		t.Fatalf("reload: %d %s", status, body)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	eventually(t, "TLS is spoken at the same port", func() bool {
		resp, err := client.Get("https://" + second + "/-/ready")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	p.stop()
}

// writeCertificate writes that of httptest, with its key.
func writeCertificate(s *stage) {
	s.t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	c := srv.TLS.Certificates[0]
	s.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})))
	s.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: marshalKey(s.t, c.PrivateKey)})))
}
