// Package realdata opens the real files that lie beside the repository, in
// ../shared or where ROBOTSWATCH_SHARED says, for tests. They belong to the
// sites they were taken from, so none is in the repository; tests that need
// them are skipped where they are missing.
package realdata

import (
	"archive/tar"
	"bufio"
	"encoding/json"
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

// Case asks whether a robots.txt lets an agent fetch a URL.
type Case struct {
	ID      string `json:"id"`
	Robots  []byte `json:"robots_base64"`
	Agent   string `json:"agent"`
	URL     string `json:"url"`
	Allowed bool   `json:"allowed"`
	Note    string `json:"note"`
}

// Conformance reads the cases of RFC 9309.
func Conformance(t testing.TB) []Case {
	t.Helper()
	var cases []Case
	if err := json.NewDecoder(Open(t, "cases", "conformance.json")).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 61 {
		t.Fatalf("%d cases, want at least 61", len(cases))
	}
	return cases
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

// Pairs reads the real edits: before and after, by name.
func Pairs(t testing.TB) map[string]*[2][]byte {
	t.Helper()
	pairs := make(map[string]*[2][]byte)
	side := map[string]int{"before.txt": 0, "after.txt": 1}
	for path, text := range Archive(t, "pairs.tar.xz") {
		i, ok := side[filepath.Base(path)]
		if !ok {
			continue
		}
		name := filepath.Base(filepath.Dir(path))
		if pairs[name] == nil {
			pairs[name] = &[2][]byte{}
		}
		pairs[name][i] = text
	}
	return pairs
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
