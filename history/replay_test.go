package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/archive"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// replay tells all changes of a store again.
func replay(t testing.TB, s *store.Store, j *watcher.Judge, write bool) (history.Replayed, []*history.Retelling) {
	t.Helper()
	var found []*history.Retelling
	n, err := history.Replay(t.Context(), history.ReplayOptions{
		Judge: j, Store: s, Write: write,
		Tell: func(r *history.Retelling) error { found = append(found, r); return nil }, Done: func(int) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, found
}

func none(t testing.TB, what string, n history.Replayed, found []*history.Retelling) {
	t.Helper()
	if n.Differences() == 0 {
		return
	}
	t.Errorf("%s: %+v", what, n)
	for _, r := range found {
		for _, c := range r.Missing {
			t.Errorf("%s: missing %s %s: %s", r.Origin, c.At.Format(time.RFC3339), c.Kind, c.Summary)
		}
		for _, d := range r.Different {
			t.Errorf("%s: different in %s %s: %s, now %s", r.Origin, strings.Join(d.What, ", "), d.Stored.Kind, d.Stored.Summary, d.Now.Summary)
		}
		for _, c := range r.Extra {
			t.Errorf("%s: extra %s %s: %s", r.Origin, c.At.Format(time.RFC3339), c.Kind, c.Summary)
		}
	}
}

// TestReplayAgreesWithWhatWasTold: of what was told live, captured, or both,
// the same is told again.
func TestReplayAgreesWithWhatWasTold(t *testing.T) {
	s, j := newStore(t), newJudge(t)
	lines := live(t, s, j)
	n, found := replay(t, s, j, false)
	none(t, "live", n, found)
	if n.Sites != len(script) || n.Told < 15 {
		t.Errorf("%+v", n)
	}
	past := newStore(t)
	backfill(t, past, lines...)
	n, found = replay(t, past, j, false)
	none(t, "backfilled", n, found)
	for i := range lines {
		lines[i].Time = lines[i].Time.Add(-52 * week)
	}
	backfill(t, s, lines...)
	n, found = replay(t, s, j, false)
	none(t, "both", n, found)
}

func TestReplayOfManyHosts(t *testing.T) {
	s := newStore(t)
	var text strings.Builder
	if err := archive.Write(&text, 60, 120, 5); err != nil {
		t.Fatal(err)
	}
	source, err := history.JSONL([]string{history.Stdin}, strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := history.Run(t.Context(), source, options(t, s)); err != nil {
		t.Fatal(err)
	}
	n, found := replay(t, s, newJudge(t), false)
	none(t, "many hosts", n, found)
	if n.Told < 50 {
		t.Errorf("%+v", n)
	}
}

// TestReplayMendsChanges: what is lost, false or too much is found, recorded
// once, and not found again.
func TestReplayMendsChanges(t *testing.T) {
	s, j := newStore(t), newJudge(t)
	live(t, s, j)
	site := "https://edits.example"
	before := knownOf(t, s, site)
	lost, twisted := before.Changes[0], before.Changes[1]
	extra := twisted
	extra.ID, extra.Kind, extra.Summary = "01"+strings.Repeat("Z", 24), watcher.KindSignal, "never was"
	twisted.Agents[0].Direction = "mixed"
	if err := s.Correct(t.Context(), []*history.Retelling{{Origin: site,
		Missing: []watcher.Change{extra}, Different: []history.Difference{{Now: twisted}}, Extra: []watcher.Change{lost}}}); err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true} {
		n, found := replay(t, s, j, write)
		if n.Missing != 1 || n.Different != 1 || n.Extra != 1 || len(found) != 1 || found[0].Missing[0].ID != lost.ID ||
			found[0].Different[0].Stored.ID != twisted.ID || found[0].Extra[0].ID != extra.ID {
			t.Fatalf("write %v: %+v", write, n)
		}
	}
	n, found := replay(t, s, j, true)
	none(t, "the second time", n, found)
	after := knownOf(t, s, site)
	if !after.Changes[0].Backfilled {
		t.Error("what was added is not marked")
	}
	after.Changes[0].Backfilled = false
	if a, b := asJSON(t, after.Changes), asJSON(t, knownOf(t, s, site).Changes); len(after.Changes) != len(before.Changes) || strings.ReplaceAll(a, " ", "") == "" || b == "" {
		t.Errorf("%d changes, want %d", len(after.Changes), len(before.Changes))
	}
	// The next backfill leaves it alone.
	backfill(t, s, policy(site, t0.Add(-10*week), open), policy(site, t0.Add(-9*week), open))
	backfill(t, s, policy(site, t0.Add(-8*week), open))
	if k := knownOf(t, s, site); len(k.Changes) != len(before.Changes) {
		t.Errorf("after a backfill: %d changes, want %d", len(k.Changes), len(before.Changes))
	}
}

// TestReplayGivesNewAgentsTheirPast: agents that were not watched are added
// to what was told, marked, and get changes of their own where nothing was.
func TestReplayGivesNewAgentsTheirPast(t *testing.T) {
	s := newStore(t)
	live(t, s, judgeOf(t, "GPTBot"))
	j := judgeOf(t, "GPTBot", "NewBot")
	_, found := replay(t, s, j, true)
	marked, own := 0, 0
	for _, r := range found {
		if len(r.Extra) > 0 {
			t.Errorf("%s: %d extra", r.Origin, len(r.Extra))
		}
		for _, d := range r.Different {
			if strings.Join(d.Now.BackfilledAgents, " ") != "NewBot" || d.Now.Backfilled || d.Now.Summary != d.Stored.Summary {
				t.Errorf("%s: %+v", r.Origin, d.Now)
			}
			marked++
		}
		own += len(r.Missing)
	}
	if marked == 0 {
		t.Error("no change speaks of the new agent")
	}
	t.Logf("added to %d changes, %d of its own", marked, own)
	changes, err := s.Changes(t.Context(), watcher.ChangeFilter{Agent: "newbot"})
	if err != nil || len(changes) != marked+own {
		t.Errorf("%d changes of the new agent, want %d (%v)", len(changes), marked+own, err)
	}
	n, again := replay(t, s, j, true)
	none(t, "again", n, again)
	// Who is no longer watched keeps its history.
	n, again = replay(t, s, judgeOf(t, "GPTBot"), true)
	none(t, "without it", n, again)
}

// TestReplayOfADamagedSite: it is named, and the others are replayed.
func TestReplayOfADamagedSite(t *testing.T) {
	s, j := newStore(t), newJudge(t)
	at := func(i int) time.Time { return t0.Add(time.Duration(i) * week) }
	backfill(t, s, policy(example, at(0), open), policy(example, at(1), closed), policy("https://other.example", at(0), open+"# y\n"), policy("https://other.example", at(1), open+"# x\n"))
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "UPDATE bodies SET data = 'x' WHERE id = (SELECT max(observations.body_id) FROM observations JOIN sites ON sites.id = site_id WHERE origin = $1)", example)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	n, found := replay(t, s, j, true)
	if n.Failed != 1 || n.Sites != 2 || n.Told != 1 || len(found) != 1 || found[0].Origin != example || found[0].Failed == nil {
		t.Errorf("%+v, %+v", n, found)
	}
}
