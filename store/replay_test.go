package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/watcher"
)

func TestCorrectMakesChangesThoseThatAreTold(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(2))
		if err := s.Sync(t.Context(), []string{"policy"}, t0); err != nil {
			t.Fatal(err)
		}
		leases := claim(t, s, t0, 2)
		first := policy(leases[0], t0, "User-agent: *\n", nil)
		change(&first, "01A", "policy")
		change(&first, "01B", "policy")
		record(t, s, first, unchanged(leases[1], t0))
		origin := first.Site.Origin

		var records []history.Record
		for r, err := range s.WalkRecords(t.Context(), "", "") {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		if len(records) != 1 || records[0].Config.Origin != origin || !records[0].Active || len(records[0].Runs) != 1 || len(records[0].Changes) != 2 {
			t.Fatalf("records %+v", records)
		}
		extra, was := records[0].Changes[0], records[0].Changes[1]
		now := was.With([]diff.AgentChange{{Agent: "NewBot", Direction: diff.Tightened, NewlyDisallowed: []diff.Entry{}, NewlyAllowed: []diff.Entry{}}})
		missing := was
		missing.ID = idOf(t0, "01C")
		r := &history.Retelling{Origin: origin, Missing: []watcher.Change{missing}, Extra: []watcher.Change{extra},
			Different: []history.Difference{{Stored: was, Now: now}}}
		for range 2 { // again it changes nothing
			if err := s.Correct(t.Context(), []*history.Retelling{r}); err != nil {
				t.Fatal(err)
			}
			got, err := s.Changes(t.Context(), watcher.ChangeFilter{Agent: "newbot"})
			if err != nil || len(got) != 1 || got[0].ID != was.ID || got[0].BackfilledAgents[0] != "NewBot" || got[0].Backfilled {
				t.Errorf("of the new agent: %+v, %v", got, err)
			}
			all, err := s.Changes(t.Context(), watcher.ChangeFilter{})
			if err != nil || len(all) != 2 || !slices.ContainsFunc(all, func(c watcher.Change) bool { return c.ID == missing.ID && c.Backfilled }) {
				t.Errorf("all: %+v, %v", all, err)
			}
			if n := count(t, s, "SELECT count(*) FROM deliveries"); n != 1 {
				t.Errorf("%d deliveries, want that of the change that stays", n)
			}
		}
		if err := s.Rewrite(t.Context(), []*history.Rewrite{captured(origin, t0.Add(-48*time.Hour), 0)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Correct(t.Context(), []*history.Retelling{r}); !errors.Is(err, ErrBackfilledMeanwhile) {
			t.Errorf("after a backfill: %v", err)
		}
	})
}

func TestNewcomersAreRememberedUntilTheirPastIsKnown(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		s := open(t, url)
		resync(t, s, siteConfigs(1))
		record(t, s, policy(claim(t, s, t0, 1)[0], t0, "User-agent: *\n", profileOf("partial", "named"))) // GPTBot and CCBot
		pending := func(watched ...string) string {
			t.Helper()
			p, err := s.Newcomers(t.Context(), watched, t0)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%v %s", p.Agents, p.After)
		}
		move := func(day int, tags []string, level diff.Level, n int) watcher.AgentMove {
			return watcher.AgentMove{Day: t0.AddDate(0, 0, day), Agent: "NewBot", Access: diff.Access{Level: level, Source: "wildcard"}, Tags: tags, Sites: n}
		}
		recordPast := func(after string, last bool, moves ...watcher.AgentMove) {
			t.Helper()
			for range 2 { // as if the answer to the first commit had been lost
				if err := s.RecordPast(t.Context(), []string{"newbot"}, history.PastPage{Moves: moves, After: after, Last: last}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := pending("GPTBot", "NewBot"); got != "[newbot] " {
			t.Errorf("an agent that no site was judged by: %s", got)
		}
		recordPast("https://b.example", false, move(-3, []string{"eu"}, diff.Blocked, 1), move(-3, nil, diff.Blocked, 1))
		if got := pending("GPTBot", "NewBot"); got != "[newbot] https://b.example" {
			t.Errorf("after a page: %s", got)
		}
		if past, err := s.AgentsPast(t.Context()); err != nil || len(past) != 0 {
			t.Errorf("half a past: %v, %v", past, err)
		}
		recordPast("", true, move(-1, []string{"eu"}, diff.Blocked, -1), move(-1, []string{"eu"}, diff.Allowed, 1))
		if got := pending("GPTBot", "NewBot"); got != "[] " {
			t.Errorf("when all is done: %s", got)
		}
		past, err := s.AgentsPast(t.Context())
		if err != nil || len(past) != 1 || !past["newbot"].Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%v, %v", past, err)
		}
		for tag, want := range map[string]string{"": "27 blocked 2, 29 allowed 1, 29 blocked -1, ", "eu": "27 blocked 1, 29 allowed 1, 29 blocked -1, ", "news": ""} {
			got := ""
			for m, err := range s.AgentMoves(t.Context(), tag) {
				if err != nil {
					t.Fatal(err)
				}
				got += fmt.Sprintf("%d %s %d, ", m.Day.Day(), m.Access.Level, m.Sites)
			}
			if got != want {
				t.Errorf("tag %q: %s, want %s", tag, got, want)
			}
		}
		if got := pending("GPTBot"); got != "[] " || count(t, s, "SELECT count(*) FROM agent_past") != 0 {
			t.Errorf("an agent that has left is remembered: %s", got)
		}
	})
}
