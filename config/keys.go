package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Limits of what can be configured.
const (
	minMaxBytes     = 500 << 10 // RFC 9309, 2.5
	mostMaxBytes    = 64 << 20  // a robots.txt of that size is a mistake or an attack
	minRedirects    = 5         // RFC 9309, 2.3.1.2
	mostRedirects   = 50        //
	mostConcurrency = 100_000   //
	mostFailures    = 100       //
	mostSeries      = 100_000_000
	shortest        = time.Millisecond
	longest         = mostDays * day
)

// section is a [table] of the configuration.
type section struct {
	name, doc string
	fields    []field[Config]
}

func sections() []section {
	return []section{
		{"store", "Where observations, changes and deliveries are kept.", storeFields()},
		{"schedule", "When sites are looked at. Schedules are read by robfig/cron: `@every 6h`, or the five fields of cron, in UTC unless `CRON_TZ=Zone` stands in front. A schedule of sites may not leave gaps of more than 24 hours.", scheduleFields()},
		{"fetch", "How sites are looked at.", fetchFields()},
		{"semantics", "What disputed answers mean.", semanticsFields()},
		{"confirm", "How an answer that takes access away is confirmed before it counts.", confirmFields()},
		{"agents", "Whose access is watched.", agentsFields()},
		{"server", "Dashboard, API and metrics.", serverFields()},
		{"metrics", "Prometheus metrics.", metricsFields()},
		{"heartbeat", "A sign of life for those without Prometheus.", heartbeatFields()},
		{"log", "What the daemon says of itself, on stderr.", logFields()},
	}
}

func storeFields() []field[Config] {
	locator := func(_ *input, s string) (Secret, error) {
		path, isFile := strings.CutPrefix(s, "sqlite:")
		switch {
		case isFile && (path == "" || strings.Contains(path, ":memory:")):
			return Secret{}, errors.New("the store must be a file; write such as \"sqlite:robotswatch.db\"")
		case isFile:
			return newLocator(s), nil
		}
		if u, err := url.Parse(s); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			return Secret{}, errors.New("not a store; allowed are \"sqlite:PATH\" and \"postgres://user@host/database\"")
		}
		return newLocator(s), nil
	}
	url := secretKeys("url", "store", "`sqlite:PATH`, relative to the working directory, or `postgres://user@host/database`.", locator,
		func(c *Config) *Secret { return &c.Store.URL })
	url[0].def = `"sqlite:robotswatch.db"`
	url[0] = filled(url[0])
	return append(url,
		key("retention", duration(0, longest), `"0"`, "How long observations are kept; `0` is for ever. What is needed to compare with is always kept.",
			func(c *Config) *time.Duration { return &c.Store.Retention }),
	)
}

func scheduleFields() []field[Config] {
	return []field[Config]{
		filled(key("default", siteSchedule(), `"@every 6h"`, "For sites without their own.",
			func(c *Config) *string { return &c.Schedule.Default })),
		filled(key("digest", anySchedule(), `"0 9 * * *"`, "When receivers with `mode = \"digest\"` get theirs. Gaps may be longer than 24 hours here.",
			func(c *Config) *string { return &c.Schedule.Digest })),
	}
}

func siteSchedule() codec[string] {
	return plain("schedule", func(in *input, s string) error { return in.siteSchedule(s) })
}

func anySchedule() codec[string] {
	return plain("schedule", func(_ *input, s string) error { _, err := parseSchedule(s); return err })
}

