package diff

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ulikunitz/xz"
)

// shared opens a file of the data that lie beside the repository; the test is
// skipped where they are missing. ROBOTSWATCH_SHARED names another place.
func shared(t testing.TB, elem ...string) *os.File {
	t.Helper()
	dir := os.Getenv("ROBOTSWATCH_SHARED")
	if dir == "" {
		dir = filepath.Join(moduleRoot(t), "..", "shared")
	}
	f, err := os.Open(filepath.Join(append([]string{dir}, elem...)...))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("no shared data: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// archive reads all files of a shared tar.xz by name.
func archive(t testing.TB, name string) map[string][]byte {
	t.Helper()
	unpacked, err := xz.NewReader(bufio.NewReader(shared(t, "corpus", name)))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for tr := tar.NewReader(unpacked); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if files[h.Name], err = io.ReadAll(tr); err != nil {
				t.Fatal(err)
			}
		}
	}
}
