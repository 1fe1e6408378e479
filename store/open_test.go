package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestOpenMakesAPrivateFile(t *testing.T) {
	for _, name := range []string{"plain.db", "a b%20c?d#e;f'.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, "sqlite:"+path)
		resync(t, s, siteConfigs(1))
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + suffix)
			if err != nil {
				t.Errorf("%s: %v", name+suffix, err)
			} else if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", name+suffix, info.Mode())
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "x.db")
	for _, c := range []struct {
		url  string
		opts Options
		want string
	}{
		{"mysql://x", Options{}, "want sqlite:PATH or postgres://"},
		{"sqlite:", Options{}, "want sqlite:PATH"},
		{"sqlite::memory:", Options{}, "the path of a file"},
		{"sqlite:" + missing, Options{}, "no such file or directory"},
		{"sqlite:" + missing, Options{ReadOnly: true}, "no store yet"},
		{"postgres://u:hunter2@127.0.0.1:1/x?sslmode=nonsense", Options{}, "sslmode"},
	} {
		s, err := Open(t.Context(), c.url, c.opts)
		if err == nil {
			s.Close()
			t.Errorf("%s opened", c.url)
		} else if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
	}
}

func TestRedact(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite:a.db":                          "sqlite:a.db",
		"postgres://u@h/d":                     "postgres://u@h/d",
		"postgres://u:secret@h/d":              "postgres://u:xxxxx@h/d",
		"postgres://u@h/d?password=secret&a=1": "postgres://u@h/d?a=1&password=xxxxx",
		"postgres://u:sec ret%@h/d":            "postgres://…",
	} {
		if got := Redact(url); got != want {
			t.Errorf("%s became %s, want %s", url, got, want)
		}
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		if _, err := s.exec(t.Context(), "INSERT INTO "+versionTable+" (version_id, is_applied) VALUES ($1, $2)", s.schema+1, true); err != nil {
			t.Fatal(err)
		}
		for _, opts := range []Options{{}, {ReadOnly: true}, {Daemon: true}} {
			if _, err := Open(t.Context(), url, opts); !errors.Is(err, ErrNewerSchema) {
				t.Errorf("opened: %v", err)
			}
		}
	})
}

