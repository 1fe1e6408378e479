package history_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

func learn(ctx context.Context, s *store.Store, j *watcher.Judge, now time.Time, pause func() error, watched ...string) ([]string, error) {
	return history.LearnPast(ctx, history.PastOptions{Judge: j, Store: s, Watched: watched, Now: func() time.Time { return now },
		Pause:  func(context.Context, time.Duration) error { return pause() },
		Failed: func(origin string, err error) { panic(origin + ": " + err.Error()) }})
}

func never() error { return nil }

// pastAt is how many sites stood how to an agent at the end of each day, as
// the moves say.
func pastAt(t *testing.T, s *store.Store, agent string, until time.Time) map[string]int {
	t.Helper()
	at := map[string]int{}
	for m, err := range s.AgentMoves(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for day := m.Day; m.Agent == agent && !day.After(until); day = day.AddDate(0, 0, 1) {
			at[fmt.Sprintf("%s %s %s", day.Format(time.DateOnly), m.Access.Level, m.Access.Source)] += m.Sites
		}
	}
	for k, n := range at {
		if n == 0 {
			delete(at, k)
		}
	}
	return at
}

// TestNewAgentsGetTheirPast: as if they had been watched from the beginning.
func TestNewAgentsGetTheirPast(t *testing.T) {
	now := t0.Add(120 * time.Hour)
	s, early := newStore(t), newStore(t)
	old, both := judgeOf(t, "GPTBot"), judgeOf(t, "GPTBot", "NewBot")
	live(t, s, old)
	if learned, err := learn(t.Context(), s, old, now, never, "GPTBot"); err != nil || len(learned) != 0 {
		t.Fatalf("who is watched from the beginning: %v, %v", learned, err)
	}
	learned, err := learn(t.Context(), s, both, now, never, "GPTBot", "NewBot")
	if err != nil || len(learned) != 1 || learned[0] != "newbot" {
		t.Fatalf("%v, %v", learned, err)
	}
	if learned, err = learn(t.Context(), s, both, now, never, "GPTBot", "NewBot"); err != nil || len(learned) != 0 {
		t.Fatalf("again: %v, %v", learned, err)
	}
	// Changes: those that the agent would have had.
	live(t, early, both)
	for site := range script {
		f := watcher.ChangeFilter{Site: site, Agent: "NewBot"}
		got, err := s.Changes(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := early.Changes(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d changes speak of the new agent, want %d", site, len(got), len(want))
			continue
		}
		for i := range got {
			if got[i].ID != want[i].ID || !got[i].Backfilled && len(got[i].BackfilledAgents) == 0 {
				t.Errorf("%s: %+v", site, got[i])
			}
		}
	}
	if n := deliveries(t, s); n != 0 {
		t.Errorf("%d deliveries", n)
	}
	// Numbers: as those of an agent that was always there, to which the same
	// rules apply.
	until, err := s.AgentsPast(t.Context())
	if err != nil || len(until) != 1 || until["newbot"].Format(time.DateOnly) != "2024-05-07" {
		t.Fatalf("%v, %v", until, err)
	}
	want := map[string]int{}
	for m, err := range early.StandingMoves(t.Context(), "", time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		access, err := both.Effective(m.Standing.Site(now), now)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range access {
			for day := m.Day; a.Agent == "NewBot" && m.State != "pending" && !day.After(until["newbot"]); day = day.AddDate(0, 0, 1) {
				want[fmt.Sprintf("%s %s %s", day.Format(time.DateOnly), a.Level, a.Source)] += m.Sites
			}
		}
	}
	for k, n := range want {
		if n == 0 {
			delete(want, k)
		}
	}
	if got := pastAt(t, s, "newbot", until["newbot"]); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the past says\n%v\nwatched from the beginning\n%v", got, want)
	}
	// Who is off the list is forgotten.
	if _, err := learn(t.Context(), s, old, now, never, "GPTBot"); err != nil {
		t.Fatal(err)
	}
	if got := pastAt(t, s, "newbot", now); len(got) != 0 {
		t.Errorf("still there: %v", got)
	}
}

func deliveries(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	if err := s.QueryRow(t.Context(), "SELECT count(*) FROM deliveries").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLearningGoesOnWhereItStopped: interrupted after each page, it comes to
// the same as in one go.
func TestLearningGoesOnWhereItStopped(t *testing.T) {
	now := t0.Add(12 * 24 * time.Hour)
	both := judgeOf(t, "GPTBot", "NewBot")
	var results []string
	for _, broken := range []bool{false, true} {
		s := newStore(t)
		var sites []watcher.SiteConfig
		for i := range 150 {
			sites = append(sites, watcher.SiteConfig{Origin: fmt.Sprintf("https://s%03d.example", i), Tags: []string{"x"}})
		}
		watchAll(t, s, judgeOf(t, "GPTBot"), sites)
		if _, err := learn(t.Context(), s, both, now, never, "GPTBot"); err != nil {
			t.Fatal(err)
		}
		stops := 0
		for {
			stop := errors.New("stop")
			_, err := learn(t.Context(), s, both, now, func() error {
				if broken {
					return stop
				}
				return nil
			}, "GPTBot", "NewBot")
			if err == nil {
				break
			}
			if stops++; !errors.Is(err, stop) || stops > 20 {
				t.Fatal(err)
			}
		}
		if broken && stops < 3 {
			t.Errorf("%d stops", stops)
		}
		changes, err := s.Changes(t.Context(), watcher.ChangeFilter{Agent: "NewBot"})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, fmt.Sprint(pastAt(t, s, "newbot", now), len(changes)))
	}
	if results[0] != results[1] || results[0] == fmt.Sprint(map[string]int{}, 0) {
		t.Errorf("in one go\n%s\ninterrupted\n%s", results[0], results[1])
	}
}
