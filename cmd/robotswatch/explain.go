package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
)

// explainSchema of an explanation.
const explainSchema = "robotswatch.explain/v1"

// explanation is the verdict on one path and what it rests on.
type explanation struct {
	Schema     string         `json:"schema"`
	Agent      string         `json:"agent"`
	Path       string         `json:"path"`
	Allowed    bool           `json:"allowed"`
	Rule       *string        `json:"rule"`
	Line       *int           `json:"line"`
	Source     robots.Source  `json:"source"`
	Group      string         `json:"group,omitempty"`       // token of the groups that apply, lower case
	GroupLines []int          `json:"group_lines,omitempty"` // where they begin
	Reading    robots.Reading `json:"reading"`
	Note       string         `json:"note,omitempty"`
}

func (a *app) explainCommand() *cobra.Command {
	var (
		look                   lookFlags
		name, format, readName string
	)
	cmd := &cobra.Command{
		Use:   "explain SOURCE PATH...",
		Short: "Say whether an agent may fetch a path, and which rule decides",
		Long: `Says for one agent and each path whether it may be fetched, the rule that
decides, its line and its group.
SOURCE is ` + sourceHelp + `.
A PATH is a path with query, or a whole URL.

Exit code 1 when any path is disallowed.`,
		Example: "  robotswatch explain https://example.com /private/a.html --agent GPTBot",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			reading, err := parseReading(readName)
			if err != nil {
				return err
			}
			agent, own, err := oneAgent(name, reading)
			if err != nil {
				return err
			}
			paths := make([]string, len(args)-1)
			for i, arg := range args[1:] {
				if paths[i], err = pathOf(arg); err != nil {
					return err
				}
			}
			text, err := a.source(cmd.Context(), args[0], look)
			if err != nil {
				return err
			}
			in := diff.NewInput(text)
			answer := error(nil)
			for _, path := range paths {
				e := explain(in, agent, path)
				if readName == "" && own != reading {
					e.Note = otherReading(in, agent, own, e)
				}
				if !e.Allowed {
					answer = errAnswer
				}
				if err := e.write(a.stdout, format); err != nil {
					return err
				}
			}
			return answer
		},
	}
	look.add(cmd)
	cmd.Flags().StringVar(&name, "agent", "", "product `token`, or * for everyone without a group")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().StringVar(&readName, "reading", "", "rfc9309 (default) or google")
	_ = cmd.MarkFlagRequired("agent") // fails only for a flag that is not there
	return cmd
}

// oneAgent resolves --agent, and gives the reading that the catalogue knows
// its operator to use.
func oneAgent(name string, reading robots.Reading) (diff.Agent, robots.Reading, error) {
	if strings.TrimSpace(name) == "" || strings.HasPrefix(name, "@") {
		return diff.Agent{}, "", fmt.Errorf("--agent %q: one product token is wanted, such as GPTBot", name)
	}
	if name == diff.Everyone {
		return diff.Agent{Token: name, Reading: reading}, reading, nil
	}
	if token, version, _ := strings.Cut(name, "/"); !strings.Contains(version, " ") {
		name = token // as groups are read: a version is no part of a token
	}
	list, err := agentList([]string{name}, reading)
	if err != nil {
		return diff.Agent{}, "", err
	}
	catalogue, err := agents.Load()
	if err != nil {
		return diff.Agent{}, "", err
	}
	known, _ := catalogue.Lookup(name)
	return list[0], robots.Reading(known.Reading), nil
}

// pathOf gives path and query of what a person may paste as a path.
func pathOf(arg string) (string, error) {
	if strings.HasPrefix(arg, "/") {
		return arg, nil
	}
	scheme, rest, ok := strings.Cut(arg, "://")
	if ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			return robots.NormalizePath(rest[i:]), nil
		}
		return "/", nil
	}
	return "", fmt.Errorf("path %q: must begin with a slash, or be an http(s) URL", arg)
}

func explain(in *diff.Input, agent diff.Agent, path string) explanation {
	rules := in.Rules(agent)
	d := rules.Decide(path)
	e := explanation{
		Schema: explainSchema, Agent: agent.Token, Path: path, Allowed: d.Allowed, Source: rules.Source,
		Group: rules.Token, GroupLines: rules.GroupLines, Reading: cmp.Or(agent.Reading, robots.ReadingRFC9309),
	}
	if d.Rule != nil {
		e.Rule, e.Line = &d.Rule.Text, &d.Rule.Line
	}
	return e
}

// otherReading says when the operator's own way to read the file gives the
// other verdict.
func otherReading(in *diff.Input, agent diff.Agent, own robots.Reading, e explanation) string {
	agent.Reading = own
	other := explain(in, agent, e.Path)
	if other.Allowed == e.Allowed {
		return ""
	}
	return fmt.Sprintf("by its operator's own reading (%s) the path is %s", own, verdictWord(other.Allowed))
}

func verdictWord(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "disallowed"
}

func (e explanation) write(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(e)
	}
	_, err := fmt.Fprintf(w, "%s  %s for %s: %s\n", visible.Text(e.Path), verdictWord(e.Allowed), visible.Text(e.Agent), e.why())
	if err == nil && e.Note != "" {
		_, err = fmt.Fprintf(w, "    note: %s\n", e.Note)
	}
	return err
}

// why says what decided, in words.
func (e explanation) why() string {
	switch {
	case e.Source == robots.SourceDefault:
		return "no group applies"
	case e.Rule != nil:
		return fmt.Sprintf("line %d, %s (%s)", *e.Line, visible.Text(*e.Rule), e.group())
	case e.Reading == robots.ReadingRFC9309 && robots.NormalizePath(e.Path) == "/robots.txt":
		return "/robots.txt always is (RFC 9309, 2.2.2)"
	}
	return fmt.Sprintf("no rule matches (%s)", e.group())
}

func (e explanation) group() string {
	lines := make([]string, len(e.GroupLines))
	for i, l := range e.GroupLines {
		lines[i] = strconv.Itoa(l)
	}
	what := "group"
	if len(lines) > 1 {
		what = "groups"
	}
	return fmt.Sprintf("%s for %s, line %s", what, visible.Text(e.Group), strings.Join(lines, ", "))
}
