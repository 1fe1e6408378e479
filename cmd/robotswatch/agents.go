package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/spf13/cobra"
)

func (a *app) agentsCommand() *cobra.Command {
	var format string
	var inert bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the crawlers of the catalogue",
		Long: `List the crawlers of the catalogue: product token, operator, purpose, the groups
that watch it, and whether its operator says that it obeys robots.txt.

With --inert: the rules on watched sites that went inert, since nobody crawls
under their token any more, with the tokens that took its place and what those
may fetch now. "evaded" means that this is not what the old rules say.`,
		Example: "  robotswatch agents --inert --format csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case inert && (format == "table" || format == "json" || format == "csv"):
				return a.inert(cmd.Context(), format)
			case inert:
				return fmt.Errorf("--format %q: allowed are table, json and csv", format)
			}
			catalogue, err := agents.Load()
			if err != nil {
				return err
			}
			switch format {
			case "json":
				return writeAgentsJSON(a.stdout, catalogue)
			case "table":
				return writeAgentsTable(a.stdout, catalogue)
			}
			return fmt.Errorf("--format %q: allowed are table and json", format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json; csv with --inert")
	cmd.Flags().BoolVar(&inert, "inert", false, "list the rules on watched sites for tokens that nobody uses any more")
	return cmd
}

func writeAgentsJSON(w io.Writer, c *agents.Catalogue) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, a := range c.Agents {
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

func writeAgentsTable(w io.Writer, c *agents.Catalogue) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "AGENT\tOPERATOR\tPURPOSE\tSAYS IT OBEYS\tGROUPS\tREMARK")
	for _, a := range c.Agents {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n",
			a.Token, a.Operator, words(a.Category), words(a.Honours), strings.Join(a.Groups, " "), agentRemark(a))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d agents, catalogue of %s\n", len(c.Agents), c.Version)
	return err
}

// agentRemark says what a reader of the table must know: that nobody uses
// the token any more, and where else the crawler looks.
func agentRemark(a agents.Agent) string {
	var remarks []string
	switch {
	case len(a.SupersededBy) > 0:
		remarks = append(remarks, "superseded by "+strings.Join(a.SupersededBy, ", "))
	case a.Retired:
		remarks = append(remarks, "retired")
	}
	if len(a.Fallbacks) > 0 {
		remarks = append(remarks, "else as "+strings.Join(a.Fallbacks, ", then "))
	}
	return strings.Join(remarks, "; ")
}

// words shows an identifier as people write it.
func words(identifier string) string { return strings.ReplaceAll(identifier, "_", " ") }
