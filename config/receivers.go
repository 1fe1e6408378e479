package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/robotswatch/robotswatch/internal/secret"
)

// Types of receivers.
const (
	TypeSlack        = "slack"
	TypeWebhook      = "webhook"
	TypeShoutrrr     = "shoutrrr"
	TypeLog          = "log"
	TypeExec         = "exec"
	TypeAlertmanager = "alertmanager"
)

// Modes of receivers.
const (
	ModeImmediate = "immediate"
	ModeDigest    = "digest"
)

const (
	mostHourly    = 1_000_000
	mostGroupWait = time.Hour
)

func receiverFields() []field[Receiver] {
	var fields []field[Receiver]
	common := func(fs ...field[Receiver]) { fields = append(fields, fs...) }
	of := func(types ...string) func(fs ...field[Receiver]) {
		return func(fs ...field[Receiver]) {
			for i := range fs {
				fs[i].only = types
			}
			fields = append(fields, fs...)
		}
	}
	slack, webhook := of(TypeSlack), of(TypeWebhook)

	common(
		must(key("name", plain("name", checkName), "", "Names it in logs, metrics and commands.", func(r *Receiver) *string { return &r.Name })),
		must(key("type", oneOf(TypeSlack, TypeWebhook, TypeShoutrrr, TypeLog, TypeExec, TypeAlertmanager), "", "What it is.", func(r *Receiver) *string { return &r.Type })),
	)
	slack(secretKeys("webhook_url", "URL", "Incoming webhook; either this or `token`.", hiddenURL("https", "http"), func(r *Receiver) *Secret { return &r.WebhookURL })...)
	slack(secretKeys("token", "secret", "Bot token with the scopes chat:write and files:write: adds the text diff in the thread. Needs `channel`.", hidden, func(r *Receiver) *Secret { return &r.Token })...)
	slack(
		key("channel", plain("text", nil), "", "Channel to post to with a token: its id, or #name.", func(r *Receiver) *string { return &r.Channel }),
		key("api_url", plain("URL", func(_ *input, s string) error { _, err := checkURL(s, "https", "http"); return err }), "",
			"Another Slack API than Slack's own, with a token.", func(r *Receiver) *string { return &r.APIURL }),
	)
	of(TypeWebhook, TypeAlertmanager)(secretKeys("url", "URL", "Where to POST to; for an Alertmanager its base, such as http://127.0.0.1:9093.", hiddenURL("https", "http"), func(r *Receiver) *Secret { return &r.URL })...)
	webhook(secretKeys("secret", "secret", "Signs each message (Standard Webhooks, whsec_…).", signingKey, func(r *Receiver) *Secret { return &r.Secret })...)
	webhook(secretKeys("previous_secret", "secret", "Signs each message too, while receivers still know the old secret.", signingKey, func(r *Receiver) *Secret { return &r.PreviousSecret })...)
	of(TypeShoutrrr)(urlsFields()...)
	of(TypeExec)(
		key("command", sequence(text("text", func(_ *input, s string) (string, error) { return s, nil }, quote)), "", "Program and arguments; it gets the event as JSON on standard input.",
			func(r *Receiver) *[]string { return &r.Command }),
	)
	common(
		key("mode", oneOf(ModeImmediate, ModeDigest), `"immediate"`, "One message a change, or a summary by schedule.", func(r *Receiver) *string { return &r.Mode }),
		key("digest", anySchedule(), "", "When the summary comes; default is `digest` of [schedule].", func(r *Receiver) *string { return &r.Digest }),
		key("digest_empty", boolean(), `false`, "Send a summary also when nothing changed.", func(r *Receiver) *bool { return &r.DigestEmpty }),
		key("group_wait", duration(0, mostGroupWait), `"30s"`, "Changes of one cause that arrive together in this time are one message.", func(r *Receiver) *time.Duration { return &r.GroupWait }),
		key("min_severity", oneOf("info", "warning", "critical"), `"warning"`, "Less severe changes are not sent.", func(r *Receiver) *string { return &r.MinSeverity }),
		key("kinds", list(oneOf("access", "state", "signal", "crawl_delay", "sitemap", "cosmetic")), `["access", "state", "signal"]`, "Kinds of changes that are sent.", func(r *Receiver) *[]string { return &r.Kinds }),
		key("states", list(oneOf("policy", "absent", "denied", "unreachable", "not_robots")), `[]`, "Changes of state that are sent: into or out of one of these. Empty: all.", func(r *Receiver) *[]string { return &r.States }),
		key("agents", list(agent()), `[]`, "Only changes that touch one of these agents or groups. Empty: those that the site watches.", func(r *Receiver) *[]string { return &r.Agents }),
		key("tags", list(tagFilter()), `[]`, "Only sites with one of these tags, and none of those written `!tag`. Empty: all.", func(r *Receiver) *[]string { return &r.Tags }),
		key("max_age", duration(time.Second, 365*day), `"72h"`, "A delivery is tried for that long, then it is dead and shown as such.", func(r *Receiver) *time.Duration { return &r.MaxAge }),
		key("hourly_limit", integer(0, mostHourly), `0`, "Messages an hour; above it one says how many wait. 0: no limit.", func(r *Receiver) *int { return &r.HourlyLimit }),
		quietHours(),
		key("time_zone", text("IANA time zone", loadZone, func(z *time.Location) string { return quote(z.String()) }), `"UTC"`, "Of `quiet_hours`, such as Europe/Berlin.", func(r *Receiver) **time.Location { return &r.Quiet.Zone }),
		key("timeout", duration(shortest, 10*time.Minute), `"30s"`, "For one attempt.", func(r *Receiver) *time.Duration { return &r.Timeout }),
		key("allow_private_networks", boolean(), `true`, "Whether it may have a loopback, private or other local address. `false` is for names that others control; networks of `allow_networks` in [fetch] are allowed all the same.", func(r *Receiver) *bool { return &r.AllowPrivate }),
	)
	return fields
}

