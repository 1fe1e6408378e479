// Package config reads the configuration: strict TOML in, typed values out.
//
// Nothing is silently replaced. Unknown keys, bad values and contradictions
// are all reported at once, each with file, line and column, what is wrong
// and what is allowed. One table of keys (keys.go, receivers.go) is behind
// reading, defaults, showing and the reference in docs/configuration.md.
//
// Sites may come by the million in site files, so those are checked by
// streaming at load and streamed again by [Config.Sites]; they are never held
// in memory.
package config

import (
	"net/netip"
	"time"
)

// Config is a valid configuration. Each field is described with its key in
// docs/configuration.md; 0 durations and limits mean what is said there.
type Config struct {
	File     string   // where it was read from
	Warnings Problems // nothing wrong, but hardly meant

	Store struct {
		URL       Secret // sqlite:PATH or postgres://…, may contain a password
		Retention time.Duration
	}
	Schedule struct {
		Default string
		Digest  string
	}
	Fetch struct {
		UserAgent            string
		Timeout              time.Duration
		Concurrency          int
		PerAddress           int
		PerDomain            int
		MaxRedirects         int
		MaxBytes             int64
		AllowPrivateNetworks bool
		AllowNetworks        []netip.Prefix
		Proxy                Secret // a URL, may contain a password
		VerifiedChainCache   time.Duration
	}
	Semantics struct {
		Denied      string // "allow" or "block"
		After30Days string // "keep" or "allow"
	}
	Confirm struct {
		Failures int
		Interval time.Duration
	}
	Agents struct {
		Watch []string
	}
	Server struct {
		Listen      string
		WebConfig   string // path, "" none
		ExternalURL string // without trailing slash
		Insecure    bool
		ReadToken   Secret
		AdminToken  Secret
	}
	Metrics struct {
		PerSiteLimit int
	}
	Heartbeat struct {
		URL      Secret
		Interval time.Duration
	}
	Log struct {
		Level string
	}
	Receivers []Receiver

	siteCount int // when they were checked
	sites     []Site
	siteFiles []siteFile
	check     func(string) error
}

// Site is an origin to be watched.
type Site struct {
	Origin   string   // normalised
	Tags     []string // shared between sites: read only
	Schedule string   // "" is the default schedule
	Agents   []string // tokens or groups; empty is the default watch list; shared

	at place // in the configuration file
}

// siteFile names a file of sites.
type siteFile struct {
	Path     string // as configured
	Tags     []string
	Schedule string
	Agents   []string

	path string // resolved
	at   place
}

// Receiver is somewhere that changes are sent to. Only the fields of its
// type are set beside the common ones.
type Receiver struct {
	Name string
	Type string // slack, webhook, shoutrrr, log, exec, alertmanager

	WebhookURL     Secret   // slack: incoming webhook
	Token          Secret   // slack
	Channel        string   // slack, with Token
	APIURL         string   // slack, with Token; "" is Slack's own
	URL            Secret   // webhook, alertmanager
	Secret         Secret   // webhook: signs
	PreviousSecret Secret   // webhook: signs too, while a secret is being replaced
	URLs           []Secret // shoutrrr
	Command        []string // exec: program and arguments

	Mode         string // "immediate" or "digest"
	Digest       string // schedule; of mode digest, else ""
	DigestEmpty  bool
	GroupWait    time.Duration
	MinSeverity  string
	Kinds        []string
	States       []string
	Agents       []string
	Tags         []string // "!tag" for not
	MaxAge       time.Duration
	HourlyLimit  int // 0: none
	Quiet        QuietHours
	Timeout      time.Duration
	AllowPrivate bool
}

// QuietHours is a time of day in which nothing is sent; it may span midnight.
// From equal to To is none.
type QuietHours struct {
	From, To time.Duration // since local midnight
	Zone     *time.Location
}
