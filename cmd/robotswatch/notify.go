package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/netpolicy"
	"github.com/robotswatch/robotswatch/notify"
)

func (a *app) notifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Talk to the receivers",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	var name string
	test := &cobra.Command{
		Use:   "test",
		Short: "Send a test message to each receiver and say what came back",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.notifyTest(cmd.Context(), name)
		},
	}
	test.Flags().StringVar(&name, "receiver", "", "only this receiver")
	cmd.AddCommand(test)
	return cmd
}

// notifyTest ends with errAnswer when a receiver did not take its message.
func (a *app) notifyTest(ctx context.Context, name string) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	receivers := cfg.Receivers
	if name != "" {
		var names []string
		for _, r := range receivers {
			names = append(names, r.Name)
		}
		if err := knownName("--receiver", name, names); err != nil {
			return err
		}
		receivers = slices.DeleteFunc(receivers, func(r config.Receiver) bool { return r.Name != name })
	}
	if len(receivers) == 0 {
		return fmt.Errorf("%s has no [[receivers]]", cfg.File)
	}
	links := notify.Links{External: cfg.Server.ExternalURL}
	var heard lastAnswer
	targets, err := notify.Targets(receiverConfigs(receivers), notify.Means{Policy: receiverPolicy(cfg), Log: a.logger(), Links: links, Listen: heard.listen})
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "RECEIVER\tTYPE\tRESULT")
	failed := false
	for i, t := range targets {
		heard.status = ""
		result, err := sendTest(ctx, t, links)
		switch {
		case err != nil:
			failed, result = true, "failed: "+err.Error()
			if refused := (*netpolicy.RefusedError)(nil); errors.As(err, &refused) {
				result += "; allow_private_networks = true in this receiver allows it"
			}
		case heard.status != "":
			result += ", answered " + heard.status
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", t.Config.Name, receivers[i].Type, result)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if failed {
		return errAnswer
	}
	return nil
}

// lastAnswer is the status of the last HTTP answer that a receiver gave.
type lastAnswer struct{ status string }

func (l *lastAnswer) listen(next http.RoundTripper) http.RoundTripper {
	return listener(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			l.status = strings.TrimSpace(strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
		}
		return resp, err
	})
}

type listener func(*http.Request) (*http.Response, error)

func (l listener) RoundTrip(r *http.Request) (*http.Response, error) { return l(r) }

func sendTest(ctx context.Context, t notify.Target, links notify.Links) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Config.Timeout)
	defer cancel()
	start := time.Now()
	if _, err := t.Sender.Send(ctx, notify.TestMessage(start, links)); err != nil {
		return "", err
	}
	return "sent in " + time.Since(start).Round(time.Millisecond).String(), nil
}
