package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
)

// furnish fills a store with something in every table.
func furnish(t testing.TB, s *Store, sites int) {
	t.Helper()
	list := siteConfigs(sites)
	for i := range list {
		list[i].Tags = [][]string{nil, {"eu"}}[i%2]
	}
	resync(t, s, list)
	if err := s.Sync(t.Context(), []string{"policy", "log"}, t0); err != nil {
		t.Fatal(err)
	}
	now := t0
	n := 0
	for round := range 3 {
		for {
			leases := claim(t, s, now, 200)
			if len(leases) == 0 {
				break
			}
			var results []watcher.Result
			for _, l := range leases {
				n++
				r := policy(l, now, fmt.Sprintf("User-agent: *\nDisallow: /%d/%d\n", round, n%50), profileOf("partial", "wildcard"))
				if round > 0 && n%3 == 0 {
					change(&r, fmt.Sprintf("01KB%022d", n), "policy", "log")
				}
				if n%7 == 0 {
					r = outage(l, now)
				}
				results = append(results, r)
			}
			record(t, s, results...)
		}
		now = now.Add(7 * time.Hour)
	}
	if _, err := s.Expect(t.Context(), watcher.Expectation{Site: list[0].Origin, Until: t0.Add(time.Hour), Note: "relaunch"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Once(t.Context(), "digest", t0, time.Hour, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.exec(t.Context(), "INSERT INTO alerts (receiver, name, site, data) VALUES ('policy', 'outage', $1, '{}')", list[0].Origin); err != nil {
		t.Fatal(err)
	}
	if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(list[0].Origin, t0.AddDate(-1, 0, 0), 0)}); err != nil {
		t.Fatal(err)
	}
	known := watcher.AgentMove{Day: t0, Agent: "NewBot", Access: profileOf("blocked", "named")[0].Access, Sites: 1}
	if _, err := s.Newcomers(t.Context(), []string{"GPTBot", "NewBot"}, t0); err != nil {
		t.Fatal(err)
	}
	if err := s.RecordPast(t.Context(), []string{"NewBot"}, history.PastPage{Moves: []watcher.AgentMove{known}, Last: true}); err != nil {
		t.Fatal(err)
	}
	for _, tb := range tables {
		if count(t, s, "SELECT count(*) FROM "+tb.name) == 0 {
			t.Errorf("%s is empty: it would not be tested", tb.name)
		}
	}
}

func TestTablesAreComplete(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		query := "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
		if s.Dialect() == "postgres" {
			query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
		}
		rows, err := s.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		have := make(map[string][]string)
		if err := each(rows, func(scan Scan) error {
			var table, column string
			err := scan(&table, &column)
			have[table] = append(have[table], column)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		delete(have, versionTable)
		delete(have, "facts")
		delete(have, "daemons")
		for _, tb := range tables {
			got, want := slices.Sorted(slices.Values(have[tb.name])), slices.Sorted(slices.Values(tb.all()))
			if !slices.Equal(got, want) {
				t.Errorf("%s has %v, the list says %v", tb.name, got, want)
			}
			delete(have, tb.name)
		}
		for name := range have {
			t.Errorf("%s is in no list", name)
		}
	})
}

func TestCopyBothWays(t *testing.T) {
	onPostgres(t, func(t *testing.T, pgURL string) {
		first := open(t, "sqlite:"+filepath.Join(t.TempDir(), "first.db"))
		furnish(t, first, 300)
		second := open(t, pgURL)
		if err := Copy(t.Context(), first, second, nil); err != nil {
			t.Fatal(err)
		}
		third := open(t, "sqlite:"+filepath.Join(t.TempDir(), "third.db"))
		if err := Copy(t.Context(), second, third, nil); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Store{second, third} {
			fine(t, s)
			// It lives on: new rows get new keys.
			resync(t, s, append(siteConfigs(300), siteConfig(1000)))
			l := claimOne(t, s, siteConfig(1000).Origin)
			r := policy(l, t0, "new", blockedProfile)
			change(&r, "01KB9999999999999999999999", "policy")
			record(t, s, r)
			if err := Copy(t.Context(), first, s, nil); !errors.Is(err, ErrNotEmpty) {
				t.Errorf("copied onto a full store: %v", err)
			}
		}
	})
}

// fine fails the test for each problem of a store.
func fine(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Check(t.Context(), func(p Problem) { t.Errorf("check: %s", p) }); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedCopyGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		from := open(t, "sqlite:"+filepath.Join(t.TempDir(), "from.db"))
		furnish(t, from, 20)
		resync(t, from, siteConfigs(2500)) // more than go in one step
		to := open(t, url)
		ctx, cancel := context.WithCancel(t.Context())
		err := Copy(ctx, from, to, func(table string, rows int64) {
			if table == "sites" {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := to.finished(t.Context()); !errors.Is(err, ErrUnfinished) {
			t.Errorf("half a copy counts as a store: %v", err)
		}
		var first string
		err = Copy(t.Context(), from, to, func(table string, rows int64) {
			if first == "" {
				first = fmt.Sprint(table, " ", rows)
			}
		})
		if err != nil || first != "sites 2000" {
			t.Errorf("went on with %q, %v", first, err)
		}
		if err := to.finished(t.Context()); err != nil {
			t.Error(err)
		}
		fine(t, to)
	})
}

func TestCopyNoticesADifference(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		from := open(t, "sqlite:"+filepath.Join(t.TempDir(), "from.db"))
		furnish(t, from, 20)
		to := open(t, url)
		err := Copy(t.Context(), from, to, func(table string, _ int64) {
			if table == "changes" {
				if _, err := to.exec(t.Context(), "UPDATE sites SET reason = 'x' WHERE id = 7"); err != nil {
					t.Error(err)
				}
			}
		})
		if !errors.Is(err, ErrDiffers) {
			t.Errorf("got %v", err)
		}
	})
}

