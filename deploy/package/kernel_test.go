//go:build system

package package_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// asGuest in the environment says that the test binary is in a virtual
// machine, whose clock may be set and whose memory may run out.
const asGuest = "ROBOTSWATCH_TEST_GUEST"

const guestUnit = `[Unit]
After=network.target
[Service]
Environment=` + asGuest + `=1
ExecStart=/root/guest -test.v -test.run TestOnAKernelOfItsOwn
ExecStopPost=systemctl poweroff --no-block
TTYPath=/dev/ttyS1
StandardOutput=tty
StandardError=tty
[Install]
WantedBy=multi-user.target
`

const guestConfig = `[store]
url = "sqlite:/var/lib/robotswatch/robotswatch.db"
[schedule]
default = "@every 1s"
[fetch]
allow_private_networks = true
[[sites]]
url = "http://` + townAddress + `"
[[receivers]]
name = "team"
type = "slack"
webhook_url = "http://` + townAddress + `/services/x"
allow_private_networks = true
group_wait = "0"
`

// TestOnAKernelOfItsOwn boots a Debian with its own kernel, under emulation,
// and does there what must not be done to this machine.
func TestOnAKernelOfItsOwn(t *testing.T) {
	if os.Getenv(asGuest) == "" {
		beHost(t)
		return
	}
	m := &machine{t: t, root: "/", leader: "1", self: "/root/guest", slow: 6}
	slack := "/root/slack"
	m.build(slack)
	m.do("dpkg", "-i", "/root/robotswatch.deb")
	m.write("/etc/robotswatch/config.toml", guestConfig)
	m.do("systemctl", "restart", unit)
	m.running(unit, home, "")
	m.await("the site is known", m.metric(`robotswatch_sites{state="policy"} 1`))

	m.ban("GPTBot")
	m.alerts(slack, "GPTBot")
	m.outOfMemory(slack)
	m.clockIsSet(slack)

	m.do("systemctl", "stop", unit)
	for _, agent := range []string{"GPTBot", "CCBot", "Bytespider", "ClaudeBot"} {
		told := 0
		for message := range strings.Lines(read(t, slack)) {
			if strings.Contains(message, agent+" now blocked") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("Slack was told %d times of %s", told, agent)
		}
	}
	if out := m.do("robotswatch", "--config", "/etc/robotswatch/config.toml", "store", "check"); !strings.Contains(out, "sound") {
		t.Error(out)
	}
}

// alerts waits for the message that an agent was banned, and until it is known
// to be sent: whoever is killed before that sends it again.
func (m *machine) alerts(slack, agent string) {
	m.t.Helper()
	m.await("Slack is told of "+agent, func() bool { return strings.Contains(read(m.t, slack), agent+" now blocked") })
	m.await("nothing is to be sent any more", m.metric(`robotswatch_deliveries_pending{receiver="team"} 0`))
}

// outOfMemory has the kernel kill the daemon for the memory that it uses.
func (m *machine) outOfMemory(slack string) {
	before := m.property(unit, "MainPID")
	m.do("systemctl", "set-property", "--runtime", unit, "MemoryMax=12M")
	m.await("the journal says what killed it", func() bool {
		out := m.do("journalctl", "--no-pager", "-u", unit)
		return strings.Contains(out, "killed by the OOM killer") && strings.Contains(out, "result 'oom-kill'")
	})
	m.ban("CCBot")
	m.do("systemctl", "set-property", "--runtime", unit, "MemoryMax=1G")
	m.running(unit, home, before)
	m.alerts(slack, "CCBot")
}

// clockIsSet sets the clock forward and back under the running daemon.
func (m *machine) clockIsSet(slack string) {
	pid := m.property(unit, "MainPID")
	m.do("date", "-s", "+3 hours")
	m.ban("Bytespider")
	m.alerts(slack, "Bytespider")
	m.do("date", "-s", "-8 hours")
	m.ban("ClaudeBot")
	m.alerts(slack, "ClaudeBot")
	if log := m.do("journalctl", "--no-pager", "-u", unit); !strings.Contains(log, "the clock was set back, plans are moved with it") {
		m.t.Errorf("nothing is said of the clock:\n%s", log)
	}
	if _, ok := m.page(home + "/-/ready"); !ok {
		m.t.Error("it is not ready")
	}
	if now := m.property(unit, "MainPID"); now != pid {
		m.t.Errorf("process %s became %s", pid, now)
	}
}

// beHost runs this test in a virtual machine.
func beHost(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tree")
	run(t, "cp", "-a", "--reflink=auto", treeWith(t, "kernel", "linux-image-cloud-amd64", "initramfs-tools"), tree)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run(t, "cp", self, tree+"/root/guest")
	run(t, "cp", packages(t, "*_"+runtime.GOARCH+".deb")[0], tree+"/root/robotswatch.deb")
	if err := os.WriteFile(tree+"/etc/systemd/system/guest.service", []byte(guestUnit), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "systemctl", "--root="+tree, "enable", "guest.service")
	said, console, image := filepath.Join(t.TempDir(), "said"), filepath.Join(t.TempDir(), "console"), filepath.Join(t.TempDir(), "image")
	run(t, "mke2fs", "-q", "-t", "ext4", "-d", tree, image, "2G")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-machine", "q35", "-cpu", "max", "-smp", "2", "-m", "1024", "-display", "none", "-no-reboot", "-nic", "none",
		"-kernel", one(t, tree+"/boot/vmlinuz-*"), "-initrd", one(t, tree+"/boot/initrd.img-*"), "-append", "root=/dev/vda rw console=ttyS0 panic=-1",
		"-drive", "format=raw,if=virtio,cache=unsafe,file="+image, "-serial", "file:"+console, "-serial", "file:"+said)
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	err = cmd.Run()
	words := strings.ReplaceAll(read(t, said), "\r", "")
	t.Log(words)
	if err != nil || !strings.HasSuffix(strings.TrimSpace(words), "PASS") {
		t.Errorf("%v %s\nthe console:\n%s", err, trouble.String(), read(t, console))
	}
}

// one is the only file that matches.
func one(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatal(fmt.Errorf("%s: %d files, want one: %w", pattern, len(files), err))
	}
	return files[0]
}
