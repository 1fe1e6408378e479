package history_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/dataset"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/archive"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/store"
)

// childEnv names store and input of the process that is killed.
const childEnv = "ROBOTSWATCH_TEST_BACKFILL"

// TestKilledBackfillGoesOn kills a backfill at some moments, then lets it end:
// what is exported is what an undisturbed one gives, octet by octet. It is the
// process that it kills, too.
func TestKilledBackfillGoesOn(t *testing.T) {
	if db, input, ok := strings.Cut(os.Getenv(childEnv), ","); ok {
		backfillChild(t, db, input)
		return
	}
	dir := t.TempDir()
	input := filepath.Join(dir, "captures.jsonl")
	f, err := os.Create(input)
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Write(f, sizes.Pick(80, 20), 60, 3); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(db string, limit time.Duration) (took time.Duration, killed bool) {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledBackfillGoesOn$")
		child.Env = append(os.Environ(), childEnv+"="+db+","+input, "TMPDIR="+dir)
		began := time.Now()
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return time.Since(began), false
		case <-time.After(limit):
			_ = child.Process.Kill() // it may have ended by itself
			<-ended
			return time.Since(began), true
		}
	}
	whole, broken := filepath.Join(dir, "whole.db"), filepath.Join(dir, "broken.db")
	took, _ := run(whole, time.Hour)
	kills := 0
	for range sizes.Pick(5, 2) {
		if _, killed := run(broken, time.Duration(rand.Float64()*float64(took))); killed {
			kills++
		}
	}
	run(broken, time.Hour)
	want, got := exported(t, whole), exported(t, broken)
	if got != want {
		t.Errorf("after %d kills the export differs: %d octets, want %d", kills, len(got), len(want))
	}
	t.Logf("%d kills of a run of %v, %d octets exported", kills, took.Round(time.Millisecond), len(want))
}

func backfillChild(t *testing.T, db, input string) {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+db, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	source, err := history.JSONL([]string{input}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := history.Run(t.Context(), source, options(t, s)); err != nil {
		t.Fatal(err)
	}
}

// exported is all that a store says, as JSON lines.
func exported(t *testing.T, db string) string {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+db, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var text strings.Builder
	p := dataset.Policies{Judge: newJudge(t), Bodies: s, Gap: history.DefaultGap}
	runs := dataset.NewWriter[dataset.Observation](&text, dataset.JSONL, dataset.About{})
	policies := dataset.NewWriter[dataset.Policy](&text, dataset.JSONL, dataset.About{})
	changes := dataset.NewChangeWriter(&text, dataset.JSONL, dataset.About{})
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for h, err := range s.WalkHistories(t.Context(), "") {
		must(err)
		rows, err := p.Rows(t.Context(), h)
		must(err)
		for _, r := range rows {
			must(policies.Write(r))
		}
		for _, r := range h.Runs {
			must(runs.Write(dataset.ObservationRow(h.Site.Origin, r, dataset.Origin{})))
		}
	}
	must(runs.Close())
	must(policies.Close())
	for c, err := range s.ExportChanges(t.Context(), time.Time{}, "") {
		must(err)
		must(changes.Write(dataset.Change{Change: c}))
	}
	must(changes.Close())
	return text.String()
}
