package store

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOnceRunsOnceForAllDaemons(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		var runs atomic.Int64
		var wg sync.WaitGroup
		var stores []*Store
		for range 4 {
			s := open(t, url)
			stores = append(stores, s)
			wg.Go(func() {
				if _, err := s.Once(t.Context(), "digest", t0, time.Hour, func(context.Context) error { runs.Add(1); return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if runs.Load() != 1 {
			t.Fatalf("ran %d times", runs.Load())
		}
		s := stores[0]
		once := func(at time.Time, err error) bool {
			ran, got := s.Once(t.Context(), "digest", at, time.Hour, func(context.Context) error { return err })
			if !errors.Is(got, err) {
				t.Errorf("at %s: %v", at, got)
			}
			return ran
		}
		if once(t0.Add(59*time.Minute), nil) {
			t.Error("ran again within the period")
		}
		failed := errors.New("no luck")
		if !once(t0.Add(time.Hour), failed) || !once(t0.Add(time.Hour), nil) {
			t.Error("not tried again after a failure")
		}
		if once(t0.Add(time.Hour), nil) {
			t.Error("ran again after a success")
		}
	})
}

func TestAJobWhoseDaemonDiedIsTriedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		killed := job{store: s, name: "tidy", now: t0, started: time.Now()}
		if ok, err := killed.begin(t.Context(), time.Hour); err != nil || !ok {
			t.Fatal(ok, err)
		}
		run := func(context.Context) error { return nil }
		if ran, err := s.Once(t.Context(), "tidy", t0.Add(jobLease-time.Second), 0, run); err != nil || ran {
			t.Errorf("ran beside another: %v, %v", ran, err)
		}
		if ran, err := s.Once(t.Context(), "tidy", t0.Add(2*jobLease), 0, run); err != nil || !ran {
			t.Errorf("not tried again: %v, %v", ran, err)
		}
	})
}

// A job may take longer than its lease, and still nobody runs it beside.
func TestALongJobKeepsItsLease(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) {
			s, other := open(t, url), open(t, url)
			began := time.Now()
			now := func() time.Time { return t0.Add(time.Since(began)) }
			beside := func() bool {
				ran, err := other.Once(t.Context(), "past", now(), 0, func(context.Context) error { return nil })
				if err != nil {
					t.Error(err)
				}
				return ran
			}
			ran, err := s.Once(t.Context(), "past", now(), 0, func(ctx context.Context) error {
				for range 30 {
					time.Sleep(jobLease / 3)
					if beside() {
						t.Error("another daemon ran it, too")
					}
				}
				return ctx.Err()
			})
			if !ran || err != nil {
				t.Errorf("%v, %v", ran, err)
			}
			if !beside() {
				t.Error("its end did not give it back")
			}
		})
	})
}

// Who stood still for so long that another daemon took the job stops, and
// takes nothing from that one.
func TestAJobThatAnotherDaemonTookEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, url)
			other := job{store: s, name: "past", now: t0.Add(2 * jobLease), started: time.Now()}
			_, err := s.Once(t.Context(), "past", t0, 0, func(ctx context.Context) error {
				if ok, err := other.begin(ctx, 0); err != nil || !ok {
					t.Fatal(ok, err)
				}
				<-ctx.Done()
				return ctx.Err()
			})
			if !errors.Is(err, errJobLost) {
				t.Errorf("it ended with %v", err)
			}
			if mine, err := other.renew(t.Context()); err != nil || !mine {
				t.Errorf("the other one lost it: %v, %v", mine, err)
			}
		})
	})
}

// A renewal that is rolled back as it is committed is made again, from the end
// that stands.
func TestAFailedRenewalIsMadeAgain(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		s := open(t, url)
		j := job{store: s, name: "past", now: t0, started: time.Now()}
		if ok, err := j.begin(t.Context(), 0); err != nil || !ok {
			t.Fatal(ok, err)
		}
		for _, st := range []string{
			"CREATE SEQUENCE commits", // it counts also what is rolled back
			`CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
				IF nextval(''commits'') = 1 THEN RAISE EXCEPTION USING ERRCODE = ''40001''; END IF;
				RETURN NULL; END'`,
			"CREATE CONSTRAINT TRIGGER fail_first AFTER UPDATE ON jobs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_first()",
		} {
			if _, err := s.exec(t.Context(), st); err != nil {
				t.Fatal(err)
			}
		}
		first := j.until
		for range 2 {
			if mine, err := j.renew(t.Context()); err != nil || !mine {
				t.Fatalf("renewed: %v, %v", mine, err)
			}
		}
		if until := count(t, s, "SELECT lease_until FROM jobs"); int64(until) != j.until || j.until <= first {
			t.Errorf("the lease ends at %d, and is taken to end at %d; first at %d", until, j.until, first)
		}
		if tries := count(t, s, "SELECT last_value FROM commits"); tries != 3 {
			t.Errorf("%d commits of two renewals, want one that failed", tries)
		}
		if err := j.end(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if until := count(t, s, "SELECT lease_until FROM jobs"); until != 0 {
			t.Error("its end did not give it back")
		}
	})
}

// With SQLite a daemon that starts is the only one, and waits for nobody.
func TestAJobOfADaemonThatWasKilledIsBegunAfterTheRestart(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	s, err := Open(t.Context(), url, Options{Daemon: true})
	if err != nil {
		t.Fatal(err)
	}
	killed := job{store: s, name: "past", now: t0, started: time.Now()}
	if ok, err := killed.begin(t.Context(), 0); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openWith(t, url, Options{Daemon: true})
	if ran, err := s.Once(t.Context(), "past", t0, 0, func(context.Context) error { return nil }); err != nil || !ran {
		t.Errorf("%v, %v", ran, err)
	}
}
