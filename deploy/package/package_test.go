//go:build system

// Package package_test looks at the packages and lives with them on a Debian
// with a running systemd: make package-test. It needs root, and of Debian
// debootstrap, systemd-container, qemu-system-x86 and qemu-user-static.
package package_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// maxBinary is the promise about the size of the program, in octets.
const maxBinary = 40 << 20

// packages are the .deb files that "make packages" has built.
func packages(t *testing.T, pattern string) []string {
	t.Helper()
	debs, err := filepath.Glob("../../dist/" + pattern)
	if err != nil || len(debs) == 0 {
		t.Fatalf("no %s in dist: make packages builds them", pattern)
	}
	return debs
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestWhatIsInThePackages(t *testing.T) {
	for _, deb := range packages(t, "*.deb") {
		root := t.TempDir()
		run(t, "dpkg-deb", "-R", deb, root)
		conffiles, err := os.ReadFile(root + "/DEBIAN/conffiles")
		if err != nil || strings.TrimSpace(string(conffiles)) != "/etc/robotswatch/config.toml" {
			t.Errorf("conffiles: %q %v", conffiles, err)
		}
		for _, path := range []string{
			"DEBIAN/postinst", "DEBIAN/prerm", "DEBIAN/postrm", "usr/lib/systemd/system/robotswatch.service",
			"usr/share/bash-completion/completions/robotswatch", "usr/share/man/man1/robotswatch-run.1.gz",
			"usr/share/doc/robotswatch/operations.md", "usr/share/doc/robotswatch/prometheus/rules.yml", "usr/share/doc/robotswatch/prometheus/alertmanager.yml",
		} {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Error(err)
			}
		}
		binary := root + "/usr/bin/robotswatch"
		if info, err := os.Stat(binary); err != nil || info.Size() > maxBinary || info.Mode().Perm() != 0o755 {
			t.Errorf("binary: %v %v", info, err)
		}
		f, err := elf.Open(binary)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s is not static", deb)
			}
		}
		f.Close()
		if strings.Contains(deb, "_"+runtime.GOARCH+".") {
			run(t, binary, "config", "check", root+"/etc/robotswatch/config.toml")
		}
	}
}
