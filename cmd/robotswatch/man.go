package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes what packages carry. It is for those who build them.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a manual page for each command",
		Long:   `Writes a manual page for each command. Their date is $SOURCE_DATE_EPOCH, else today.`,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			for _, c := range root.Commands() {
				asMarkdown(c)
			}
			asMarkdown(root)
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "robotswatch " + buildVersion(), Manual: "robotswatch"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			return nil
		},
	}
}

// asMarkdown keeps what help texts show as it stands: the generator reads them
// as Markdown.
func asMarkdown(c *cobra.Command) {
	c.Long = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`).Replace(c.Long)
	for _, sub := range c.Commands() {
		asMarkdown(sub)
	}
}
