package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/robots"
)

// oneShotUserAgent is how the commands that look by hand present themselves.
const oneShotUserAgent = "robotswatch/1.0 (+https://example.org/robotswatch)"

// lookFlags are those of every command that fetches.
type lookFlags struct {
	allowPrivate bool
}

func (f *lookFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allowPrivate, "allow-private-networks", false, "allow loopback, private and other special addresses")
}

func (f lookFlags) client() *fetch.Client {
	return fetch.New(fetch.Settings{
		UserAgent:  oneShotUserAgent,
		Policy:     netpolicy.Policy{AllowPrivate: f.allowPrivate},
		ChainTrust: -1,
		PerAddress: looksAtOnce,
	})
}

// looksAtOnce is how many sites are looked at at the same time by hand.
const looksAtOnce = 8

// lookAtAll looks at sites, several at a time, and gives what came of each in
// a channel of its own.
func (f lookFlags) lookAtAll(ctx context.Context, origins []string) []chan fetch.Outcome {
	client := f.client()
	outcomes := make([]chan fetch.Outcome, len(origins))
	for i := range outcomes {
		outcomes[i] = make(chan fetch.Outcome, 1)
	}
	var taken atomic.Int64
	for range min(looksAtOnce, len(origins)) {
		go func() {
			for i := taken.Add(1) - 1; i < int64(len(origins)); i = taken.Add(1) - 1 {
				outcomes[i] <- client.Look(ctx, fetch.Request{Origin: origins[i]})
			}
		}()
	}
	return outcomes
}

// fetchSource reads the robots.txt at a URL. A URL without a path means the
// site's /robots.txt. A site without one is an empty robots.txt; one that
// could not be read is an error.
func (a *app) fetchSource(ctx context.Context, rawURL string, flags lookFlags) (sourceText, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return sourceText{}, fmt.Errorf("%s is not a URL; a source is %s", rawURL, sourceHelp)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/robots.txt"
	}
	out := flags.client().Look(ctx, fetch.Request{Origin: u.Scheme + "://" + u.Host, URL: u.String()})
	switch out.State {
	case fetch.Policy:
		return sourceText{out.Body, out.Truncated}, nil
	case fetch.Absent:
		fmt.Fprintf(a.stderr, "robotswatch: %s: %s; read as an empty robots.txt\n", rawURL, outcomeWords(out))
		return sourceText{}, nil
	}
	return sourceText{}, fmt.Errorf("%s: %s%s", rawURL, outcomeWords(out), refusedHint(out))
}

// outcomeWords says what a look found: "policy (HTTP 200)".
func outcomeWords(out fetch.Outcome) string {
	s := string(out.State)
	switch {
	case out.Detail != "":
		s += ": " + out.Detail
	case out.Reason != "":
		s += ": " + string(out.Reason)
	}
	if out.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", out.Status)
	}
	return s
}

// refusedHint tells how to look at an address that is refused by default.
func refusedHint(out fetch.Outcome) string {
	if out.Reason == fetch.AddressRefused {
		return "; --allow-private-networks allows it"
	}
	return ""
}

// agentList resolves --agent values: tokens, catalogue groups, and * for all
// that no group names. None means the whole catalogue.
func agentList(names []string, reading robots.Reading) ([]diff.Agent, error) {
	catalogue, err := agents.Load()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = []string{agents.GroupAll}
	}
	known := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == diff.Everyone })
	found, err := catalogue.Expand(known)
	if err != nil {
		return nil, err
	}
	list := make([]diff.Agent, len(found), len(found)+1)
	for i, f := range found {
		list[i] = diff.Agent{Token: f.Token, Fallbacks: f.Fallbacks, Reading: reading}
	}
	if len(known) < len(names) {
		list = append(list, diff.Agent{Token: diff.Everyone, Reading: reading})
	}
	return list, nil
}

// parseReading checks --reading.
func parseReading(s string) (robots.Reading, error) {
	switch r := robots.Reading(s); r {
	case "", robots.ReadingRFC9309, robots.ReadingGoogle:
		return r, nil
	}
	return "", fmt.Errorf("--reading %q: allowed are %s and %s", s, robots.ReadingRFC9309, robots.ReadingGoogle)
}
