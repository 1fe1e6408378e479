// Package realdata opens the real files that lie beside the repository, in
// ../shared or where ROBOTSWATCH_SHARED says, for tests. They belong to the
// sites they were taken from, so none is in the repository; tests that need
// them are skipped where they are missing.
package realdata

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// Open reads a file, unpacked when its name ends in .xz.
func Open(t testing.TB, elem ...string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(append([]string{dir(t)}, elem...)...))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no shared data: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r := bufio.NewReader(f)
	if !strings.HasSuffix(f.Name(), ".xz") {
		return r
	}
	unpacked, err := xz.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	return unpacked
}

// Archive reads all files of a tar.xz of the corpus by their path in it.
func Archive(t testing.TB, name string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for tr := tar.NewReader(Open(t, "corpus", name)); ; {
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

func dir(t testing.TB) string {
	t.Helper()
	if d := os.Getenv("ROBOTSWATCH_SHARED"); d != "" {
		return d
	}
	d, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return filepath.Join(d, "..", "shared")
		}
		if d == filepath.Dir(d) {
			t.Fatal("no go.mod above the test")
		}
		d = filepath.Dir(d)
	}
}
