package store

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/store/pgtest"
)

// cluster is the PostgreSQL of this test process; nil where none is installed.
var cluster *pgtest.Cluster

func TestMain(m *testing.M) {
	if os.Getenv("ROBOTSWATCH_LONG") == "" {
		// Each step of a random history is a transaction or two.
		flag.Parse() // says whether the run is short
		if err := flag.Set("rapid.checks", strconv.Itoa(sizes.Pick(12, 4))); err != nil {
			panic(err)
		}
	}
	if os.Getenv("STORE_TEST_WORKER") != "" || os.Getenv("STORE_TEST_DAEMON") != "" {
		os.Exit(m.Run()) // a child of a test
	}
	var err error
	cluster, err = pgtest.Start()
	if err != nil && !errors.Is(err, pgtest.ErrNotInstalled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	cluster.Stop()
	os.Exit(code)
}

// onBoth runs a test on SQLite and on PostgreSQL, each with an empty store of
// its own whose URL it gets.
func onBoth(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db")) })
	t.Run("postgres", func(t *testing.T) { onPostgres(t, test) })
}

func onPostgres(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	if cluster == nil {
		needs.Lacking(t, "%v", pgtest.ErrNotInstalled)
	}
	test(t, cluster.Database(t))
}

// open opens a store that ends with the test. Its clock is the test's.
func open(t testing.TB, url string) *Store { return openWith(t, url, Options{CallerClock: true}) }

func openWith(t testing.TB, url string, opts Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
