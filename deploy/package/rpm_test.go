//go:build system

package package_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rpmArch is what RPM calls the architecture that the tests run on.
const rpmArch = "x86_64"

// TestLifeOfTheRPM installs, upgrades and removes the other package, with RPM
// itself and a running systemd.
func TestLifeOfTheRPM(t *testing.T) {
	m := boot(t, treeWith(t, "rpm", "rpm", "cpio"))
	run(t, "cp", packages(t, "*."+rpmArch+".rpm")[0], m.root+"/root/now.rpm")
	m.earlierRPM()
	// Debian's own packages are not in RPM's database, and it advises against
	// RPM for its users.
	rpm := func(args ...string) string {
		t.Helper()
		out := m.do(append([]string{"rpm", "--force-debian"}, args...)...)
		for _, word := range []string{"error", "warning", "scriptlet", "failed"} {
			if strings.Contains(out, word) {
				t.Errorf("rpm %v: %s", args, out)
			}
		}
		return out
	}

	rpm("-i", "--nodeps", "/root/before.rpm")
	first := m.running(unit, home, "")
	if out := rpm("-q", "--queryformat", "%{VERSION} %{LICENSE}", "robotswatch"); out != "0.0.0~before MIT" {
		t.Errorf("it is installed as %s", out)
	}
	if out := rpm("-V", "--nodeps", "robotswatch"); out != "" {
		t.Errorf("what is installed differs from the package:\n%s", out)
	}
	for _, path := range []string{"/usr/share/zsh/site-functions/_robotswatch", "/usr/share/man/man1/robotswatch-run.1.gz"} {
		if !m.has(path) {
			t.Errorf("%s is not there", path)
		}
	}

	config := m.read("/etc/robotswatch/config.toml") + "\n[[sites]]\nurl = \"https://example.com\"\n"
	m.write("/etc/robotswatch/config.toml", config)
	m.do("systemctl", "reload", unit)
	m.await("the new site is watched", m.watches("https://example.com"))

	rpm("-U", "--nodeps", "/root/now.rpm")
	m.running(unit, home, first)
	if got := m.read("/etc/robotswatch/config.toml"); got != config {
		t.Errorf("the configuration became\n%s", got)
	}
	m.await("the site is still watched", m.watches("https://example.com"))

	// Nothing runs after the removal; what was configured and seen is kept.
	if out, err := m.try("rpm", "--force-debian", "-e", "robotswatch"); err != nil || !strings.Contains(out, "saved as /etc/robotswatch/config.toml.rpmsave") {
		t.Errorf("rpm -e: %v %s", err, out)
	}
	if out, _ := m.try("systemctl", "is-active", unit); out == "active" {
		t.Error("it still runs after the removal")
	}
	if !m.has("/etc/robotswatch/config.toml.rpmsave") || !m.hasStore() {
		t.Error("configuration or store went with the removal")
	}
	for _, path := range []string{"/usr/bin/robotswatch", "/usr/lib/systemd/system/" + unit, "/etc/systemd/system/multi-user.target.wants/" + unit} {
		if m.has(path) {
			t.Errorf("%s is left over", path)
		}
	}
}

// earlierRPM packs what is in now.rpm under an earlier version, as before.rpm.
func (m *machine) earlierRPM() {
	t := m.t
	t.Helper()
	run(t, "chroot", m.root, "sh", "-c", "mkdir /root/content && cd /root/content && rpm2cpio /root/now.rpm | cpio -idm --quiet --no-absolute-filenames")
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The places that nfpm.yaml names.
	work, content := t.TempDir(), m.root+"/root/content/usr"
	for _, link := range [][2]string{
		{repository + "/deploy", "deploy"}, {repository + "/docs", "docs"}, {repository + "/config.example.toml", "config.example.toml"}, {repository + "/LICENSE", "LICENSE"},
		{content + "/bin/robotswatch", "dist/stage/robotswatch"}, {content + "/share/man/man1", "dist/stage/man"},
		{content + "/share/bash-completion/completions/robotswatch", "dist/stage/completions/robotswatch.bash"},
		{content + "/share/zsh/site-functions/_robotswatch", "dist/stage/completions/_robotswatch"},
		{content + "/share/fish/vendor_completions.d/robotswatch.fish", "dist/stage/completions/robotswatch.fish"},
	} {
		to := filepath.Join(work, link[1])
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, "cp", "-a", link[0], to)
	}
	build, err := os.ReadFile(repository + "/deploy/package/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, nfpm, _ := strings.Cut(string(build), "NFPM=${NFPM:-")
	nfpm, _, _ = strings.Cut(nfpm, "}")
	cmd := exec.Command("sh", "-c", nfpm+" package --config deploy/package/nfpm.yaml --packager rpm --target before.rpm")
	cmd.Dir, cmd.Env = work, append(os.Environ(), "ARCH=amd64", "VERSION=v0.0.0-before")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nfpm: %v\n%s", err, out)
	}
	run(t, "cp", work+"/before.rpm", m.root+"/root/before.rpm")
}
