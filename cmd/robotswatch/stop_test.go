package main

import (
	"crypto/x509"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/simweb"
)

// stopLimit is what a service manager may count on.
const stopLimit = 10 * time.Second

func marshalKey(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestStopDuringTheStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	// A database server that never answers.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			asked <- c
		}
	}()
	s.configure(fmt.Sprintf("[store]\nurl = \"postgres://x@%s/x?sslmode=disable\"\n", l.Addr()), s.sites("a.example"))
	p := start(t, s.dir)
	select {
	case c := <-asked:
		defer c.Close()
	case <-time.After(patience):
		t.Fatalf("it does not connect:\n%s", p.log())
	}
	if took := p.stop(); took > stopLimit {
		t.Errorf("it took %v", took)
	}
	p.says("robotswatch was stopped while it started")
}

// However early the signal comes, the next start finds all in order.
func TestStopAtAnyMoment(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example", "b.example"))
	for i := range 8 {
		p := start(t, s.dir)
		pass(time.Duration(i) * 60 * time.Millisecond)
		p.signal(syscall.SIGTERM)
		// Before the program listens to signals they end it.
		if code := p.end(); code != exitOK && code != -1 {
			t.Errorf("exit code %d", code)
		}
	}
	start(t, s.dir).ready().stop()
}

// Whatever it has just said, it ends in time and cleanly; a stop in the middle
// of taking up 20,000 sites leaves a store that the next start completes.
func TestStopAtEveryStage(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&list, "http://site%d.example\n", i)
	}
	for _, stage := range []string{"Listening on", "sites are in step with the configuration", "robotswatch is running", "store cleaned"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.write("sites.txt", list.String())
			s.configure("[schedule]\ndefault = \"@every 1h\"\n", "[[site_files]]\npath = \"sites.txt\"\n")
			p := start(t, s.dir)
			p.says(stage)
			if took := p.stop(); took > stopLimit {
				t.Errorf("it took %v", took)
			}
			p = start(t, s.dir).ready()
			p.says("sites are in step with the configuration", `"sites":20000`)
			p.stop()
		})
	}
}

func TestStopWhileEverythingHangs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	called := make(chan struct{}, 10)
	box := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		called <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(func() { box.CloseClientConnections(); box.Close() })
	s.play("news.example", simweb.Text("").For(1), simweb.Text("User-agent: *\nDisallow: /\n").For(0))
	s.play("hanging.example", simweb.Broken(simweb.Hang, "").For(0))
	s.configure("[fetch]\nproxy = \""+s.web.ProxyURL().String()+"\"\nallow_private_networks = true\ntimeout = \"30s\"\n",
		s.sites("news.example", "hanging.example"), hook("hanging", box.URL))
	p := start(t, s.dir).ready()
	c, err := net.Dial("tcp", p.address) // a request that is never whole
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET /metrics HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-called:
	case <-time.After(patience):
		t.Fatal("the receiver is not called")
	}
	eventually(t, "hanging.example is asked", func() bool { return s.web.Stats("hanging.example").Requests > 0 })
	if took := p.stop(); took > stopLimit {
		t.Errorf("it took %v", took)
	}
	p.says("robotswatch has stopped")

	// The message was not taken: it goes out again, and the site is free.
	looks := s.web.Stats("hanging.example").Requests
	start(t, s.dir).ready()
	select {
	case <-called:
	case <-time.After(patience):
		t.Fatal("the message is not sent again")
	}
	eventually(t, "the site is looked at again", func() bool { return s.web.Stats("hanging.example").Requests > looks })
}

func TestStopWhileTheDatabaseIsLocked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.configure(s.sites("a.example"))
	p := start(t, s.dir).ready()
	eventually(t, "a.example is looked at", func() bool { return s.web.Stats("a.example").Requests > 0 })
	unlock := lockDatabase(t, filepath.Join(s.dir, "test.db"))
	eventually(t, "the metrics tell of it", func() bool { v, _ := p.metric("robotswatch_store_errors_total"); return v > 0 })
	if status, _ := p.ask("GET", "/-/ready"); status != http.StatusOK {
		t.Errorf("pages can be read while nothing can be written, but it is not ready: %d", status)
	}
	asked := time.Now()
	p.signal(syscall.SIGTERM)
	code := p.end()
	if took := time.Since(asked); took > stopLimit {
		t.Errorf("it took %v", took)
	}
	if code == exitTrouble {
		p.says("gave up waiting for a clean end after 9s; what was recorded is safe")
	}
	unlock()
	start(t, s.dir).ready().stop()
}

// lockDatabase locks a SQLite file for all others.
func lockDatabase(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		conn.Close()
		db.Close()
	}
}
