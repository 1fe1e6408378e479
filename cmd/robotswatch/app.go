package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Exit codes of every command.
const (
	exitOK      = 0 // fine
	exitAnswer  = 1 // the answer is "differs", "disallowed", "problems found"
	exitTrouble = 2 // could not do it: usage, file, network, store
)

// errAnswer ends a command whose output has said everything: exit code 1.
var errAnswer = errors.New("the answer is no")

// app is the process as commands see it: streams, environment, global flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	journal        journalSender

	configFile string
	logLevel   slog.LevelVar
	logFormat  string
}

// main runs one command line and gives its exit code.
func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitOK
	case errors.Is(err, errAnswer):
		return exitAnswer
	default:
		a.complain(err)
		return exitTrouble
	}
}

// complain says why nothing came of a command: on stderr, or as an error in the
// journal, which takes what it reads from a daemon's stderr for information.
func (a *app) complain(err error) {
	text := "robotswatch: " + err.Error()
	if a.logFormat == "journal" && !isTerminal(a.stderr) && a.journal(text, journal.PriErr, map[string]string{"SYSLOG_IDENTIFIER": "robotswatch"}) == nil {
		return
	}
	fmt.Fprintln(a.stderr, text)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "robotswatch",
		Short: "Says when a site's robots.txt changes what a crawler may fetch",
		Long: `robotswatch watches the robots.txt of many sites and says when the effective
access of a crawler changes: not when text changes, but when a path that a
crawler could fetch becomes forbidden, or free again.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.checkLogFlags()
		},
		RunE: needsCommand,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	pf := root.PersistentFlags()
	pf.StringVar(&a.configFile, "config", "", "configuration `file` (default $ROBOTSWATCH_CONFIG, ./config.toml, /etc/robotswatch/config.toml)")
	pf.Var(levelFlag{&a.logLevel}, "log-level", "debug, info, warn or error")
	pf.StringVar(&a.logFormat, "log-format", "", "text, json or journal, that of systemd (default text on a terminal, else json)")
	root.AddCommand(
		a.agentsCommand(),
		a.configCommand(),
		a.checkCommand(),
		a.diffCommand(),
		a.explainCommand(),
		a.lintCommand(),
		a.accessCommand(),
		a.sitesCommand(),
		a.changesCommand(),
		a.deliveriesCommand(),
		a.expectCommand(),
		a.notifyCommand(),
		a.runCommand(),
		a.storeCommand(),
		a.demoCommand(),
		a.backfillCommand(),
		a.replayCommand(),
		a.exportCommand(),
		a.evidenceCommand(),
		a.versionCommand(),
		a.manCommand(),
		a.sbomCommand(),
	)
	settleFlags(root)
	sayUsage(root)
	return root
}

// sayUsage adds to a complaint about the number of arguments which ones there
// are, for a command and all below it.
func sayUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w; usage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		sayUsage(sub)
	}
}

// settleFlags has the flags of a command, and of all below it, behave as ours
// do. A flag of one value that is given twice is a mistake: the first would be
// forgotten without a word. Global flags may be given again, as those do who
// add to an alias. A switch is shown as one.
func settleFlags(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "string", "int":
			f.Value = &onceValue{Value: f.Value}
		case "bool":
			f.Value = switchValue{f.Value}
		}
	})
	for _, sub := range cmd.Commands() {
		settleFlags(sub)
	}
}

// switchValue hides that a switch could be given a value: help would say
// --once[=true|false].
type switchValue struct{ pflag.Value }

type onceValue struct {
	pflag.Value
	set bool
}

func (v *onceValue) Set(s string) error {
	if v.set {
		return errors.New("it is there twice; give it once")
	}
	v.set = true
	return v.Value.Set(s)
}

// needsCommand is what runs when a command that only holds others is called
// without one of them. A name that none of them has never comes here:
// cobra.NoArgs refuses it.
func needsCommand(cmd *cobra.Command, _ []string) error {
	cmd.SetOut(cmd.ErrOrStderr())
	return errors.Join(cmd.Help(), errors.New("a command is missing"))
}

// levelFlag is --log-level: the levels that have a name.
type levelFlag struct{ level *slog.LevelVar }

func (f levelFlag) Set(s string) error {
	s = strings.ToLower(s)
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, s) {
		return errors.New("allowed are debug, info, warn and error")
	}
	return f.level.UnmarshalText([]byte(s))
}

func (f levelFlag) Type() string { return "level" }

func (f levelFlag) String() string {
	if f.level == nil {
		return ""
	}
	return strings.ToLower(f.level.Level().String())
}

func (a *app) checkLogFlags() error {
	switch a.logFormat {
	case "", "text", "json", "journal":
		return nil
	}
	return fmt.Errorf("--log-format %q: allowed are text, json and journal", a.logFormat)
}

// logger writes to stderr, or to the journal where that was asked for. It is
// made once by each command that logs.
func (a *app) logger() *slog.Logger {
	opt := &slog.HandlerOptions{Level: &a.logLevel, ReplaceAttr: func(_ []string, x slog.Attr) slog.Attr {
		if x.Value.Kind() == slog.KindDuration { // JSON would show bare nanoseconds
			x.Value = slog.StringValue(x.Value.Duration().String())
		}
		return x
	}}
	if a.logFormat == "text" || a.logFormat == "" && isTerminal(a.stderr) {
		return slog.New(slog.NewTextHandler(a.stderr, opt))
	}
	lines := slog.NewJSONHandler(a.stderr, opt)
	if a.logFormat == "journal" {
		return slog.New(&journalHandler{level: &a.logLevel, send: a.journal, otherwise: lines})
	}
	return slog.New(lines)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// configPath is the configuration file that a command uses: the flag, else
// the environment, else the first of the usual places that exists.
func (a *app) configPath() (string, error) {
	if a.configFile != "" {
		return a.configFile, nil
	}
	if p := a.getenv("ROBOTSWATCH_CONFIG"); p != "" {
		return p, nil
	}
	usual := []string{"config.toml", "/etc/robotswatch/config.toml"}
	for _, p := range usual {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("no configuration: neither %s nor %s exists; name one with --config or $ROBOTSWATCH_CONFIG", usual[0], usual[1])
}
