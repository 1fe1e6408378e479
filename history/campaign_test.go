package history_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/internal/archive"
	"github.com/robotswatch/robotswatch/internal/sizes"
	"github.com/robotswatch/robotswatch/store"
)

// What 200 weekly captures of each of 15,000 hosts may take. The room is 1.2
// times the packed bodies, 200 octets a change and 100 a run; from campaignHosts
// on that covers also what an empty store takes.
const (
	campaignHosts  = 1000
	campaignTime   = 10 * time.Minute
	campaignMemory = 256 << 10 // KiB
)

// TestManyHostsOverYears brings in 200 weekly captures of each of some hosts:
// 20, or as many as ROBOTSWATCH_HOSTS says.
func TestManyHostsOverYears(t *testing.T) {
	const weeks = 200
	hosts := sizes.Of(t, "ROBOTSWATCH_HOSTS", 20, 5)
	path := filepath.Join(t.TempDir(), "test.db")
	s, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(archive.Write(w, hosts, weeks, 1)) }()
	source, err := history.JSONL([]string{history.Stdin}, r)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, s)
	began, judging := time.Now(), time.Time{}
	o.Progress = func(p history.Progress) {
		if p.Phase == history.Judging && judging.IsZero() {
			judging = time.Now()
		}
	}
	sum, err := history.Run(t.Context(), source, o)
	if err = errors.Join(err, sum.Untidy); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if sum.Captures != int64(hosts*weeks) || sum.New != sum.Captures || sum.Sites != int64(hosts) || sum.Changes == 0 {
		t.Errorf("%+v", sum)
	}
	again := time.Now()
	n, found := replay(t, s, newJudge(t), false)
	none(t, "replay", n, found)
	t.Logf("replayed %d sites, %d changes, in %v, at most %d KiB in memory", n.Sites, n.Told, time.Since(again).Round(time.Millisecond), peak(t))
	var bodies int64
	if err := s.QueryRow(t.Context(), "SELECT coalesce(sum(length(data)), 0) FROM bodies").Scan(&bodies); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	size := sizeOf(t, path)
	allowed := bodies*12/10 + 200*sum.Changes + 100*sum.Runs
	t.Logf("%+v in %v (read in %v), at most %d KiB in memory, a store of %d octets where %d are allowed (%d of bodies)",
		sum, took.Round(time.Millisecond), judging.Sub(began).Round(time.Millisecond), peak(t), size, allowed, bodies)
	campaign := hosts >= campaignHosts
	if !campaign {
		allowed += emptyStore(t)
	}
	if size > allowed {
		t.Errorf("a store of %d octets, where %d are allowed", size, allowed)
	}
	if campaign && (took > campaignTime || peak(t) > campaignMemory) {
		t.Errorf("took %v and %d KiB, where %v and %d KiB are allowed", took, peak(t), campaignTime, campaignMemory)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func emptyStore(t *testing.T) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	s, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return sizeOf(t, path)
}

// peak is the most memory that the process ever had, in KiB; 0 where the system
// does not tell.
func peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, "kB")
	kib, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return kib
}
