package dataset_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/robotswatch/robotswatch/dataset"
)

// What stands under the name stays what it is: a pipe or a device such as
// /dev/null (which root could put a file in the place of), a symbolic link.
func TestFileLeavesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		syscall.Mkfifo(at("pipe"), 0o600),
		os.WriteFile(at("old"), []byte("much longer than the new"), 0o600),
		os.Symlink("old", at("link")),
		os.Symlink("new", at("early")), // leads to nothing yet
		os.Mkdir(at("directory"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	kind := func(name string) os.FileMode {
		t.Helper()
		info, err := os.Lstat(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }

	reader, err := os.OpenFile(at("pipe"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, name := range []string{"pipe", "old", "link", "early"} {
		before := kind(name)
		if err := dataset.File(at(name), write); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := kind(name); after != before {
			t.Errorf("%s became %v", name, after)
		}
	}
	if !t.Failed() {
		got := make([]byte, 10)
		if n, err := reader.Read(got); err != nil || string(got[:n]) != "new" {
			t.Errorf("through the pipe came %q (%v)", got[:n], err)
		}
	}
	for _, name := range []string{"old", "new"} {
		if got, err := os.ReadFile(at(name)); err != nil || string(got) != "new" {
			t.Errorf("the file %s holds %q (%v)", name, got, err)
		}
	}
	asked := false
	if err := dataset.File(at("directory"), func(io.Writer) error { asked = true; return nil }); err == nil || asked {
		t.Errorf("a directory is refused before anything is written: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 6 {
		t.Errorf("left over: %v (%v)", list, err)
	}
}
