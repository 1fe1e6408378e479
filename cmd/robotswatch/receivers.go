package main

import (
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// receiverConfigs hands the receivers of the configuration to notify.
func receiverConfigs(receivers []config.Receiver) []notify.ReceiverConfig {
	list := make([]notify.ReceiverConfig, len(receivers))
	for i, r := range receivers {
		list[i] = receiverConfig(r)
	}
	return list
}

func receiverConfig(r config.Receiver) notify.ReceiverConfig {
	return notify.ReceiverConfig{
		Name: r.Name, To: wayTo(r), Mode: notify.Mode(r.Mode),
		GroupWait: r.GroupWait, MaxAge: r.MaxAge, Timeout: r.Timeout, MaxPerHour: r.HourlyLimit,
		Digest: r.Digest, DigestEmpty: r.DigestEmpty,
		Quiet:       notify.QuietHours{From: r.Quiet.From, To: r.Quiet.To, Location: r.Quiet.Zone},
		MinSeverity: watcher.Severity(r.MinSeverity),
		Kinds:       typed[watcher.Kind](r.Kinds), States: typed[fetch.State](r.States),
		Agents: r.Agents, Tags: r.Tags, AllowPrivate: r.AllowPrivate,
	}
}

func wayTo(r config.Receiver) notify.Way {
	switch r.Type {
	case config.TypeSlack:
		return notify.SlackConfig{WebhookURL: r.WebhookURL.Value, Token: r.Token.Value, Channel: r.Channel, APIURL: r.APIURL}
	case config.TypeWebhook:
		to := notify.WebhookConfig{URL: r.URL.Value}
		for _, s := range []config.Secret{r.Secret, r.PreviousSecret} {
			if s.IsSet() {
				to.Secrets = append(to.Secrets, s.Value)
			}
		}
		return to
	case config.TypeShoutrrr:
		var to notify.ShoutrrrConfig
		for _, u := range r.URLs {
			to.URLs = append(to.URLs, u.Value)
		}
		return to
	case config.TypeExec:
		return notify.ExecConfig{Command: r.Command}
	case config.TypeAlertmanager:
		return notify.AlertmanagerConfig{URL: r.URL.Value}
	case config.TypeLog:
		return notify.LogConfig{}
	}
	return nil // config knows no other
}

func typed[T ~string](list []string) []T {
	out := make([]T, len(list))
	for i, s := range list {
		out[i] = T(s)
	}
	return out
}

// receiverPolicy says which addresses a receiver may have beside those that
// its own settings allow.
func receiverPolicy(cfg *config.Config) netpolicy.Policy {
	return netpolicy.Policy{Allow: cfg.Fetch.AllowNetworks}
}
