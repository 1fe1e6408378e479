//go:build !race

// Package campaign measures and torments the whole product: the real binary
// in processes of its own, origins in another, SQLite and PostgreSQL.
//
// Without further ado each test runs in a short form that proves behaviour and
// claims no figures. ROBOTSWATCH_BENCH=quick or full runs the measurements of
// docs/performance.md, ROBOTSWATCH_CLUSTER=10m the campaign against a cluster
// for that long.
package campaign

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/store/pgtest"
)

// bench reports whether figures are wanted.
func bench() bool { return os.Getenv("ROBOTSWATCH_BENCH") != "" }

// pick chooses between the short form and the two that measure.
func pick[T any](short, quick, full T) T {
	switch os.Getenv("ROBOTSWATCH_BENCH") {
	case "":
		return short
	case "full":
		return full
	}
	return quick
}

// shop holds what all tests share: binaries, and a PostgreSQL server.
type shop struct {
	dir     string
	build   func() error
	cluster func() (*pgtest.Cluster, error)
	stop    []func()
}

var house shop

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if house.dir, err = os.MkdirTemp("", "campaign"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(house.dir)
	house.build = sync.OnceValue(func() error {
		cmd := exec.Command("go", "build", "-o", house.dir+"/", "../../cmd/robotswatch", "../benchorigin")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	house.cluster = sync.OnceValues(func() (*pgtest.Cluster, error) {
		c, err := pgtest.Start()
		if err == nil {
			house.stop = append(house.stop, c.Stop)
		}
		return c, err
	})
	defer func() {
		for _, stop := range house.stop {
			stop()
		}
	}()
	return m.Run(), nil
}

// binary gives the path of a program of ours, built once.
func binary(t *testing.T, name string) string {
	t.Helper()
	if err := house.build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(house.dir, name)
}

// server gives the PostgreSQL server of all tests.
func server(t *testing.T) *pgtest.Cluster {
	t.Helper()
	c, err := house.cluster()
	if errors.Is(err, pgtest.ErrNotInstalled) {
		needs.Lacking(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// onBoth runs a test on a new SQLite file and a new PostgreSQL database.
func onBoth(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "campaign.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, server(t).Database(t)) })
}
