//go:build system

package package_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

const (
	unit = "robotswatch.service"
	home = "http://127.0.0.1:9309"
)

// TestLifeOfThePackage installs, reloads, kills, upgrades, removes and purges
// the package where systemd runs.
func TestLifeOfThePackage(t *testing.T) {
	m := boot(t, baseTree(t))
	t.Log(strings.SplitN(m.do("systemctl", "--version"), "\n", 2)[0])
	now := packages(t, "*_"+runtime.GOARCH+".deb")[0]
	for name, file := range map[string]string{"now.deb": now, "before.deb": earlier(t, now)} {
		run(t, "cp", file, filepath.Join(m.root, "root", name))
	}

	// Installed: it runs, and says so.
	m.do("dpkg", "-i", "/root/before.deb")
	first := m.running(unit, home, "")
	if got := m.property(unit, "UnitFileState"); got != "enabled" {
		t.Errorf("after the installation it is %s", got)
	}
	if body, ok := m.page(home + "/"); !ok || !strings.Contains(body, "<html") {
		t.Errorf("the dashboard: %.200s", body)
	}

	// Reloaded: the same process watches another site.
	config := m.read("/etc/robotswatch/config.toml") + "\n[[sites]]\nurl = \"https://example.com\"\n"
	m.write("/etc/robotswatch/config.toml", config)
	m.do("systemctl", "reload", unit)
	m.await("the new site is watched", m.watches("https://example.com"))
	m.write("/etc/robotswatch/config.toml", config+"nonsense = 1\n")
	m.do("systemctl", "reload", unit)
	m.await("a bad file is reported", m.metric("robotswatch_config_last_reload_successful 0"))
	m.await("the journal has it among the errors, with fields", func() bool {
		out, _ := m.try("journalctl", "--no-pager", "-u", unit, "-p", "err", "-o", "verbose", "SYSLOG_IDENTIFIER=robotswatch")
		return strings.Contains(out, "MESSAGE=configuration not reloaded, the old one stays in force error=") && strings.Contains(out, " ERROR=")
	})
	m.write("/etc/robotswatch/config.toml", config)
	m.do("systemctl", "reload", unit)
	m.await("a good file is reported", m.metric("robotswatch_config_last_reload_successful 1"))
	if got := m.property(unit, "MainPID"); got != first {
		t.Errorf("process %s became %s by reloading", first, got)
	}

	// Killed: it comes back.
	m.do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", unit)
	second := m.running(unit, home, first)

	// Many starts in vain: it runs as soon as there is nothing in its way.
	m.write("/etc/robotswatch/config.toml", config+"nonsense = 1\n")
	m.do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", unit)
	m.hurry(unit)
	m.await("it was started in vain very often", func() bool {
		n, err := strconv.Atoi(m.property(unit, "NRestarts"))
		return err == nil && n > 12
	})
	m.await("the journal has why among the errors", func() bool {
		out, _ := m.try("journalctl", "--no-pager", "-u", unit, "-p", "err", "SYSLOG_IDENTIFIER=robotswatch")
		return strings.Contains(out, "robotswatch: ") && strings.Contains(out, "nonsense")
	})
	m.write("/etc/robotswatch/config.toml", config)
	second = m.running(unit, home, second)

	// Upgraded: a new process, the same data, the changed configuration.
	m.do("dpkg", "--force-confold", "-i", "/root/now.deb")
	third := m.running(unit, home, second)
	m.do("systemctl", "stop", unit)
	m.do("robotswatch", "store", "migrate", "--backup", "/root/before.db")
	m.do("systemctl", "start", unit)
	m.running(unit, home, third)
	if got := m.read("/etc/robotswatch/config.toml"); got != config {
		t.Errorf("the configuration became\n%s", got)
	}
	m.await("the site is still watched", m.watches("https://example.com"))

	// Put back: the copy of before, also where a kill left a log beside the file.
	m.do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", unit)
	m.do("systemctl", "stop", unit)
	m.do("rm", "-f", "/var/lib/robotswatch/robotswatch.db-wal", "/var/lib/robotswatch/robotswatch.db-shm")
	m.do("cp", "/root/before.db", "/var/lib/robotswatch/robotswatch.db")
	m.do("systemctl", "start", unit)
	m.running(unit, home, "")
	m.await("the site is watched by the copy", m.watches("https://example.com"))

	// A second instance from the template, and a socket held by systemd.
	m.write("/etc/robotswatch/two.toml", "[store]\nurl = \"sqlite:two.db\"\n[server]\nlisten = \"127.0.0.1:9310\"\n")
	m.do("systemctl", "enable", "--now", "robotswatch@two.service")
	m.running("robotswatch@two.service", "http://127.0.0.1:9310", "")
	if !m.has("/var/lib/private/robotswatch-two/two.db") {
		t.Error("the second instance has no store of its own")
	}
	m.do("systemctl", "stop", unit)
	m.do("systemctl", "start", "robotswatch.socket")
	m.running(unit, home, "") // starts it by its first connection
	m.do("systemctl", "stop", "robotswatch.socket")

	// Removed: nothing runs, configuration and data are kept.
	m.do("dpkg", "-r", "robotswatch")
	for _, u := range []string{unit, "robotswatch@two.service"} {
		if out, _ := m.try("systemctl", "is-active", u); out == "active" {
			t.Errorf("%s still runs after the removal", u)
		}
	}
	if !m.has("/etc/robotswatch/config.toml") || !m.hasStore() {
		t.Error("configuration or store went with the removal")
	}
	if m.has("/usr/bin/robotswatch") || m.has("/usr/lib/systemd/system/"+unit) {
		t.Error("the program or the unit is still there")
	}

	// Installed again: it goes on with what it had. Then all of it goes.
	m.do("dpkg", "-i", "/root/now.deb")
	m.running(unit, home, "")
	m.await("the site is known again", m.watches("https://example.com"))
	m.do("dpkg", "--purge", "robotswatch")
	for _, path := range []string{
		"/etc/robotswatch/config.toml", "/var/lib/robotswatch", "/var/lib/private/robotswatch", "/var/lib/private/robotswatch-two",
		"/usr/bin/robotswatch", "/etc/systemd/system/multi-user.target.wants/" + unit, "/etc/systemd/system/multi-user.target.wants/robotswatch@two.service",
	} {
		if m.has(path) {
			t.Errorf("%s is left over", path)
		}
	}
	if out := m.do("systemctl", "list-units", "--failed", "--plain", "--no-legend", "robotswatch*"); out != "" {
		t.Errorf("failed units: %s", out)
	}
}