// A daemon that works keeps a copy away, also an idle one; one that was stopped
// in order does not, not for a moment.
func TestCopyWantsQuiet(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		daemon, err := Open(t.Context(), url, Options{Daemon: true})
		if err != nil {
			t.Fatal(err)
		}
		from := openWith(t, url, Options{ReadOnly: true})
		to := open(t, "sqlite:"+filepath.Join(t.TempDir(), "to.db"))
		for _, pair := range [][2]*Store{{from, to}, {to, from}} {
			if err := Copy(t.Context(), pair[0], pair[1], nil); !errors.Is(err, ErrAtWork) {
				t.Errorf("got %v", err)
			}
		}
		if err := daemon.Sync(t.Context(), []string{"r"}, daemon.Now()); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := daemon.Lease(t.Context(), "r", "me", daemon.Now(), daemon.Now().Add(time.Hour)); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := daemon.Close(); err != nil {
			t.Fatal(err)
		}
		if err := Copy(t.Context(), from, to, nil); err != nil {
			t.Errorf("the daemon was stopped, and yet: %v", err)
		}
	})
}

func TestBackupWhileDaemonsWork(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		sites := sizes.Pick(500, 100)
		furnish(t, s, sites)
		ctx, stop := context.WithCancel(t.Context())
		working := make(chan error, 1)
		go func() {
			for n := 0; ; n++ {
				leases, err := s.Claim(ctx, t0.AddDate(0, 0, 2+n), 50, time.Minute)
				if err != nil {
					working <- err
					return
				}
				var results []watcher.Result
				for _, l := range leases {
					results = append(results, policy(l, t0.AddDate(0, 0, 2+n), fmt.Sprint("busy", n), blockedProfile))
				}
				if _, err := s.Record(ctx, results); err != nil {
					working <- err
					return
				}
			}
		}()
		path := filepath.Join(t.TempDir(), "backup.db")
		err := s.Backup(t.Context(), path, nil)
		stop()
		if e := <-working; !errors.Is(e, context.Canceled) {
			t.Error(e)
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		copied := openWith(t, "sqlite:"+path, Options{Daemon: true})
		fine(t, copied)
		if n := count(t, copied, "SELECT count(*) FROM sites"); n != sites {
			t.Errorf("%d sites", n)
		}
		if err := s.Backup(t.Context(), path, nil); err == nil {
			t.Error("replaced a backup")
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".backup-*")); len(left) > 0 {
			t.Errorf("left behind %v", left)
		}
	})
}
