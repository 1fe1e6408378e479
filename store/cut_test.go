package store

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

// cutter stands between a store and its PostgreSQL, and ends the connection
// when a commit was done and not answered yet.
type cutter struct {
	network, address string
	armed            atomic.Bool  // for the next commit
	every            atomic.Bool  // every second one
	commits, cut     atomic.Int64 // so far
}

// throughCutter gives the URL of a database by way of a cutter.
func throughCutter(t *testing.T, rawURL string) (string, *cutter) {
	t.Helper()
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{}
	c.network, c.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(conn)
		}
	}()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = l.Addr().String(), "sslmode=disable"
	return u.String(), c
}

func (c *cutter) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial(c.network, c.address)
	if err != nil {
		return
	}
	defer server.Close()
	var cutting atomic.Bool
	go func() {
		defer client.Close()
		for buf := make([]byte, 1<<16); ; {
			n, err := server.Read(buf)
			if err != nil || cutting.Load() {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	for buf := make([]byte, 1<<16); ; {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Equal(buf[:n], []byte("Q\x00\x00\x00\x0bCOMMIT\x00")) &&
			(c.commits.Add(1)%2 == 1 && c.every.Load() || c.armed.CompareAndSwap(true, false)) {
			c.cut.Add(1)
			cutting.Store(true)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// A backfill whose commit was done and not answered is neither told that
// another one was there nor recorded twice.
func TestABackfillWhoseCommitIsNotAnsweredIsRecordedOnce(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		url, c := throughCutter(t, url)
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		watched, old := siteConfig(0).Origin, "https://old.example"
		for i, rewrites := range [][]*history.Rewrite{
			{captured(watched, t0.AddDate(0, 0, -8), 0), captured(old, t0.AddDate(0, 0, -8), 0)},
			{captured(old, t0.AddDate(0, 0, -9), 2)},
		} {
			c.armed.Store(true)
			if err := s.Rewrite(t.Context(), rewrites); err != nil {
				t.Fatal(err)
			}
			if cut := c.cut.Load(); cut != int64(i+1) {
				t.Fatalf("%d commits were not answered", cut)
			}
			fine(t, s)
			for _, r := range rewrites {
				if got := chainOf(t, s, r.Config.Origin, true); len(got.Links) != 2 || !got.Links[0].Run.At.Equal(r.Runs[0].At) {
					t.Errorf("recorded: %+v", got)
				}
			}
			if n := count(t, s, "SELECT count(*) FROM changes"); n != 2 {
				t.Errorf("%d changes", n)
			}
		}
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(watched, t0.AddDate(0, 0, -9), 0)}); !errors.Is(err, ErrBackfilledMeanwhile) {
			t.Errorf("a rewrite of what another one wrote: %v", err)
		}
	})
}

// Whatever was done and not answered is neither done again nor an error.
func TestWhatIsNotAnsweredIsDoneOnce(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		direct := open(t, url)
		url, c := throughCutter(t, url)
		s := open(t, url)
		c.every.Store(true)
		list := siteConfigs(20)
		list[3].Tags = []string{"eu"}
		if done := resync(t, s, list); done.Added != 20 || done.Sites != 20 {
			t.Errorf("added: %+v", done)
		}
		var results []watcher.Result
		for _, l := range claim(t, direct, t0, 20) {
			results = append(results, policy(l, t0, "Disallow: /"+l.Site.Origin, blockedProfile))
			change(&results[len(results)-1], fmt.Sprint(l.Site.ID), "policy")
		}
		record(t, s, results...)
		list[4].Tags, list = []string{"news"}, list[1:]
		resync(t, s, list)
		e := watcher.Expectation{Site: list[0].Origin, Until: t0.Add(time.Hour), Note: "relaunch"}
		if _, err := s.Expect(t.Context(), e); err != nil {
			t.Error(err)
		}
		fine(t, direct)
		for table, want := range map[string]int{"sites WHERE active = 1": 19, "observations": 20, "changes": 20, "deliveries": 20, "expectations": 1} {
			if n := count(t, direct, "SELECT count(*) FROM "+table); n != want {
				t.Errorf("%s: %d rows, want %d", table, n, want)
			}
		}
		if cut := c.cut.Load(); cut < 5 {
			t.Errorf("only %d commits were not answered", cut)
		}
		url, c = throughCutter(t, cluster.Database(t))
		to := open(t, url)
		c.every.Store(true)
		if err := Copy(t.Context(), direct, to, nil); err != nil {
			t.Error(err)
		}
		c.every.Store(false)
		fine(t, to)
	})
}