func TestAnOlderSchemaIsMigratedNotRead(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		if strings.HasPrefix(url, "sqlite:") {
			if err := os.WriteFile(strings.TrimPrefix(url, "sqlite:"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(t.Context(), url, Options{ReadOnly: true}); !errors.Is(err, ErrNoStore) {
			t.Errorf("an empty database: %v", err)
		}
		s := open(t, url)
		if _, err := s.exec(t.Context(), "DELETE FROM "+versionTable+" WHERE version_id > 0"); err != nil {
			t.Fatal(err)
		}
		// What is left looks like a database before the first migration.
		if _, err := Open(t.Context(), url, Options{ReadOnly: true}); !errors.Is(err, ErrNoStore) {
			t.Errorf("version 0: %v", err)
		}
	})
}

// atSchema makes a store as an earlier version left it; the statements fill it.
func atSchema(t *testing.T, url string, version int64, fill ...string) {
	t.Helper()
	s := &Store{d: sqliteDialect}
	driver, name := "sqlite", strings.TrimPrefix(url, "sqlite:")
	if strings.HasPrefix(url, "postgres") {
		s.d, driver, name = postgresDialect, "pgx", url
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := s.provider(db)
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range fill {
		if _, err := db.ExecContext(t.Context(), s.d.sql(query)); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// An upgrade keeps when the last look was, and no receiver of a daemon that
// goes on with the version before.
func TestUpgradeKeepsLastLookAndReceivers(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		atSchema(t, url, 4,
			"INSERT INTO sites (origin, last_check_at) VALUES ('https://a.example', 1764500000000), ('https://b.example', 1764500001000)",
			"INSERT INTO receivers (name, added_at) VALUES ('old', 1)")
		s := openWith(t, url, Options{CallerClock: true})
		if last, err := s.LastLook(t.Context()); err != nil || last.UnixMilli() != 1764500001000 {
			t.Errorf("the last look was at %v (%v)", last, err)
		}
		if err := s.Sync(t.Context(), []string{"new"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		want := 1
		if s.Dialect() == "postgres" {
			want = 2
		}
		if n := count(t, s, "SELECT count(*) FROM receivers"); n != want {
			t.Errorf("%d receivers, want %d", n, want)
		}
	})
}

func TestAStoreThatIsOnlyReadIsNotWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		resync(t, open(t, url), siteConfigs(1))
		s := openWith(t, url, Options{ReadOnly: true})
		if site := siteOf(t, s, siteConfig(0).Origin); site.ID == 0 {
			t.Error("nothing to read")
		}
		if _, err := s.exec(t.Context(), "DELETE FROM sites"); err == nil {
			t.Error("wrote")
		}
	})
}

// A second daemon in another process is refused and told who the first is;
// what only reads, or writes a little, is not.
func TestOneDaemonOnASQLiteFile(t *testing.T) {
	if path := os.Getenv("STORE_TEST_DAEMON"); path != "" {
		_, err := Open(t.Context(), path, Options{Daemon: true})
		fmt.Println("second daemon:", err)
		return
	}
	url := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	first := openWith(t, url, Options{Daemon: true})
	out := second(t, url)
	host, _ := os.Hostname()
	if !strings.Contains(out, ErrInUse.Error()) || !strings.Contains(out, fmt.Sprintf("process %d on %s since", os.Getpid(), host)) {
		t.Errorf("the second says %q", out)
	}
	open(t, url)
	openWith(t, url, Options{ReadOnly: true})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if out := second(t, url); !strings.Contains(out, "second daemon: <nil>") {
		t.Errorf("after the first: %q", out)
	}
}

func second(t *testing.T, url string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOneDaemonOnASQLiteFile$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_TEST_DAEMON="+url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// Whoever comes first migrates, and the others wait for that.
func TestAllMigrateAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		daemons := strings.HasPrefix(url, "postgres")
		done := make(chan error, 6)
		for range cap(done) {
			go func() {
				s, err := Open(context.Background(), url, Options{Daemon: daemons})
				if err == nil {
					err = s.Close()
				}
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// The database's clock decides, whatever a daemon thinks that it is.
func TestAWrongClockDoesNoHarmOnPostgreSQL(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		s := openWith(t, url, Options{})
		now := time.Now()
		due := func(origin, _ string) time.Time {
			if origin == siteConfig(0).Origin {
				return now.Add(-time.Second)
			}
			return now.Add(10 * time.Second)
		}
		if _, err := s.SyncSites(t.Context(), now, configured(siteConfigs(2)), due); err != nil {
			t.Fatal(err)
		}
		if got := claim(t, s, now.Add(time.Hour), 5); len(got) != 1 {
			t.Errorf("a clock that is fast claimed %d, want 1", len(got))
		}
		if got := claim(t, s, now.Add(time.Hour), 5); len(got) != 0 {
			t.Errorf("a clock that is fast took %d leases that hold", len(got))
		}
		if _, err := s.exec(t.Context(), "UPDATE sites SET lease_until = 0"); err != nil {
			t.Fatal(err)
		}
		if got := claim(t, s, now.Add(-time.Hour), 5); len(got) != 1 {
			t.Errorf("a clock that is slow claimed %d, want 1", len(got))
		}
	})
}

func TestTransient(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Code: "40001"}, true},
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "08006"}, true},
		{&pgconn.PgError{Code: "53100"}, true},
		{&pgconn.PgError{Code: "23505"}, false},
		{&pgconn.PgError{Code: "28P01"}, false}, // a wrong password does not pass
		{fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: "40P01"}), true},
		{context.Canceled, false},
		{errors.New("anything else"), false},
	} {
		if got := Transient(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// Another process that writes is waited for.
func TestALockedFileIsWaitedFor(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	s, other := open(t, url), open(t, url)
	resync(t, s, siteConfigs(1))
	hold, held := make(chan struct{}), make(chan struct{})
	go func() {
		_ = other.Write(context.Background(), func(*Tx) error {
			close(held)
			<-hold
			return nil
		})
	}()
	<-held
	claimed := make(chan int)
	go func() { claimed <- len(claim(t, s, t0, 1)) }()
	select {
	case n := <-claimed:
		t.Errorf("claimed %d beside another's transaction", n)
	case <-time.After(50 * time.Millisecond):
	}
	close(hold)
	if n := <-claimed; n != 1 {
		t.Errorf("claimed %d", n)
	}
}