// hurry has a unit be started again without a pause from now on.
func (m *machine) hurry(unit string) {
	m.t.Helper()
	m.do("mkdir", "-p", "/etc/systemd/system/"+unit+".d")
	m.write("/etc/systemd/system/"+unit+".d/hurry.conf", "[Service]\nRestartSec=100ms\n")
	m.do("systemctl", "daemon-reload")
}

// earlier is the same package under an earlier version.
func earlier(t *testing.T, deb string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "package")
	run(t, "dpkg-deb", "-R", deb, root)
	control, err := os.ReadFile(root + "/DEBIAN/control")
	if err != nil {
		t.Fatal(err)
	}
	control = regexp.MustCompile(`(?m)^Version: .*$`).ReplaceAll(control, []byte("Version: 0.0.0~before"))
	if err := os.WriteFile(root+"/DEBIAN/control", control, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "dpkg-deb", "--root-owner-group", "-Znone", "-b", root, root+".deb") // packing takes half a minute
	return root + ".deb"
}

// running waits until a unit is ready as another process than before, and
// gives that process.
func (m *machine) running(unit, url, before string) (pid string) {
	m.t.Helper()
	m.await(fmt.Sprintf("%s is ready", unit), func() bool {
		_, ok := m.page(url + "/-/ready")
		pid = m.property(unit, "MainPID")
		return ok && pid != before && pid != "0" && m.property(unit, "ActiveState") == "active"
	})
	return pid
}

func (m *machine) watches(site string) func() bool {
	return func() bool {
		body, ok := m.page(home + "/api/v1/sites")
		return ok && strings.Contains(body, site)
	}
}

func (m *machine) metric(line string) func() bool {
	return func() bool {
		body, _ := m.page(home + "/metrics")
		return strings.Contains(body, "\n"+line+"\n")
	}
}

func (m *machine) read(path string) string {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

func (m *machine) hasStore() bool {
	return m.has("/var/lib/private/robotswatch/robotswatch.db")
}