func fetchFields() []field[Config] {
	proxy := func(_ *input, s string) (Secret, error) {
		_, err := checkURL(s, "http", "https", "socks5")
		return newLocator(s), err
	}
	fields := []field[Config]{
		filled(key("user_agent", plain("text", checkUserAgent), `"robotswatch/1.0 (+https://example.org/robotswatch)"`,
			"Sent with each request: a product token and where to complain. Please put your own address in.",
			func(c *Config) *string { return &c.Fetch.UserAgent })),
		key("timeout", duration(shortest, 10*time.Minute), `"30s"`, "For one look at a site, redirects included.",
			func(c *Config) *time.Duration { return &c.Fetch.Timeout }),
		key("concurrency", integer(1, mostConcurrency), `256`, "Requests in flight, all sites.",
			func(c *Config) *int { return &c.Fetch.Concurrency }),
		key("per_address", integer(1, mostConcurrency), `4`, "Requests at once to one IP address.",
			func(c *Config) *int { return &c.Fetch.PerAddress }),
		key("per_domain", integer(1, mostConcurrency), `8`, "Requests at once to the hosts of one registered domain.",
			func(c *Config) *int { return &c.Fetch.PerDomain }),
		key("max_redirects", integer(minRedirects, mostRedirects), `5`, "Followed redirects; RFC 9309 (2.3.1.2) asks for at least 5.",
			func(c *Config) *int { return &c.Fetch.MaxRedirects }),
		key("max_bytes", size(minMaxBytes, mostMaxBytes), `"1MiB"`, "How much of a robots.txt is read; RFC 9309 (2.5) asks for at least 500KiB.",
			func(c *Config) *int64 { return &c.Fetch.MaxBytes }),
		key("allow_private_networks", boolean(), `false`, "Allow requests to loopback, link-local, private, carrier-grade NAT and unique local addresses.",
			func(c *Config) *bool { return &c.Fetch.AllowPrivateNetworks }),
		key("allow_networks", list(prefix()), `[]`, "Networks allowed all the same, such as `10.20.0.0/16`.",
			func(c *Config) *[]netip.Prefix { return &c.Fetch.AllowNetworks }),
	}
	fields = append(fields, secretKeys("proxy", "URL", "An http, https or socks5 proxy for all requests to sites. Empty: none.", proxy,
		func(c *Config) *Secret { return &c.Fetch.Proxy })...)
	return append(fields,
		key("verified_chain_cache", duration(0, 90*day), `"7d"`, "A certificate chain that was fully verified for a name is trusted that long; `0` turns this off.",
			func(c *Config) *time.Duration { return &c.Fetch.VerifiedChainCache }),
	)
}

// checkUserAgent wants a product token first (RFC 9110, 10.1.5) and nothing
// that could end a header.
func checkUserAgent(_ *input, s string) error {
	product, _, _ := strings.Cut(s, "/")
	product, _, _ = strings.Cut(product, " ")
	if product == "" || strings.Trim(product, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return fmt.Errorf("must begin with a product token, such as \"robotswatch/1.0 (+https://example.org/robotswatch)\"")
	}
	for _, r := range s {
		if r < ' ' || r > '~' {
			return fmt.Errorf("%q cannot stand in a header; write printable ASCII", r)
		}
	}
	return nil
}

func semanticsFields() []field[Config] {
	return []field[Config]{
		key("denied", oneOf("allow", "block"), `"allow"`, "What 401 and 403 mean for agents: `allow` (RFC 9309, 2.3.1.3) or `block`.",
			func(c *Config) *string { return &c.Semantics.Denied }),
		key("after_30_days", oneOf("keep", "allow"), `"keep"`, "After 30 days without an answer: the last good policy, or everything allowed (RFC 9309, 2.3.1.4).",
			func(c *Config) *string { return &c.Semantics.After30Days }),
	}
}

func confirmFields() []field[Config] {
	return []field[Config]{
		key("failures", integer(1, mostFailures), `3`, "Equal outcomes in a row before a bad state is an event.",
			func(c *Config) *int { return &c.Confirm.Failures }),
		key("interval", duration(shortest, day), `"5m"`, "Time between those.",
			func(c *Config) *time.Duration { return &c.Confirm.Interval }),
	}
}

func agentsFields() []field[Config] {
	return []field[Config]{
		key("watch", list(agent()), `["@ai"]`, "Groups of the catalogue (`@ai`, `@training`, `@search`, `@assistant`, `@all`) and product tokens. `robotswatch agents` lists them.",
			func(c *Config) *[]string { return &c.Agents.Watch }),
	}
}

