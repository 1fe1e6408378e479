package fetch

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ulikunitz/xz"
)

// sharedDir is where the corpus of real files lies, beside the repository.
func sharedDir(t testing.TB) string {
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

// corpus gives the files of one archive of real files by name.
func corpus(t testing.TB, name string) map[string][]byte {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedDir(t), "corpus", name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the corpus of real files is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := xz.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[filepath.Base(h.Name)], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// A file with a line that any crawler reads is a robots.txt, unless it is a
// page; judged here in another way than by the code.
func TestSniffRealFiles(t *testing.T) {
	line := regexp.MustCompile(`(?im)^[ \t]*(user-?agent|disallow|allow|sitemap|crawl-delay)[ \t]*:`)
	tag := regexp.MustCompile(`(?i)<(!doctype|html|head|body|meta|script|span|div|title|h1|\?xml|error|figure)\b`)
	counts := make(map[Reason]int)
	for name, body := range corpus(t, "robots-2024.tar.xz") {
		k := sniff(http.Header{}, body)
		counts[k.reason]++
		first := bytes.TrimSpace(body)
		page := tag.Match(first[:min(len(first), 1000)]) && len(first) > 0 && first[0] == '<'
		switch {
		case line.Match(body) && !page && k.reason != NoReason:
			t.Errorf("%s: %s, but it has records: %.80q", name, k.reason, body)
		case page && !line.Match(body) && k.reason == NoReason:
			t.Errorf("%s is taken for a robots.txt: %.80q", name, body)
		case !page && !line.Match(body):
			t.Logf("%-40s %-10s %.60q", name, k.reason, body)
		}
	}
	t.Log(counts)
}
