package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/robotswatch/robotswatch/internal/needs"
	"github.com/robotswatch/robotswatch/internal/simweb"
)

// box is a receiver that counts how often it got which message.
type box struct {
	url  string
	mu   sync.Mutex
	took map[string]int
}

func newBox(t *testing.T) *box {
	b := &box{took: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.took[r.Header.Get("webhook-id")]++
	}))
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

// counts are the messages, and how often they came in all.
func (b *box) counts() (messages, times int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.took {
		times += n
	}
	return len(b.took), times
}

// disk is a small file system with a device of its own.
type disk struct{ dir, image, device string }

// mountDisk gives a disk that turns read-only when it meets an error, as
// Debian mounts them.
func mountDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{dir: dir, image: filepath.Join(t.TempDir(), "disk")}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(needs.Program(t, "mkfs.ext4"), "-q", d.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v %s", err, out)
	}
	if err := d.mount(); err != nil {
		needs.Lacking(t, "needs a disk of its own: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return d
}

func (d *disk) mount() error {
	if out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", d.image, d.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	out, err := exec.Command("losetup", "--noheadings", "--output", "NAME", "--associated", d.image).Output()
	if err != nil {
		return fmt.Errorf("losetup: %w", err)
	}
	d.device = filepath.Base(strings.TrimSpace(string(out)))
	return nil
}

// trigger is the file through which the kernel meets an error on the disk.
func (d *disk) trigger() string { return "/sys/fs/ext4/" + d.device + "/trigger_fs_error" }

// fail has the kernel meet an error on the disk. What it had not written yet
// is gone then, as after a power failure.
func (d *disk) fail(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(d.trigger(), []byte("1"), 0o200); err != nil {
		t.Fatal(err)
	}
}

// flush has the kernel write all it has.
func (d *disk) flush(t *testing.T) {
	t.Helper()
	dir, err := os.Open(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		t.Fatal(err)
	}
}

// mend does what has to be done to a disk that turned read-only.
func (d *disk) mend(t *testing.T) {
	t.Helper()
	if err := syscall.Unmount(d.dir, 0); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("fsck.ext4", "-p", d.image).CombinedOutput()
	if code := err; code != nil && !strings.HasSuffix(code.Error(), "status 1") { // 1: errors were mended
		t.Fatalf("fsck: %v\n%s", err, out)
	}
	if err := d.mount(); err != nil {
		t.Fatal(err)
	}
}

// The disk under a running daemon turns read-only.
func TestFaultDiskTurnsReadOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := mountDisk(t, s.dir)
	b := newBox(t)
	s.configure(s.sites("a.example", "b.example"), hook("box", b.url))
	p := start(t, s.dir).ready()
	eventually(t, "both sites are known", func() bool { v, _ := p.metric(`robotswatch_sites{state="policy"}`); return v == 2 })
	s.web.Set("a.example", simweb.Text(blocksAll))
	eventually(t, "the first change is delivered", func() bool { n, _ := b.counts(); return n == 1 })
	eventually(t, "the receiver owes no answer", func() bool {
		v, _ := p.metric(`robotswatch_deliveries_total{receiver="box",result="sent"}`)
		return v == 1
	})

	d.flush(t)
	d.fail(t)
	s.web.Set("b.example", simweb.Text(blocksAll))
	eventually(t, "the metrics tell of it", func() bool { v, _ := p.metric("robotswatch_store_errors_total"); return v > 0 })
	within(t, 2*patience, "it is not ready, and says why", func() bool {
		status, body := p.ask("GET", "/-/ready")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "the store does not work")
	})
	if status, body := p.ask("GET", "/api/v1/sites"); status != http.StatusOK || !strings.Contains(body, "b.example") {
		t.Errorf("what is known can be read, but the answer is %d %s", status, body)
	}
	p.stop()
	refuses(t, start(t, s.dir), "store sqlite:test.db: ", "read-only file system")

	d.mend(t)
	if out, err := program(t, s.dir, nil, "--config", "config.toml", "store", "check").CombinedOutput(); err != nil {
		t.Errorf("the disk is mended, and store check says %s", out)
	}
	p = start(t, s.dir).ready()
	eventually(t, "the second change is delivered", func() bool { n, _ := b.counts(); return n == 2 })
	if status, body := p.ask("GET", "/-/ready"); status != http.StatusOK {
		t.Errorf("it is not ready: %d %s", status, body)
	}
	p.stop()
	if n, times := b.counts(); n != 2 || times != 2 {
		t.Errorf("%d messages came %d times, want each of 2 once", n, times)
	}
}

// The power fails just after a change was told. It is no news afterwards.
func TestFaultPowerFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := mountDisk(t, s.dir)
	b := newBox(t)
	s.configure(s.sites("a.example"), hook("box", b.url))
	p := start(t, s.dir).ready()
	eventually(t, "the site is known", func() bool { v, _ := p.metric(`robotswatch_sites{state="policy"}`); return v == 1 })
	d.flush(t)
	s.web.Set("a.example", simweb.Text(blocksAll))
	eventually(t, "the change is told", func() bool { n, _ := b.counts(); return n == 1 })
	d.fail(t)
	p.signal(syscall.SIGKILL)
	p.end()

	d.mend(t)
	if out, err := program(t, s.dir, nil, "--config", "config.toml", "store", "check").CombinedOutput(); err != nil {
		t.Errorf("the power is back, and store check says %s", out)
	}
	looks := s.web.Stats("a.example").Requests
	p = start(t, s.dir).ready()
	eventually(t, "the site is looked at again", func() bool { return s.web.Stats("a.example").Requests > looks+2 })
	p.stop()
	if n, times := b.counts(); n != 1 || times > 2 {
		t.Errorf("%d messages came %d times, want one, and once more if its answer was not on the disk", n, times)
	}
}
