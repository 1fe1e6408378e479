package config

import (
	"os"
	"strings"
	"testing"
	"time"
)

const full = `
[store]
url = "sqlite:x.db"
retention = "400d"
[schedule]
default = "CRON_TZ=UTC 0 */4 * * *"
digest = "0 9 * * 1"
[fetch]
user_agent = "mybot/2.0 (+https://example.com/bot \"quoted\")"
timeout = "1m30s"
concurrency = 12
per_address = 3
per_domain = 2
max_redirects = 7
max_bytes = "700KiB"
allow_private_networks = true
allow_networks = ["10.20.0.0/16", "fd00::/8"]
proxy = "http://proxy.example:3128"
verified_chain_cache = "0"
[semantics]
denied = "block"
after_30_days = "allow"
[confirm]
failures = 5
interval = "90s"
[agents]
watch = ["@all", "MyBot"]
[[sites]]
url = "http://example.com"
tags = ["a"]
schedule = "@every 1h"
agents = ["GPTBot"]
[server]
listen = "[::1]:0"
external_url = "https://example.com/robotswatch/"
insecure = true
[metrics]
per_site_limit = 0
[heartbeat]
interval = "1m"
[log]
level = "debug"
[[receivers]]
name = "a"
type = "exec"
command = ["/bin/sh", "-c", "cat"]
mode = "digest"
digest = "0 8 * * 1-5"
digest_empty = true
group_wait = "0"
min_severity = "info"
kinds = ["access", "cosmetic"]
states = ["unreachable"]
agents = ["GPTBot", "@ai"]
tags = ["news", "!eu"]
max_age = "2h"
hourly_limit = 10
quiet_hours = "22:30-07:00"
time_zone = "Europe/Berlin"
timeout = "5s"
[[receivers]]
name = "b"
type = "shoutrrr"
urls = ["logger://x", "ntfy://y"]
`

// What is shown is TOML that means the same, where no secret is hidden in it.
func TestWhatIsShownMeansTheSame(t *testing.T) {
	show := func(c *Config) string {
		var b strings.Builder
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	once := show(parse(t, full))
	twice := show(parse(t, strings.ReplaceAll(once, `urls = ["logger://********", "ntfy://********"]`, `urls = ["logger://x", "ntfy://y"]`)))
	if once != twice {
		t.Errorf("--- once\n%s--- twice\n%s", once, twice)
	}
	golden(t, "testdata/full.shown.toml", once)
}

func TestDefaultsAreThoseThatAreDocumented(t *testing.T) {
	c := parse(t, "")
	if c.Store.URL.Reveal() != "sqlite:robotswatch.db" || c.Store.Retention != 0 || c.Schedule.Default != "@every 6h" ||
		c.Schedule.Digest != "0 9 * * *" || c.Fetch.UserAgent != "robotswatch/1.0 (+https://example.org/robotswatch)" ||
		c.Fetch.Timeout != 30*time.Second || c.Fetch.Concurrency != 256 || c.Fetch.PerAddress != 4 || c.Fetch.MaxRedirects != 5 ||
		c.Fetch.MaxBytes != 1<<20 || c.Fetch.AllowPrivateNetworks || len(c.Fetch.AllowNetworks) != 0 || c.Fetch.Proxy.IsSet() ||
		c.Fetch.VerifiedChainCache != 7*day || c.Semantics.Denied != "allow" || c.Semantics.After30Days != "keep" ||
		c.Confirm.Failures != 3 || c.Confirm.Interval != 5*time.Minute || strings.Join(c.Agents.Watch, " ") != "@ai" ||
		c.Server.Listen != "127.0.0.1:9309" || c.Metrics.PerSiteLimit != 10000 {
		t.Errorf("got %+v", c)
	}
	r := parse(t, "[[receivers]]\nname = \"x\"\ntype = \"log\"\n").Receivers[0]
	if r.Mode != "immediate" || r.GroupWait != 30*time.Second || r.MinSeverity != "warning" ||
		strings.Join(r.Kinds, " ") != "access state signal" || len(r.Agents)+len(r.Tags)+len(r.States) != 0 || r.MaxAge != 72*time.Hour ||
		r.Quiet.From != r.Quiet.To || r.HourlyLimit != 0 || !r.AllowPrivate {
		t.Errorf("got %+v", r)
	}
}

func TestReceiversTakeFromOtherTables(t *testing.T) {
	c := parse(t, `
[[receivers]]
name = "d"
type = "log"
mode = "digest"
[schedule]
digest = "0 7 * * *"
`)
	if r := c.Receivers[0]; r.Digest != "0 7 * * *" {
		t.Errorf("got %+v", r)
	}
}

func TestEveryWayToWriteATable(t *testing.T) {
	c := parse(t, `
fetch.timeout = "3s"
fetch.concurrency = 1_0
store = {url = 'sqlite:a.db', retention = "1d"}
sites = [{url = "example.com"}, {url = "example.org", tags = ["x"]}]
[confirm]
failures = 0x4
[schedule]
"default" = """@every 1h"""
`)
	if c.Fetch.Timeout != 3*time.Second || c.Fetch.Concurrency != 10 || c.Store.URL.Reveal() != "sqlite:a.db" || len(sitesOf(t, c)) != 2 ||
		c.Confirm.Failures != 4 || c.Schedule.Default != "@every 1h" {
		t.Errorf("got %+v", c)
	}
}

func TestListenAtItsEdges(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "127.8.9.10:65535", "[::1]:9309", "localhost:9309"} {
		parse(t, "[server]\nlisten = \""+listen+"\"\n")
	}
	for _, listen := range []string{"192.168.1.1:9309", "[::]:9309", "example.com:80", ":80", "127.0.0.1:65536", "127.0.0.1"} {
		problems(t, "[server]\nlisten = \""+listen+"\"\n")
	}
	parse(t, "[server]\nlisten = \":9309\"\ninsecure = true\n")
	web := t.TempDir() + "/web.yml"
	if err := os.WriteFile(web, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parse(t, "[server]\nlisten = \":9309\"\nweb_config = \""+web+"\"\n")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("[a\n[[b]]\nc.d = {e = [1, {f = '''g\n'''}]}\n[fetch]\ntimeout = \"1d\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "_file") || strings.Contains(string(data), "web_config") {
			return // reads files
		}
		c, err := Parse("c.toml", data, options())
		if err != nil {
			if !IsProblems(err) || err.Error() == "" {
				t.Fatalf("got %v", err)
			}
			return
		}
		var b strings.Builder
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if _, problems := parseDocument([]byte(b.String())); len(problems) > 0 {
			t.Fatalf("shown as\n%s\nwhich is no TOML: %v", b.String(), problems)
		}
	})
}
