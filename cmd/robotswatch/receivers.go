package main

import (
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// receiverConfigs hands the receivers of the configuration to notify.
func receiverConfigs(cfg *config.Config) []notify.ReceiverConfig {
	list := make([]notify.ReceiverConfig, len(cfg.Receivers))
	for i, r := range cfg.Receivers {
		list[i] = receiverConfig(r)
	}
	return list
}

func receiverConfig(r config.Receiver) notify.ReceiverConfig {
	c := notify.ReceiverConfig{
		Name: r.Name, Type: r.Type, Mode: notify.Mode(r.Mode),
		GroupWait: r.GroupWait, MaxAge: r.MaxAge, Timeout: r.Timeout, MaxPerHour: r.HourlyLimit,
		Digest: r.Digest, DigestEmpty: r.DigestEmpty,
		Quiet:       notify.QuietHours{From: r.Quiet.From, To: r.Quiet.To, Location: r.Quiet.Zone},
		MinSeverity: watcher.Severity(r.MinSeverity),
		Kinds:       typed[watcher.Kind](r.Kinds), States: typed[fetch.State](r.States),
		Agents: r.Agents, Tags: r.Tags, AllowPrivate: r.AllowPrivate,
	}
	switch r.Type {
	case config.TypeSlack:
		c.Slack = notify.SlackConfig{WebhookURL: r.WebhookURL.Value, Token: r.Token.Value, Channel: r.Channel, APIURL: r.APIURL}
	case config.TypeWebhook:
		c.Webhook.URL = r.URL.Value
		for _, s := range []config.Secret{r.Secret, r.PreviousSecret} {
			if s.IsSet() {
				c.Webhook.Secrets = append(c.Webhook.Secrets, s.Value)
			}
		}
	case config.TypeShoutrrr:
		for _, u := range r.URLs {
			c.Shoutrrr.URLs = append(c.Shoutrrr.URLs, u.Value)
		}
	case config.TypeExec:
		c.Exec.Command = r.Command
	case config.TypeAlertmanager:
		c.Alertmanager.URL = r.URL.Value
	}
	return c
}

func typed[T ~string](list []string) []T {
	out := make([]T, len(list))
	for i, s := range list {
		out[i] = T(s)
	}
	return out
}

// receiverPolicy says which addresses receivers may have.
func receiverPolicy(cfg *config.Config) netpolicy.Policy {
	return netpolicy.Policy{AllowPrivate: cfg.Fetch.AllowPrivateNetworks, Allow: cfg.Fetch.AllowNetworks}
}
