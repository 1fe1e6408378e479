// Package needs is for tests of what a fresh machine may lack: a program, a
// right, an address family. Such a test is passed over there; where the
// environment has CI, everything is there, and what is lacking fails it.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Program gives the path of a program.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Lacking(t, "%s is not installed", name)
	}
	return path
}

// Lacking ends a test for want of what the words name.
func Lacking(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
