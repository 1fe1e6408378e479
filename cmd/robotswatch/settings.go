package main

import (
	"fmt"
	"iter"
	"net/url"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/watcher"
)

// This file hands the configuration to the rooms, in their own words.

func fetchSettings(cfg *config.Config) (fetch.Settings, error) {
	s := fetch.Settings{
		UserAgent:    cfg.Fetch.UserAgent,
		Timeout:      cfg.Fetch.Timeout,
		MaxRedirects: cfg.Fetch.MaxRedirects,
		MaxBytes:     cfg.Fetch.MaxBytes,
		PerAddress:   cfg.Fetch.PerAddress,
		Policy:       netpolicy.Policy{AllowPrivate: cfg.Fetch.AllowPrivateNetworks, Allow: cfg.Fetch.AllowNetworks},
		ChainTrust:   cfg.Fetch.VerifiedChainCache,
	}
	if s.ChainTrust == 0 {
		s.ChainTrust = -1 // off
	}
	if cfg.Fetch.Proxy.IsSet() {
		u, err := url.Parse(cfg.Fetch.Proxy.Reveal())
		if err != nil {
			return fetch.Settings{}, fmt.Errorf("fetch.proxy is not a URL") // the error would quote a password
		}
		s.Proxy = u
	}
	return s, nil
}

func semantics(cfg *config.Config) watcher.Semantics {
	return watcher.Semantics{
		DeniedBlocks:  cfg.Semantics.Denied == "block",
		AllowAfter30d: cfg.Semantics.After30Days == "allow",
	}
}

func judgeSettings(cfg *config.Config, catalogue *agents.Catalogue) watcher.Settings {
	var heard []string
	for _, r := range cfg.Receivers {
		heard = append(heard, r.Agents...)
	}
	return watcher.Settings{
		Confirm:   watcher.Confirm{Failures: cfg.Confirm.Failures, Interval: cfg.Confirm.Interval},
		Semantics: semantics(cfg),
		Schedule:  cfg.Schedule.Default,
		Watch:     cfg.Agents.Watch,
		Heard:     heard,
		Catalogue: catalogue,
	}
}

// siteConfigs streams the configured sites. The schedule is filled in, so that
// a new default is a new plan for the sites that go by it.
func siteConfigs(cfg *config.Config) iter.Seq2[watcher.SiteConfig, error] {
	return func(yield func(watcher.SiteConfig, error) bool) {
		for s, err := range cfg.Sites() {
			c := watcher.SiteConfig{Origin: s.Origin, Tags: s.Tags, Schedule: s.Schedule, Agents: s.Agents}
			if c.Schedule == "" {
				c.Schedule = cfg.Schedule.Default
			}
			if !yield(c, err) {
				return
			}
		}
	}
}
