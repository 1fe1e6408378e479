package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// told is a change of a site for receivers, in a group.
type told struct {
	site      int
	group     string
	receivers []string
}

// tell records changes, one a transaction, in the order given.
func tell(t testing.TB, s *Store, at time.Time, list ...told) {
	t.Helper()
	for i, c := range list {
		leases, err := s.ClaimSites(t.Context(), at, []string{siteConfig(c.site).Origin}, time.Minute)
		if err != nil || len(leases) != 1 {
			t.Fatalf("claim site %d: %d leases, %v", c.site, len(leases), err)
		}
		r := unchanged(leases[0], at)
		change(&r, fmt.Sprintf("%013d-%d-%s-%03d", at.UnixMilli(), c.site, c.group, i), c.receivers...)
		r.Changes[0].GroupKey = c.group
		record(t, s, r)
	}
}

func outboxOf(t testing.TB, url string, sites int, receivers ...string) *Store {
	t.Helper()
	s := open(t, url)
	resync(t, s, siteConfigs(sites))
	if err := s.Sync(t.Context(), receivers, t0); err != nil {
		t.Fatal(err)
	}
	return s
}

// sites of a selection, in order.
func sitesOf(t testing.TB, s *Store, sel notify.Selection) (sites []string) {
	t.Helper()
	list, err := s.Deliveries(t.Context(), sel, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		sites = append(sites, d.GroupKey+":"+d.Change.Site)
	}
	totals, err := s.Count(t.Context(), sel)
	if err != nil {
		t.Fatal(err)
	}
	if totals.Deliveries != len(list) {
		t.Errorf("Count says %d, Deliveries gives %d", totals.Deliveries, len(list))
	}
	return sites
}

func wantSites(t testing.TB, got []string, want ...string) {
	t.Helper()
	for i := range want {
		want[i] = want[i][:1] + ":" + siteConfig(int(want[i][1]-'0')).Origin
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOutboxKeepsTheOrderWithinASite(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 3, "r")
		r := []string{"r"}
		tell(t, s, t0, told{0, "A", r}, told{1, "A", r}, told{0, "B", r}, told{0, "A", r}, told{2, "B", r})
		now := t0.Add(time.Second)
		groups, err := s.Groups(t.Context(), "r", now, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(groups) != 2 || groups[0].Key != "A" || groups[1].Key != "B" {
			t.Fatalf("groups %+v, want A, B", groups)
		}
		a := notify.Selection{Receiver: "r", GroupKey: "A", Due: now}
		b := notify.Selection{Receiver: "r", GroupKey: "B", Due: now}
		// The later A of site 0 waits for its B, which waits for its first A.
		wantSites(t, sitesOf(t, s, a), "A0", "A1")
		wantSites(t, sitesOf(t, s, b), "B2")
		if err := s.Settle(t.Context(), a, notify.Settlement{Status: notify.StatusPending, At: now, NextAt: now.Add(time.Minute), Error: "503"}); err != nil {
			t.Fatal(err)
		}
		wantSites(t, sitesOf(t, s, a))
		wantSites(t, sitesOf(t, s, b), "B2")
		// Without a group, too, nothing overtakes what is not due yet.
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: now}), "B2")
		now = now.Add(time.Minute)
		a.Due, b.Due = now, now
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: now}), "A0", "A1", "B0", "A0", "B2")
		for _, step := range []struct {
			sel  notify.Selection
			want []string
		}{{a, []string{"A0", "A1"}}, {b, []string{"B0", "B2"}}, {a, []string{"A0"}}, {a, nil}} {
			wantSites(t, sitesOf(t, s, step.sel), step.want...)
			if err := s.Settle(t.Context(), step.sel, notify.Settlement{Status: notify.StatusSent, At: now}); err != nil {
				t.Fatal(err)
			}
		}
		if due, err := s.NextDue(t.Context(), "r", time.Time{}); err != nil || !due.IsZero() {
			t.Errorf("NextDue gives %v, %v with an empty outbox", due, err)
		}
	})
}

func TestOutboxSettlesOnlyWhatWasSelected(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 4, "r", "other")
		both := []string{"r", "other"}
		tell(t, s, t0, told{0, "A", both}, told{1, "A", both})
		sel := notify.Selection{Receiver: "r", GroupKey: "A", Due: t0}
		totals, err := s.Count(t.Context(), sel)
		if err != nil {
			t.Fatal(err)
		}
		if totals.Deliveries != 2 || totals.Sites != 2 || !totals.First.Equal(t0) {
			t.Errorf("totals %+v", totals)
		}
		tell(t, s, t0, told{2, "A", both}) // recorded while the message is on its way
		sel.UpTo = totals.UpTo
		state := notify.ReceiverState{FailingSince: t0, HourSent: 3}
		if err := s.Settle(t.Context(), sel, notify.Settlement{Status: notify.StatusSent, At: t0, Receipt: "x", State: state}); err != nil {
			t.Fatal(err)
		}
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: t0}), "A2")
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "other", Due: t0}), "A0", "A1", "A2")
		got, ok, err := s.Lease(t.Context(), "r", "me", t0, t0.Add(time.Minute))
		if err != nil || !ok || got != state {
			t.Errorf("Lease gives %+v, %v, %v; want the state that was saved", got, ok, err)
		}
		pending, err := s.Pending(t.Context())
		if err != nil || pending["r"].Changes != 1 || pending["other"] != (notify.Waiting{Changes: 3, Oldest: t0}) {
			t.Errorf("Pending gives %v, %v", pending, err)
		}
		if err := s.Settle(t.Context(), notify.Selection{Receiver: "r", ID: -1}, notify.Settlement{Status: notify.StatusSent, At: t0}); err != nil {
			t.Fatal(err)
		}
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: t0}), "A2")
	})
}