// agent is a group of the catalogue or a product token.
func agent() codec[string] {
	return text("agent", func(in *input, s string) (string, error) { return s, in.options.CheckAgent(s) }, quote)
}

func serverFields() []field[Config] {
	fields := []field[Config]{
		filled(key("listen", plain("host:port", checkListen), `"127.0.0.1:9309"`, "Where to listen. Anything but loopback needs `web_config` or `insecure`.",
			func(c *Config) *string { return &c.Server.Listen })),
		key("web_config", plain("path", nil), `""`, "A Prometheus exporter-toolkit web configuration: TLS, basic authentication.",
			func(c *Config) *string { return &c.Server.WebConfig }),
		key("external_url", text("URL", externalURL, quote), `""`, "How people reach this, used for links in messages. May have a path.",
			func(c *Config) *string { return &c.Server.ExternalURL }),
		key("insecure", boolean(), `false`, "Listen elsewhere than on loopback without TLS and passwords all the same.",
			func(c *Config) *bool { return &c.Server.Insecure }),
	}
	fields = append(fields, secretKeys("read_token", "secret", "Bearer token that the API asks for. Empty: none asked for.", hidden,
		func(c *Config) *Secret { return &c.Server.ReadToken })...)
	return append(fields, secretKeys("admin_token", "secret", "Bearer token for what changes something: checking now, expectations, reload.", hidden,
		func(c *Config) *Secret { return &c.Server.AdminToken })...)
}

func checkListen(_ *input, s string) error {
	_, port, err := net.SplitHostPort(s)
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n > 65535 {
		return fmt.Errorf("%q is not an address to listen on; write host:port, such as \"127.0.0.1:9309\"", s)
	}
	return nil
}

// isLoopback reports whether only this machine can reach a listening address.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

func externalURL(_ *input, s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := checkURL(s, "https", "http")
	if err != nil {
		return "", err
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("only scheme, host and path can stand here, such as \"https://example.com/robotswatch\"")
	}
	return strings.TrimRight(s, "/"), nil
}

func metricsFields() []field[Config] {
	return []field[Config]{
		key("per_site_limit", integer(0, mostSeries), `10000`, "Series of site and agent; above it only aggregates are shown, and a gauge says so.",
			func(c *Config) *int { return &c.Metrics.PerSiteLimit }),
	}
}

func heartbeatFields() []field[Config] {
	fields := secretKeys("url", "URL", "Asked with GET at each interval in which checks and store made progress. Empty: none.", hiddenURL("https", "http"),
		func(c *Config) *Secret { return &c.Heartbeat.URL })
	return append(fields,
		key("interval", duration(time.Second, day), `"5m"`, "Time between those.",
			func(c *Config) *time.Duration { return &c.Heartbeat.Interval }),
	)
}

func logFields() []field[Config] {
	return []field[Config]{
		key("level", oneOf("debug", "info", "warn", "error"), `"info"`, "`--log-level` goes before it.",
			func(c *Config) *string { return &c.Log.Level }),
	}
}

// checkTogether reports settings that contradict each other.
func checkTogether(l *loader, c *Config, g map[string]given) {
	server := g["server"]
	if !l.bad["server.listen"] && !isLoopback(c.Server.Listen) && c.Server.WebConfig == "" && !c.Server.Insecure {
		l.report(server.value("listen"), "server.listen",
			"%q can be reached from other machines; give web_config (TLS, passwords), or say insecure = true", c.Server.Listen)
	}
	if c.Server.WebConfig != "" {
		c.Server.WebConfig = l.resolve(c.Server.WebConfig)
		_, err := os.Stat(c.Server.WebConfig)
		if err == nil {
			err = l.options.CheckWebConfig(c.Server.WebConfig)
		}
		if err != nil {
			l.report(server.value("web_config"), "server.web_config", "%v", err)
		}
	}
}
