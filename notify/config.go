package notify

import (
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/secret"
	"github.com/robotswatch/robotswatch/watcher"
)

// Mode says when a receiver gets its messages.
type Mode string

const (
	Immediate Mode = "immediate"
	Digest    Mode = "digest"
)

// Defaults of a receiver, as the configuration documents them.
const (
	DefaultGroupWait = 30 * time.Second
	DefaultMaxAge    = 72 * time.Hour
	DefaultTimeout   = 30 * time.Second
)

// ReceiverConfig says what one receiver wants and how it is reached.
type ReceiverConfig struct {
	Name string
	To   Way

	Mode        Mode          // "" is Immediate
	GroupWait   time.Duration // 0 sends at once
	MaxAge      time.Duration // 0 is DefaultMaxAge
	Timeout     time.Duration // of one attempt; 0 is DefaultTimeout
	MaxPerHour  int           // messages; 0 is no limit
	Digest      string        // cron schedule of mode digest
	DigestEmpty bool          // say "nothing changed" too
	Quiet       QuietHours

	// What it wants; empty takes everything that is sent by default.
	MinSeverity watcher.Severity // "" is warning
	Kinds       []watcher.Kind   // empty: access, state, signal
	Agents      []string         // tokens or catalogue groups
	Tags        []string         // any of these; "!tag" none of those
	States      []fetch.State    // state before or after is one of these

	AllowPrivate bool // it may be on a local network
}

// Way is how a receiver is reached, which also says what it is: SlackConfig,
// WebhookConfig, ShoutrrrConfig, ExecConfig, AlertmanagerConfig or LogConfig.
type Way interface{ way() }

func (SlackConfig) way()        {}
func (WebhookConfig) way()      {}
func (ShoutrrrConfig) way()     {}
func (ExecConfig) way()         {}
func (AlertmanagerConfig) way() {}
func (LogConfig) way()          {}

// SlackConfig reaches a channel by incoming webhook, or by token and channel.
type SlackConfig struct {
	WebhookURL secret.Value
	Token      secret.Value
	Channel    string
	APIURL     string // "" is Slack's own
}

// WebhookConfig reaches an endpoint after the Standard Webhooks
// specification. With two secrets each request carries both signatures, so
// that the endpoint can be moved from one to the other.
type WebhookConfig struct {
	URL     secret.Value // may carry a token
	Secrets []secret.Value
}

// ShoutrrrConfig lists service URLs, which carry credentials.
type ShoutrrrConfig struct {
	URLs []secret.Value
}

// ExecConfig runs a command for each change, with the event as JSON on stdin.
type ExecConfig struct {
	Command []string // program and arguments; no shell
}

// AlertmanagerConfig reaches an Alertmanager by its base address, e.g.
// http://127.0.0.1:9093, which may carry a user and password.
type AlertmanagerConfig struct {
	URL secret.Value
}

// LogConfig is the log of the daemon.
type LogConfig struct{}

// scope says how many changes one message tells.
func (c ReceiverConfig) scope() scope {
	switch c.To.(type) {
	case WebhookConfig, ExecConfig, AlertmanagerConfig:
		return eachChange
	}
	return eachGroup
}

// holds reports whether changes may have to wait although nothing is wrong.
func (c ReceiverConfig) holds() bool {
	return c.Mode == Digest || c.Quiet.From != c.Quiet.To || c.MaxPerHour > 0
}

// stateful reports whether the receiver shows what is the case, not what
// happened.
func (c ReceiverConfig) stateful() bool {
	_, ok := c.To.(AlertmanagerConfig)
	return ok
}

type scope int

const (
	eachGroup  scope = iota // people: changes that say the same are one message
	eachChange              // programs: one event, one message
)