func TestOutboxKnowsWhatWasTriedForTooLong(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 2, "r")
		tell(t, s, t0, told{0, "A", []string{"r"}})
		retry := func(at time.Time) {
			t.Helper()
			if err := s.Settle(t.Context(), notify.Selection{Receiver: "r", GroupKey: "A", Due: at},
				notify.Settlement{Status: notify.StatusPending, At: at, NextAt: at, Error: "503"}); err != nil {
				t.Fatal(err)
			}
		}
		retry(t0.Add(time.Hour))
		tell(t, s, t0.Add(2*time.Hour), told{1, "A", []string{"r"}})
		retry(t0.Add(3 * time.Hour))
		now := t0.Add(4 * time.Hour)
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: now, TriedBefore: t0}))
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: now, TriedBefore: t0.Add(time.Hour)}), "A0")
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: now, TriedBefore: now}), "A0", "A1")
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: now, CreatedBefore: t0.Add(time.Hour)}), "A0")
		tell(t, s, now, told{0, "B", []string{"r"}})
		if got, err := s.Pending(t.Context()); err != nil || got["r"] != (notify.Waiting{Changes: 3, Oldest: t0, OldestTried: t0}) {
			t.Errorf("Pending gives %v, %v", got, err)
		}
	})
}

func TestReceiptOfTheLastStateMessage(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 1, "r")
		if _, _, err := s.Receipt(t.Context(), "r", siteConfig(0).Origin, 1<<60); !errors.Is(err, watcher.ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
		l := claim(t, s, t0, 1)[0]
		r := outage(l, t0)
		change(&r, "01STATE", "r")
		r.Changes[0].Change.Kind = watcher.KindState
		r.Changes[0].Change.State = watcher.StateChange{Before: fetch.Policy, After: fetch.Unreachable}
		record(t, s, r)
		if err := s.Settle(t.Context(), notify.Selection{Receiver: "r", Due: t0}, notify.Settlement{Status: notify.StatusSent, At: t0, Receipt: "C1/17"}); err != nil {
			t.Fatal(err)
		}
		tell(t, s, t0, told{0, "A", []string{"r"}})
		receipt, c, err := s.Receipt(t.Context(), "r", siteConfig(0).Origin, 1<<60)
		if err != nil || receipt != "C1/17" || c.ID != idOf(t0, "01STATE") {
			t.Errorf("got %q, %q, %v", receipt, c.ID, err)
		}
	})
}

func TestLargeGroupsAreSettledWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		const n = settleChunk + 7
		s := outboxOf(t, url, n, "r")
		var batch []watcher.Result
		for i, l := range claim(t, s, t0, n) {
			r := unchanged(l, t0)
			change(&r, fmt.Sprintf("01%06d", i), "r")
			batch = append(batch, r)
		}
		record(t, s, batch...)
		sel := notify.Selection{Receiver: "r", GroupKey: "blocked", Due: t0}
		totals, err := s.Count(t.Context(), sel)
		if err != nil || totals.Deliveries != n {
			t.Fatalf("%+v, %v", totals, err)
		}
		sel.UpTo = totals.UpTo
		// Also when each is to be tried again, and is selected anew by that.
		if err := s.Settle(t.Context(), sel, notify.Settlement{Status: notify.StatusPending, At: t0, NextAt: t0, Error: "503"}); err != nil {
			t.Fatal(err)
		}
		if totals, _ = s.Count(t.Context(), sel); totals.Attempts != 1 {
			t.Errorf("%d attempts, want 1", totals.Attempts)
		}
		if err := s.Settle(t.Context(), sel, notify.Settlement{Status: notify.StatusSent, At: t0}); err != nil {
			t.Fatal(err)
		}
		if got := count(t, s, "SELECT count(*) FROM deliveries WHERE status = 'sent' AND attempts = 2"); got != n {
			t.Errorf("%d settled, want %d", got, n)
		}
	})
}

func TestDeliveriesByHand(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := outboxOf(t, url, 4, "r", "q")
		tell(t, s, t0, told{0, "A", []string{"r"}}, told{1, "A", []string{"r"}}, told{2, "A", []string{"q"}}, told{3, "A", []string{"q"}})
		if err := s.Settle(t.Context(), notify.Selection{Receiver: "r", Due: t0}, notify.Settlement{Status: notify.StatusDead, At: t0, Error: "404"}); err != nil {
			t.Fatal(err)
		}
		dead, err := s.ListDeliveries(t.Context(), DeliveryFilter{Statuses: []notify.Status{notify.StatusDead}})
		if err != nil || len(dead) != 2 || dead[0].LastError != "404" || dead[0].Status != notify.StatusDead {
			t.Fatalf("%+v, %v", dead, err)
		}
		now := t0.Add(100 * time.Hour)
		if n, err := s.RetryDeliveries(t.Context(), DeliveryFilter{Statuses: []notify.Status{notify.StatusDead}, IDs: []int64{dead[0].ID}}, now); n != 1 || err != nil {
			t.Errorf("retried %d, %v", n, err)
		}
		wantSites(t, sitesOf(t, s, notify.Selection{Receiver: "r", Due: now}), "A0")
		if n, err := s.DropDeliveries(t.Context(), DeliveryFilter{Statuses: []notify.Status{notify.StatusDead}}); n != 1 || err != nil {
			t.Errorf("dropped %d, %v", n, err)
		}
		if n, err := s.DropDeliveries(t.Context(), DeliveryFilter{Receiver: "q"}); n != 2 || err != nil {
			t.Errorf("dropped %d, %v", n, err)
		}
		if left, _ := s.ListDeliveries(t.Context(), DeliveryFilter{}); len(left) != 1 {
			t.Errorf("%d left, want 1", len(left))
		}
	})
}
