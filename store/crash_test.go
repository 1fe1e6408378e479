package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/watcher"
)

// crashes is how often the campaigns kill: $ROBOTSWATCH_CRASHES, for long ones.
func crashes(t *testing.T) int { return sizes.Of(t, "ROBOTSWATCH_CRASHES", 4, 2) }

// work claims and records sites for ever, each look a new policy with a
// change for two receivers, and tells which changes were recorded.
func work(ctx context.Context, s *Store, now time.Time, told io.Writer) error {
	for ; ; now = now.Add(7 * time.Hour) {
		leases, err := s.Claim(ctx, now, 20, time.Hour)
		if err != nil {
			return err
		}
		var results []watcher.Result
		var ids []string
		for _, l := range leases {
			r := policy(l, now, fmt.Sprintf("Disallow: /%d", now.Unix()%1000), blockedProfile)
			// Of the lease, so that a look that is done twice shows.
			id := idOf(now, fmt.Sprintf("%d %d", l.Site.ID, l.Token))
			change(&r, id, "policy", "log")
			results, ids = append(results, r), append(ids, id)
		}
		lost, err := s.Record(ctx, results)
		if err != nil {
			return err
		}
		if lost == 0 && len(ids) > 0 {
			if _, err := fmt.Fprintln(told, strings.Join(ids, " ")); err != nil {
				return err
			}
		}
	}
}

// A process that is killed in the middle of its work leaves whole results
// only, and everything that it had said to be recorded is there.
func TestKilledWorkersLeaveWholeResults(t *testing.T) {
	if url := os.Getenv("STORE_TEST_WORKER"); url != "" {
		hours, _ := strconv.Atoi(os.Getenv("STORE_TEST_HOURS"))
		s := open(t, url)
		t.Fatal(work(t.Context(), s, t0.Add(time.Duration(hours)*time.Hour), os.Stdout))
	}
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(200))
		recorded := make(map[string]bool)
		for round := range crashes(t) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWorkersLeaveWholeResults$")
			cmd.Env = append(os.Environ(), "STORE_TEST_WORKER="+url, fmt.Sprintf("STORE_TEST_HOURS=%d", round*20000))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 1<<20)
			// After so many batches, in the middle of a later one.
			for range 1 + rand.IntN(20) {
				if !lines.Scan() {
					t.Fatal("the worker ended")
				}
				for id := range strings.FieldsSeq(lines.Text()) {
					recorded[id] = true
				}
			}
			time.AfterFunc(rand.N(3*time.Millisecond), func() { _ = cmd.Process.Kill() })
			for lines.Scan() {
				for id := range strings.FieldsSeq(lines.Text()) {
					recorded[id] = true
				}
			}
			_ = cmd.Wait()
			wholeResults(t, s)
		}
		for id := range recorded {
			if len(id) < 26 { // the last line may have been cut
				continue
			}
			if _, err := s.ChangeByID(t.Context(), id); err != nil {
				t.Errorf("said to be recorded: %v", err)
			}
		}
	})
}

// wholeResults checks that changes came with their observation and their
// deliveries.
func wholeResults(t *testing.T, s *Store) {
	t.Helper()
	fine(t, s)
	changes := count(t, s, "SELECT count(*) FROM changes")
	if n := count(t, s, "SELECT count(*) FROM deliveries"); n != 2*changes {
		t.Errorf("%d changes have %d deliveries", changes, n)
	}
	if n := count(t, s, "SELECT count(*) FROM observations"); n != changes {
		t.Errorf("%d changes have %d observations", changes, n)
	}
}

// A server that crashes and comes back is waited for: nothing is lost, nothing
// recorded twice.
func TestAServerThatCrashesIsSurvived(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		if err := cluster.Owned(); err != nil {
			needs.Lacking(t, "%v", err)
		}
		s := open(t, url)
		resync(t, s, siteConfigs(300))
		var told [2]strings.Builder
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range told {
			wg.Go(func() {
				if err := work(ctx, open(t, url), t0.AddDate(i, 0, 0), &told[i]); ctx.Err() == nil {
					t.Error(err)
				}
			})
		}
		for range crashes(t) {
			before := count(t, s, "SELECT count(*) FROM changes")
			wait(t, func() bool { return count(t, s, "SELECT count(*) FROM changes") > before })
			if err := cluster.Down(); err != nil {
				t.Fatal(err)
			}
			if err := cluster.Boot(); err != nil {
				t.Fatal(err)
			}
			wait(t, func() bool { return s.Ping(t.Context()) == nil })
		}
		before := count(t, s, "SELECT count(*) FROM changes")
		wait(t, func() bool { return count(t, s, "SELECT count(*) FROM changes") > before })
		stop()
		wg.Wait()
		wholeResults(t, s)
		for i := range told {
			for id := range strings.FieldsSeq(told[i].String()) {
				if _, err := s.ChangeByID(t.Context(), id); err != nil {
					t.Errorf("said to be recorded: %v", err)
				}
			}
		}
	})
}

// wait asks until the answer is yes.
func wait(t *testing.T, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !yes(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}
