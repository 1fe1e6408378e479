package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/store/pgtest"
)

// More of the table of faults in docs/operations.md: what happens to the
// machine and to the database server.

// critical is the series that counts sites which block somebody.
const critical = `robotswatch_changes_total{kind="access",severity="critical"}`

// TestFaultClockWasSet has a store in which all times are of another clock:
// what a clock that is set leaves behind.
func TestFaultClockWasSet(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"back": 3 * 24 * time.Hour, "forward": -3 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			took := make(chan struct{}, 100)
			box := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				took <- struct{}{}
			}))
			t.Cleanup(box.Close)
			s.configure("[schedule]\ndefault = \"@every 6h\"\n", s.sites("a.example"), hook("box", box.URL))
			p := start(t, s.dir).ready()
			eventually(t, "a.example is known", func() bool { v, _ := p.metric(`robotswatch_sites{state="policy"}`); return v == 1 })
			p.stop()
			moveTimes(t, filepath.Join(s.dir, "test.db"), by)

			s.web.Set("a.example", simweb.Text(blocksAll))
			s.configure("[schedule]\ndefault = \"@every 1s\"\n", s.sites("a.example"), hook("box", box.URL))
			p = start(t, s.dir).ready()
			if by > 0 {
				p.says("the clock was set back, plans are moved with it")
			}
			select {
			case <-took:
			case <-time.After(patience):
				t.Fatalf("the change is not delivered:\n%s", p.log())
			}
			p.stop()
		})
	}
}

func moveTimes(t *testing.T, path string, by time.Duration) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, update := range []string{
		"sites SET next_check_at = next_check_at + ?1, last_check_at = last_check_at + ?1, state_since = state_since + ?1, readable_at = readable_at + ?1",
		"facts SET value = value + ?1 WHERE name = 'last_look'",
	} {
		if _, err := db.ExecContext(t.Context(), "UPDATE "+update, by.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFaultPostgreSQLGoneAndBack stops the database server under the daemon.
func TestFaultPostgreSQLGoneAndBack(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start()
	if errors.Is(err, pgtest.ErrNotInstalled) {
		needs.Lacking(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	if err := server.Owned(); err != nil {
		needs.Lacking(t, "%v", err)
	}
	s := newStage(t)
	s.configure(fmt.Sprintf("[store]\nurl = %q\n", server.Database(t)), s.sites("a.example"))
	p := start(t, s.dir).ready()
	eventually(t, "a.example is known", func() bool { v, _ := p.metric(`robotswatch_sites{state="policy"}`); return v == 1 })
	if err := server.Down(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the metrics tell of it", func() bool { v, _ := p.metric("robotswatch_store_errors_total"); return v > 0 })
	if v, ok := p.metric(`robotswatch_config_last_reload_successful`); v != 1 || !ok {
		t.Error("what needs no store is missing from the metrics")
	}
	if status, _ := p.ask("GET", "/-/healthy"); status != http.StatusOK {
		t.Errorf("the process answers, but is not healthy: %d", status)
	}
	if status, body := p.ask("GET", "/-/ready"); status != http.StatusServiceUnavailable || strings.Contains(body, "password") {
		t.Errorf("without its store it is ready: %d %s", status, body)
	}
	late := start(t, s.dir)
	if line, ok := late.mentions(2*patience, "robotswatch: store postgres://"); !ok || late.end() != exitTrouble {
		t.Errorf("a start without it says %q\n%s", line, late.log())
	}
	if err := server.Boot(); err != nil {
		t.Fatal(err)
	}
	s.web.Set("a.example", simweb.Text(blocksAll))
	eventually(t, "changes are recorded again", func() bool { v, _ := p.metric(critical); return v > 0 })
	if status, body := p.ask("GET", "/-/ready"); status != http.StatusOK {
		t.Errorf("the store is back, but it is not ready: %d %s", status, body)
	}
	p.stop()
}

// TestSlowClientsAreLetGo: clients that never finish asking lose their
// connections, and hold up nobody meanwhile.
func TestSlowClientsAreLetGo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example"))
	p := start(t, s.dir).ready()
	var slow []net.Conn
	for range 300 {
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
	}
	if status, _ := p.ask("GET", "/-/ready"); status != http.StatusOK {
		t.Errorf("it is not ready: %d", status)
	}
	for i, c := range slow {
		if err := c.SetReadDeadline(time.Now().Add(2 * headerTimeout)); err != nil {
			t.Fatal(err)
		}
		// Something may be said about it before the end.
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is still open", i)
		}
	}
	p.stop()
}
