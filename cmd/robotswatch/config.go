package main

import (
	"fmt"
	"strings"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/notify"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check or show the configuration",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check [FILE]",
			Short: "Report every mistake in the configuration",
			Long: `Report every mistake in the configuration and in the files that it names, each
as file:line:column: key: what is wrong, what is allowed. Exit code 1 when
there is one. A line with "warning" is no mistake, but hardly meant.`,
			Args: cobra.MaximumNArgs(1),
			RunE: func(_ *cobra.Command, args []string) error {
				if len(args) == 1 {
					a.configFile = args[0]
				}
				return a.checkConfig()
			},
		},
		&cobra.Command{
			Use:   "show",
			Short: "Print the effective configuration, secrets masked",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				c, err := a.loadConfig()
				if err != nil {
					return err
				}
				_, err = c.WriteTo(a.stdout)
				return err
			},
		},
	)
	return cmd
}

func (a *app) checkConfig() error {
	c, err := a.loadConfig()
	if config.IsProblems(err) {
		fmt.Fprintln(a.stdout, err)
		return errAnswer
	}
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(a.stdout, w)
	}
	_, err = fmt.Fprintf(a.stdout, "%s is fine: %s, %s\n", c.File, count(c.SiteCount(), "site"), count(len(c.Receivers), "receiver"))
	return err
}

// loadConfig reads the configuration that the flags and the environment name.
func (a *app) loadConfig() (*config.Config, error) {
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	options, err := a.configOptions()
	if err != nil {
		return nil, err
	}
	return config.Load(path, options)
}

// loadToRun is loadConfig for a daemon, whose log gets the warnings.
func (a *app) loadToRun() (*config.Config, error) {
	c, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	for _, w := range c.Warnings {
		a.logger().Warn("configuration", "warning", w.String())
	}
	return c, nil
}

// configOptions are what a configuration needs of this process.
func (a *app) configOptions() (config.Options, error) {
	catalogue, err := agents.Load()
	if err != nil {
		return config.Options{}, err
	}
	return config.Options{
		CheckAgent:     catalogue.Check,
		CheckService:   notify.CheckService,
		CheckWebConfig: checkWebConfig,
		CredentialsDir: a.getenv("CREDENTIALS_DIRECTORY"),
	}, nil
}

// checkWebConfig names the file that is wrong, and says so in one line, as all
// mistakes are told.
func checkWebConfig(path string) error {
	if err := toolkit.Validate(path); err != nil {
		return fmt.Errorf("%s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// count is a number with its noun: "1 site", "2 sites".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
