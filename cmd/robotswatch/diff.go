package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/internal/visible"
	"github.com/robotswatch/robotswatch/robots"
)

// contextLines of the line diff around each change.
const contextLines = 3

func (a *app) diffCommand() *cobra.Command {
	var (
		look             lookFlags
		names            []string
		format, readName string
		withText         bool
	)
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what an edit of a robots.txt changes in meaning",
		Long: `Compares two robots.txt over all paths: which agents may fetch less or more,
the rule that decides and a shortest path on which old and new disagree, and
which rules came or went without effect.
OLD and NEW are each ` + sourceHelp + `.

Asked about are the agents of the catalogue and all that either file names, or
those of --agent.

Exit code 0 when the meaning is the same, 1 when it differs.`,
		Example: "  robotswatch diff old.txt new.txt\n  robotswatch diff robots.txt https://example.com --agent GPTBot --text",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			reading, err := parseReading(readName)
			if err != nil {
				return err
			}
			if args[0] == "-" && args[1] == "-" {
				return fmt.Errorf("standard input can be one side only")
			}
			list, err := comparedAgents(names, reading, readName == "")
			if err != nil {
				return err
			}
			var sides [2]*diff.Input
			for i, arg := range args {
				text, err := a.source(cmd.Context(), arg, look)
				if err != nil {
					return err
				}
				sides[i] = diff.NewInput(text)
			}
			if len(names) == 0 {
				for _, n := range diff.Named(sides[0], sides[1], list) {
					n.Reading = reading
					list = append(list, n)
				}
			}
			report := diff.Files(sides[0], sides[1], list)
			if err := writeReport(a.stdout, report, sides, format, withText); err != nil {
				return err
			}
			if !report.Equivalent {
				return errAnswer
			}
			return nil
		},
	}
	look.add(cmd)
	cmd.Flags().StringArrayVar(&names, "agent", nil, "product `token` or catalogue group, * for all others; repeatable")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().BoolVar(&withText, "text", false, "add the difference line by line")
	cmd.Flags().StringVar(&readName, "reading", "", "rfc9309 (default) or google")
	return cmd
}

// comparedAgents resolves --agent. Unless a reading was asked for, agents
// whose operator reads otherwise than the RFC are compared that way too.
func comparedAgents(names []string, reading robots.Reading, own bool) ([]diff.Agent, error) {
	list, err := agentList(names, reading)
	if err != nil || !own {
		return list, err
	}
	catalogue, err := agents.Load()
	if err != nil {
		return nil, err
	}
	for i := range list {
		known, _ := catalogue.Lookup(list[i].Token)
		list[i].Operator = robots.Reading(known.Reading)
	}
	return list, nil
}

func writeReport(w io.Writer, report *diff.Report, sides [2]*diff.Input, format string, withText bool) error {
	var lines []diff.TextLine
	if withText {
		lines = diff.Text(sides[0].Text, sides[1].Text)
	}
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			*diff.Report
			Unified string `json:"unified,omitempty"`
		}{report, diff.Unified(lines, contextLines)})
	}
	for i := range lines {
		lines[i].Text = visible.Text(lines[i].Text)
	}
	_, err := io.WriteString(w, diff.Render(report))
	if unified := diff.Unified(lines, contextLines); err == nil && unified != "" {
		_, err = io.WriteString(w, "\n"+unified)
	}
	return err
}
