package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/lint"
)

// lintSchema of a lintFinding.
const lintSchema = "robotswatch.lint/v1"

// lintFinding is a line of the JSON output.
type lintFinding struct {
	Schema string `json:"schema"`
	Source string `json:"source"`
	lint.Finding
}

func (a *app) lintCommand() *cobra.Command {
	var (
		look   lookFlags
		format string
	)
	cmd := &cobra.Command{
		Use:   "lint SOURCE",
		Short: "Find what the author of a robots.txt probably did not mean",
		Long: `Lists what the author of a robots.txt probably did not mean, each with its line,
the reason and the section of RFC 9309: rules for nobody, groups that are
joined or without rules, patterns that match nothing, rules without effect,
superseded tokens, contradicting signals, and more.
SOURCE is ` + sourceHelp + `.

Exit code 1 when there is something.`,
		Example: "  robotswatch lint https://example.com\n  robotswatch lint robots.txt --format json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			catalogue, err := agents.Load()
			if err != nil {
				return err
			}
			s, err := a.readSource(cmd.Context(), args[0], look)
			if err != nil {
				return err
			}
			list, complete := lint.File(s.text, lint.Options{Catalogue: catalogue, Truncated: s.more})
			if !complete {
				fmt.Fprintf(a.stderr, "robotswatch: %s: too many rules to try them all; some without effect may not be listed\n", visible.Text(args[0]))
			}
			if err := writeFindings(a.stdout, args[0], list, format); err != nil {
				return err
			}
			if len(list) > 0 {
				return errAnswer
			}
			return nil
		},
	}
	look.add(cmd)
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	return cmd
}

func writeFindings(w io.Writer, source string, list []lint.Finding, format string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, f := range list {
		var err error
		if format == "json" {
			err = enc.Encode(lintFinding{lintSchema, source, f})
		} else {
			_, err = fmt.Fprintf(w, "%s:%d: %s [%s]\n", visible.Text(source), f.Line, visible.Text(f.Reason), lintLabel(f))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lintLabel is the code, with the section of the RFC where there is one.
func lintLabel(f lint.Finding) string {
	if f.Section == "" {
		return f.Code
	}
	return f.Code + ", RFC 9309 " + f.Section
}