func must[T any](f field[T]) field[T] {
	f.required = true
	return f
}

// urlsFields are shoutrrr's service URLs; each of them can be a secret.
func urlsFields() []field[Receiver] {
	inline := list(codec[Secret]{kind: "URL", read: serviceURL("URL").read, show: func(s Secret) string { return s.Reveal() }})
	urls := key("urls", inline, "", "Service URLs of shoutrrr: Discord, Teams, Telegram, e-mail, ntfy and others.", func(r *Receiver) *[]Secret { return &r.URLs })
	urls.alternative = "urls"
	urls.show = func(r *Receiver) string {
		if len(r.URLs) == 0 || r.URLs[0].from != "" {
			return ""
		}
		return list(codec[Secret]{show: func(s Secret) string { return quote(s.String()) }}).show(r.URLs)
	}
	return []field[Receiver]{
		urls,
		urlsFrom("file", "path", "The same, read from a file, one a line.", readSecretFile),
		urlsFrom("credential", "name", "The same, by the name of a systemd credential, one a line.", readCredential),
	}
}

func serviceURL(kind string) codec[Secret] {
	return text(kind, func(in *input, s string) (Secret, error) {
		scheme, rest, _ := strings.Cut(s, "://")
		if scheme == "" || rest == "" {
			return Secret{}, errors.New("not a service URL; write such as \"ntfy://ntfy.sh/topic\"")
		}
		return newMasked(s, scheme+"://"+secret.Mask), in.options.CheckService(s)
	}, nil)
}

// urlsFrom reads service URLs from where secrets come from.
func urlsFrom(origin, kind, doc string, source func(*input, string) (string, error)) field[Receiver] {
	return field[Receiver]{
		name: "urls_" + origin, kind: kind, doc: doc, alternative: "urls",
		read: func(in *input, n *node, r *Receiver) {
			content, ok := text(kind, source, nil).read(in, n)
			if !ok {
				return
			}
			var urls []Secret
			for line := range strings.Lines(content) {
				v, ok := serviceURL(kind).read(in, &node{at: n.at, kind: unstable.String, text: strings.TrimSpace(line)})
				if !ok {
					return
				}
				v.from, v.name = origin, n.text
				urls = append(urls, v)
			}
			r.URLs = urls
		},
		show: func(r *Receiver) string {
			if len(r.URLs) == 0 || r.URLs[0].from != origin {
				return ""
			}
			return quote(r.URLs[0].name)
		},
	}
}

func quietHours() field[Receiver] {
	c := plain("from-to", nil)
	return field[Receiver]{
		name: "quiet_hours", kind: "from-to", def: `""`, doc: "Nothing is sent in this time of day (`22:00-07:00`); what waits is sent after it as one message.",
		read: func(in *input, n *node, r *Receiver) {
			s, ok := c.read(in, n)
			if !ok || s == "" {
				return
			}
			var err error
			if r.Quiet.From, r.Quiet.To, err = parseQuiet(s); err != nil {
				in.problem(n, "%v", err)
			}
		},
		show: func(r *Receiver) string {
			if r.Quiet.From == r.Quiet.To {
				return quote("")
			}
			clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute) }
			return quote(clock(r.Quiet.From) + "-" + clock(r.Quiet.To))
		},
	}
}

func loadZone(_ *input, s string) (*time.Location, error) {
	z, err := time.LoadLocation(s)
	if err != nil || s == "" || s == "Local" {
		return nil, fmt.Errorf("%q is not a time zone; write such as \"Europe/Berlin\" or \"UTC\"", s)
	}
	return z, nil
}

func checkName(_ *input, s string) error {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return fmt.Errorf("%q is not a name; use letters, digits, \"-\", \"_\" and \".\"", s)
	}
	return nil
}
