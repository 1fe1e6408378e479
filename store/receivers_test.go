package store

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

func TestOutboxReceiversComeAndGo(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 2, "old")
		tell(t, s, t0, told{0, "A", []string{"old"}})
		if err := s.Sync(t.Context(), []string{"old", "new"}, t0); err != nil {
			t.Fatal(err)
		}
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "new", Due: t0})) // not the past
		tell(t, s, t0, told{1, "A", []string{"old", "new"}})
		later := t0
		if s.Dialect() == "postgres" {
			later = t0.Add(receiverGrace)
		}
		if err := s.Sync(t.Context(), []string{"new"}, later); err != nil {
			t.Fatal(err)
		}
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "old", Due: t0}))
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "new", Due: t0}), "A1")
	})
}

// Daemons that share a store get another configuration one after the other. A
// receiver that only some of them have yet, or still, keeps its deliveries.
func TestAReceiverOfAnotherDaemonStays(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		a := outboxOf(t, url, 2, "both")
		b := open(t, url)
		follow := func(s *Store, at time.Time, receivers ...string) {
			t.Helper()
			if err := s.Sync(t.Context(), receivers, at); err != nil {
				t.Fatal(err)
			}
		}
		pending := func(receiver string) int {
			t.Helper()
			return count(t, a, "SELECT count(*) FROM deliveries WHERE status = 'pending' AND receiver = $1", receiver)
		}
		follow(a, t0, "both", "new")
		tell(t, a, t0, told{0, "A", []string{"both", "new"}})
		follow(b, t0, "both") // still has the old configuration, and is restarted
		if pending("new") != 1 || pending("both") != 1 {
			t.Error("a daemon without the new receiver removed its deliveries")
		}
		// a is away for a moment, b goes on.
		last := t0.Add(receiverGrace - time.Millisecond)
		follow(b, last, "both")
		if pending("new") != 1 {
			t.Error("the deliveries went before their time")
		}
		follow(a, last, "both", "new")
		follow(b, last.Add(time.Minute), "both", "new")
		follow(a, last.Add(time.Minute), "both") // it was a mistake; b has it still
		follow(a, last.Add(time.Minute+receiverGrace-time.Millisecond), "both")
		if pending("new") != 1 {
			t.Error("what b has was removed by a")
		}
		follow(a, last.Add(time.Minute+receiverGrace), "both")
		if pending("new") != 0 || pending("both") != 1 {
			t.Error("nobody has it any more, and it is still there")
		}
	})
}

func TestOneOwnerDeliversToAReceiver(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 1, "r")
		lease := func(owner string, now time.Time) bool {
			t.Helper()
			_, ok, err := s.Lease(t.Context(), "r", owner, now, now.Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if !lease("a", t0) || lease("b", t0) || !lease("a", t0.Add(30*time.Second)) {
			t.Error("a leased receiver has another owner")
		}
		if lease("b", t0.Add(89*time.Second)) || !lease("b", t0.Add(90*time.Second)) || lease("a", t0.Add(91*time.Second)) {
			t.Error("a lease must end a minute after its last renewal, and then go to whoever asks")
		}
		if _, ok, err := s.Lease(t.Context(), "nobody", "a", t0, t0); ok || err != nil {
			t.Errorf("an unknown receiver was leased: %v, %v", ok, err)
		}
	})
}

// The database's clock decides who delivers, whatever daemons think that it is.
func TestLeasesOfReceiversGoByTheDatabasesClock(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		fast, slow := openWith(t, url, Options{}), openWith(t, url, Options{})
		now := time.Now()
		if err := fast.Sync(t.Context(), []string{"r"}, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		lease := func(s *Store, owner string, now time.Time) bool {
			t.Helper()
			_, ok, err := s.Lease(t.Context(), "r", owner, now, now.Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if !lease(slow, "slow", now.Add(-time.Hour)) {
			t.Fatal("free, and not leased")
		}
		if lease(fast, "fast", now.Add(time.Hour)) {
			t.Error("a clock that is fast took a lease that holds")
		}
		if _, err := slow.exec(t.Context(), "UPDATE receivers SET lease_until = lease_until - 60000"); err != nil {
			t.Fatal(err)
		}
		if !lease(fast, "fast", now.Add(time.Hour)) || lease(slow, "slow", now.Add(-time.Hour)) {
			t.Error("a lease that ran out must go to whoever asks")
		}
	})
}

// A daemon that is stopped in order hands its receivers to the others at once.
func TestAStoppedDaemonHandsItsReceiversOn(t *testing.T) {
	onPostgres(t, func(t *testing.T, url string) {
		first, err := Open(t.Context(), url, Options{Daemon: true})
		if err != nil {
			t.Fatal(err)
		}
		second := openWith(t, url, Options{Daemon: true})
		now := time.Now()
		if err := first.Sync(t.Context(), []string{"r"}, now); err != nil {
			t.Fatal(err)
		}
		lease := func(s *Store, owner string) bool {
			t.Helper()
			_, ok, err := s.Lease(t.Context(), "r", owner, now, now.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if !lease(first, "first") || lease(second, "second") {
			t.Fatal("the first asked first")
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if !lease(second, "second") {
			t.Error("nobody delivers to the receiver until the lease has run out")
		}
		if n := count(t, second, "SELECT count(*) FROM daemons"); n != 1 {
			t.Errorf("%d daemons count as at work, want the second only", n)
		}
	})
}

func TestADaemonTakesOverTheLeasesOfOneThatWasKilled(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	s, err := Open(t.Context(), url, Options{Daemon: true})
	if err != nil {
		t.Fatal(err)
	}
	resync(t, s, siteConfigs(3))
	old := claim(t, s, t0, 2)
	if err := s.Close(); err != nil { // leases nothing back, as a kill would not
		t.Fatal(err)
	}
	s = openWith(t, url, Options{Daemon: true})
	if got := claim(t, s, t0, 10); len(got) != 3 {
		t.Errorf("%d sites claimed after the restart, want 3", len(got))
	}
	if lost, err := s.Record(t.Context(), []watcher.Result{unchanged(old[0], t0)}); err != nil || lost != 1 {
		t.Errorf("a result of before was recorded: %d lost, %v", lost, err)
	}
}
