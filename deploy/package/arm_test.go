//go:build system

package package_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTheProgramOnARM runs the program for the other architecture, emulated:
// what needs no daemon, then a whole daemon with its store and its alerts.
func TestTheProgramOnARM(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "robotswatch")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "../../cmd/robotswatch")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if info, err := os.Stat(binary); err != nil || info.Size() > maxBinary {
		t.Errorf("binary: %v %v", info.Size(), err)
	}
	const emulator = "qemu-aarch64-static"
	if out := run(t, emulator, binary, "version"); !strings.Contains(out, "linux/arm64") {
		t.Errorf("it says of itself %s", out)
	}
	run(t, emulator, binary, "config", "check", "../../config.example.toml")

	demo := exec.Command(emulator, binary, "demo")
	said, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { demo.Process.Kill() }) // what has ended already does not mind
	var heard strings.Builder
	told := false
	for lines := bufio.NewScanner(said); lines.Scan(); {
		heard.WriteString(lines.Text() + "\n")
		if !told && strings.Contains(lines.Text(), "GPTBot now blocked") {
			told = true
			if err := demo.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := demo.Wait(); err != nil || !told || !strings.Contains(heard.String(), "nothing of it is left") {
		t.Errorf("the demo: %v\n%s", err, heard.String())
	}
}
