package history_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

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
// process that it kills, too. ROBOTSWATCH_KILL_HOSTS and ROBOTSWATCH_KILL_WEEKS
// say of how much (80 and 60).
func TestKilledBackfillGoesOn(t *testing.T) {
	if db, input, ok := strings.Cut(os.Getenv(childEnv), ","); ok {
		backfillChild(t, db, input)
		return
	}
	dir := t.TempDir()
	input := filepath.Join(dir, "captures.jsonl.zst")
	writePacked(t, input, sizes.Of(t, "ROBOTSWATCH_KILL_HOSTS", 80, 20), sizes.Of(t, "ROBOTSWATCH_KILL_WEEKS", 60, 60))
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
	for left := took; kills < sizes.Pick(5, 2); {
		if ended, killed := run(broken, time.Duration(rand.Float64()*float64(left))); killed {
			kills++
		} else {
			left = ended // what earlier ones recorded it need not do again
		}
	}
	run(broken, time.Hour)
	want, got := exported(t, whole), exported(t, broken)
	if got != want {
		t.Errorf("after %d kills the export differs: %s, want %s", kills, got, want)
	}
	t.Logf("%d kills of a run of %v, exported: %s", kills, took.Round(time.Millisecond), want)
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
	if sum, err := history.Run(t.Context(), source, options(t, s)); err != nil || sum.Untidy != nil {
		t.Fatal(err, sum.Untidy)
	}
}

// writePacked makes up captures of hosts over weeks, packed.
func writePacked(t *testing.T, path string, hosts, weeks int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(archive.Write(z, hosts, weeks, 3), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// sum is the length and the hash of what is written to it.
type sum struct {
	hash.Hash
	octets int
}

func (s *sum) Write(p []byte) (int, error) {
	s.octets += len(p)
	return s.Hash.Write(p)
}

// exported is the sum of all that a store says, as JSON lines.
func exported(t *testing.T, db string) string {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+db, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := sum{Hash: sha256.New()}
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
	return fmt.Sprintf("%d octets, %x", text.octets, text.Sum(nil))
}
