package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// checkSchema of a checkResult.
const checkSchema = "robotswatch.check/v1"

// checkResult is what one look by hand says of a site.
type checkResult struct {
	Schema   string         `json:"schema"`
	Site     string         `json:"site"`
	State    fetch.State    `json:"state"`
	Reason   fetch.Reason   `json:"reason,omitempty"`
	Detail   string         `json:"detail,omitempty"`
	Status   int            `json:"status"`
	FinalURL string         `json:"final_url"`
	Bytes    int64          `json:"bytes"`
	SHA256   string         `json:"sha256"`
	Agents   []checkAgent   `json:"agents"`
	Signals  []checkSignal  `json:"signals"`
	Sitemaps []string       `json:"sitemaps"`
	Warnings []checkWarning `json:"warnings"`
}

type checkAgent struct {
	Agent string `json:"agent"`
	diff.Access
	CrawlDelay *float64 `json:"crawl_delay"`
}

type checkSignal struct {
	Scope string `json:"scope"`
	Name  string `json:"name"`
	Path  string `json:"path,omitempty"`
	Value string `json:"value"`
	Line  int    `json:"line"`
}

type checkWarning struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (a *app) checkCommand() *cobra.Command {
	var (
		look    lookFlags
		names   []string
		format  string
		reading string
	)
	cmd := &cobra.Command{
		Use:   "check SITE...",
		Short: "Look at sites now and print the access of each agent",
		Long: `Fetches the robots.txt of each site now and prints its state and the access of
each agent: those asked for, else the catalogue and every agent that the file
names. Needs no configuration and stores nothing.

Exit code 1 when any agent asked for is not "allowed".`,
		Example: "  robotswatch check example.com --agent GPTBot --agent CCBot",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "table" && format != "json" {
				return fmt.Errorf("--format %q: allowed are table and json", format)
			}
			r, err := parseReading(reading)
			if err != nil {
				return err
			}
			list, err := agentList(names, r)
			if err != nil {
				return err
			}
			origins := make([]string, len(args))
			for i, arg := range args {
				if origins[i], err = config.NormalizeOrigin(arg); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			looks := look.lookAtAll(ctx, origins)
			answer := error(nil)
			for i, origin := range origins {
				out := <-looks[i]
				if out.Reason == fetch.AddressRefused || out.Reason.Ours() {
					return fmt.Errorf("%s: %s%s", origin, outcomeWords(out), refusedHint(out))
				}
				res := checked(origin, out, list, len(names) == 0, r)
				if len(names) > 0 && !res.allAllowed() {
					answer = errAnswer
				}
				if err := res.write(a.stdout, format); err != nil {
					return err
				}
			}
			return answer
		},
	}
	look.add(cmd)
	cmd.Flags().StringArrayVar(&names, "agent", nil, "product `token` or catalogue group, * for all others; repeatable")
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	cmd.Flags().StringVar(&reading, "reading", "", "rfc9309 (default) or google")
	return cmd
}

// checked says what an outcome means for the agents, and for those that the
// file names when named is true. Nothing is known of the time before.
func checked(origin string, out fetch.Outcome, list []diff.Agent, named bool, reading robots.Reading) checkResult {
	res := checkResult{
		Schema: checkSchema, Site: origin, State: out.State, Reason: out.Reason, Detail: out.Detail,
		Status: out.Status, FinalURL: out.FinalURL, Bytes: out.Bytes,
		Agents: []checkAgent{}, Signals: []checkSignal{}, Sitemaps: []string{}, Warnings: []checkWarning{},
	}
	site := watcher.Site{Origin: origin, State: out.State, StateSince: out.At}
	in := diff.NewInput(out.Body)
	file := in.File(reading)
	if out.State == fetch.Policy {
		sum := sha256.Sum256(out.Body)
		res.SHA256 = hex.EncodeToString(sum[:])
		site.Readable, site.Body = fetch.Policy, sum
		res.describe(file)
		if out.Truncated {
			res.Warnings = append(res.Warnings, checkWarning{file.Lines, "the file goes on after this line, beyond the limit; the rest is not read (RFC 9309, 2.5)"})
		}
	}
	if out.State == fetch.Absent {
		site.Readable = fetch.Absent
	}
	if named {
		for _, n := range diff.Named(in, in, list) {
			n.Reading = reading
			list = append(list, n)
		}
	}
	site.Profile = watcher.Profile(watcher.Version{State: site.Readable, Body: site.Body}, out.Body, list)
	for i, e := range watcher.Effective(site, list, out.At, watcher.Semantics{}) {
		c := checkAgent{Agent: e.Agent, Access: e.Access}
		if out.State == fetch.Policy {
			if d := in.Rules(list[i]).CrawlDelay; d != nil {
				c.CrawlDelay = &d.Seconds
			}
		}
		res.Agents = append(res.Agents, c)
	}
	return res
}

func (r *checkResult) describe(f *robots.File) {
	for _, s := range f.Signals {
		r.Signals = append(r.Signals, checkSignal{s.Scope, s.Name, s.Path, s.Value, s.Line})
	}
	for _, s := range f.Sitemaps {
		r.Sitemaps = append(r.Sitemaps, s.URL)
	}
	for _, w := range f.Warnings {
		r.Warnings = append(r.Warnings, checkWarning{w.Line, w.Text})
	}
}

func (r *checkResult) allAllowed() bool {
	for _, a := range r.Agents {
		if a.Level != diff.Allowed {
			return false
		}
	}
	return true
}

func (r *checkResult) write(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	return r.table(w)
}

func (r *checkResult) table(w io.Writer) error {
	fmt.Fprintf(w, "%s  %s", r.Site, r.State)
	if r.Status != 0 {
		fmt.Fprintf(w, "  HTTP %d", r.Status)
	}
	if r.State == fetch.Policy {
		fmt.Fprintf(w, "  %d bytes", r.Bytes)
	}
	if why := cmp.Or(r.Detail, string(r.Reason)); why != "" {
		fmt.Fprintf(w, "  %s", why)
	}
	if r.FinalURL != "" && r.FinalURL != r.Site+"/robots.txt" {
		fmt.Fprintf(w, "  from %s", visible.Text(r.FinalURL))
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "AGENT\tACCESS\tSOURCE\tCRAWL-DELAY")
	for _, a := range r.Agents {
		delay := ""
		if a.CrawlDelay != nil {
			delay = fmt.Sprintf("%g s", *a.CrawlDelay)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", visible.Text(a.Agent), a.Level, a.Source, delay)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, s := range r.Signals {
		fmt.Fprintf(w, "signal   line %d  %s%s %s: %s\n", s.Line, scopeWords(s.Scope), visible.Text(s.Path), s.Name, visible.Text(s.Value))
	}
	for _, s := range r.Sitemaps {
		fmt.Fprintf(w, "sitemap  %s\n", visible.Text(s))
	}
	for _, x := range r.Warnings {
		fmt.Fprintf(w, "warning  line %d  %s\n", x.Line, visible.Text(x.Text))
	}
	_, err := fmt.Fprintln(w)
	return err
}

func scopeWords(scope string) string {
	if scope == "" {
		return "whole file"
	}
	return "for " + visible.Text(scope)
}
