package store

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/robotswatch/robotswatch/internal/needs"
)

// smallDisk is a directory on a file system of its own, of 16 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		needs.Lacking(t, "needs a small file system of its own: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// rewrite writes a fact of a MiB, other octets each time.
func rewrite(t *testing.T, s *Store, times int) {
	t.Helper()
	for i := range times {
		text := strings.Repeat(string(rune('a'+i%26)), 1<<20)
		if err := s.setFact(t.Context(), "large", text); err != nil {
			t.Fatalf("time %d: %v", i+1, err)
		}
		if have, err := s.fact(t.Context(), "large"); have != text || err != nil {
			t.Fatalf("time %d: %d octets are kept; %v", i+1, len(have), err)
		}
	}
}

func TestTheLogTakesAnEighthOfWhatIsFree(t *testing.T) {
	for free, pages := range map[uint64]int{
		0: 1000, 8 * 4096 * 1000: 1000, 8 * 4096 * 1001: 1001,
		8 * 4096 * 9999: 9999, 8 * 4096 * 10_000: 10_000, 8 * 4096 * 10_001: 10_000, 1 << 50: 10_000,
	} {
		if got := logPagesIn(free); got != pages {
			t.Errorf("%d octets are free: %d pages, want %d", free, got, pages)
		}
	}
}

// What fits on a small disk is kept there, however often it changes.
func TestTheLogLeavesRoomOnASmallDisk(t *testing.T) {
	rewrite(t, open(t, "sqlite:"+filepath.Join(smallDisk(t), "small.db")), 48)
}

// A disk that others fill stops only what needs more room: the log, with what
// is left to it, goes on as long as the file need not grow.
func TestAFullDiskTakesWhatNeedsNoMoreRoom(t *testing.T) {
	const left = 3 << 19 // of log: the next MiB has no room behind the first
	dir := smallDisk(t)
	path := filepath.Join(dir, "small.db")
	s := open(t, "sqlite:"+path)
	rewrite(t, s, 2)
	if err := s.Close(); err != nil { // which folds the log
		t.Fatal(err)
	}
	s = open(t, "sqlite:"+path)
	free, ok := freeRoom(dir)
	if !ok {
		t.Fatal("the disk does not say what is free")
	}
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, free-left), 0o600); err != nil {
		t.Fatal(err)
	}
	rewrite(t, s, 20)
}
