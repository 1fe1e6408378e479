//go:build system

package package_test

import (
	"database/sql"
	"runtime"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// TestTheWatchdogSparesWhoWaits locks the store for longer than systemd's
// watchdog waits: the daemon says that it is not ready, and is not killed.
func TestTheWatchdogSparesWhoWaits(t *testing.T) {
	const watchdog = 50 * time.Second // half of it is more than the daemon waits for its store
	m := boot(t, baseTree(t))
	run(t, "cp", packages(t, "*_"+runtime.GOARCH+".deb")[0], m.root+"/root/robotswatch.deb")
	m.do("mkdir", "-p", "/etc/systemd/system/"+unit+".d")
	m.write("/etc/systemd/system/"+unit+".d/short.conf", "[Service]\nWatchdogSec="+watchdog.String()+"\n")
	m.do("dpkg", "-i", "/root/robotswatch.deb")
	m.write("/etc/robotswatch/config.toml", m.read("/etc/robotswatch/config.toml")+"\n[schedule]\ndefault = \"@every 1s\"\n[[sites]]\nurl = \"https://example.com\"\n")
	m.do("systemctl", "reload", unit)
	m.await("the site is watched", m.watches("https://example.com"))
	pid := m.running(unit, home, "")

	db, err := sql.Open("sqlite", "file:"+m.root+"/var/lib/private/robotswatch/robotswatch.db?_busy_timeout=5000&mode=rw&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lock, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	m.await("it is not ready", func() bool { _, ok := m.page(home + "/-/ready"); return !ok })
	<-time.After(time.Until(since.Add(2 * watchdog))) // how long the trouble lasts
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	m.await("it is ready again", func() bool { _, ok := m.page(home + "/-/ready"); return ok })
	if now := m.property(unit, "MainPID"); now != pid {
		t.Errorf("process %s became %s", pid, now)
	}
}
