//go:build system

package package_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// asTown in the environment makes the test binary a site and a Slack in the
// network of a machine: what Slack got goes to standard output.
const asTown = "ROBOTSWATCH_TEST_TOWN"

const townAddress = "127.0.0.1:8080"

// town has a robots.txt that keeps out whom it was told to.
func town() int {
	var mu sync.Mutex
	text := "User-agent: *\nDisallow: /private/\n"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, text)
	})
	mux.HandleFunc("GET /ban/{agent}", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		text += "\nUser-agent: " + r.PathValue("agent") + "\nDisallow: /\n"
	})
	mux.HandleFunc("POST /services/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = os.Stdout.Write(append(body, '\n')) // a message is a line
		_, _ = io.WriteString(w, "ok")
	})
	if err := http.ListenAndServe(townAddress, mux); err != nil {
		return 1
	}
	return 0
}

// TestAStrangersHour does what docs/getting-started.md says, in its order, on
// a fresh Debian, and sees the alerts that it promises.
func TestAStrangersHour(t *testing.T) {
	m := boot(t, treeWith(t, "prometheus", "prometheus"))
	slack := filepath.Join(t.TempDir(), "slack")
	m.build(slack)
	run(t, "cp", packages(t, "*_"+runtime.GOARCH+".deb")[0], m.root+"/root/robotswatch.deb")
	text, err := os.ReadFile("../../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	config := ""
	for _, block := range regexp.MustCompile("(?s)```(sh|toml|yaml)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		// The internet has moved into the machine, and time runs faster.
		said := strings.NewReplacer(
			"https://hooks.slack.com", "http://"+townAddress, "https://example.com", "http://"+townAddress,
			" example.com", " http://"+townAddress+" --allow-private-networks", "site=example.com", "site=http://"+townAddress,
			"dist/robotswatch_*_amd64.deb", "/root/robotswatch.deb",
			"[fetch]\n", "[schedule]\ndefault = \"@every 1s\"\n[fetch]\nallow_private_networks = true\n",
			"type = \"slack\"\n", "type = \"slack\"\nallow_private_networks = true\ngroup_wait = \"1s\"\n",
		).Replace(block[2])
		switch block[1] {
		case "toml":
			config += said + "\n"
			m.write("/etc/robotswatch/config.toml", config)
			continue
		case "yaml":
			m.write("/etc/prometheus/prometheus.yml", "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"+said)
			m.do("sed", "-i", "s/for: 5m/for: 1s/", "/etc/prometheus/robotswatch.yml")
			continue
		}
		for line := range strings.Lines(said) {
			m.follow(strings.TrimSpace(line))
		}
	}
	m.await("it runs again", func() bool { _, ok := m.page(home + "/-/ready"); return ok })
	m.await("the test message is in Slack", func() bool { return strings.Contains(read(t, slack), "can reach you") })
	m.await("the site is known", func() bool {
		body, _ := m.page(home + "/api/v1/access?site=http://" + townAddress + "&agent=GPTBot&path=/x")
		return strings.Contains(body, `"allowed":true`)
	})
	m.ban("GPTBot")
	m.await("the alert is in Slack", func() bool { return strings.Contains(read(t, slack), "GPTBot now blocked") })
	// Where docs/operations.md says that secrets are while the service runs.
	m.do("env", "CREDENTIALS_DIRECTORY=/run/credentials/robotswatch.service", "robotswatch", "deliveries")
}

// follow does one line of the document.
func (m *machine) follow(line string) {
	m.t.Helper()
	switch {
	case line == "", strings.HasPrefix(line, "make "):
	case strings.HasPrefix(line, "sudo apt-get install "): // without a network: it is there
		m.do("dpkg", "--status", strings.TrimPrefix(line, "sudo apt-get install "))
	case strings.HasSuffix(line, "/api/v1/alerts"):
		m.await("the alert fires", func() bool {
			body, _ := m.page(strings.TrimPrefix(line, "curl "))
			return strings.Contains(body, `"alertname":"RobotswatchDown"`) && strings.Contains(body, `"state":"firing"`)
		})
	case strings.HasPrefix(line, "curl "):
		url := strings.Trim(strings.Fields(line)[1], "'")
		if body, ok := m.page(url); !ok {
			m.t.Fatalf("%s: %s", line, body)
		}
	case strings.HasPrefix(line, "robotswatch check "):
		if out, err := m.try("sh", "-c", line); err != nil && !strings.Contains(out, "GPTBot") {
			m.t.Fatalf("%s: %v\n%s", line, err, out)
		}
	default:
		m.do("sh", "-c", regexp.MustCompile(`^sudo ((?:[A-Z_]+=\S+ )?)`).ReplaceAllString(line, "env $1"))
	}
}

// build starts the town; what its Slack gets is written to a file.
func (m *machine) build(slack string) {
	m.t.Helper()
	out, err := os.Create(slack)
	if err != nil {
		m.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("nsenter", "--target", m.leader, "--net", m.self)
	cmd.Env = append(os.Environ(), asTown+"=1")
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	m.await("the town is there", func() bool { _, ok := m.page("http://" + townAddress + "/robots.txt"); return ok })
}

// ban has the town's robots.txt keep out an agent.
func (m *machine) ban(agent string) {
	m.t.Helper()
	if _, ok := m.page("http://" + townAddress + "/ban/" + agent); !ok {
		m.t.Fatal("the site cannot be changed")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
