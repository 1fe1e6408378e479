package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/config"
)

func (a *app) runCommand() *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Watch the configured sites: the daemon",
		Long: `Looks at the configured sites on schedule, records what changes, delivers it,
and serves the dashboard, the API and metrics. SIGHUP reloads the
configuration; SIGTERM and Ctrl-C stop it cleanly.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hup := make(chan os.Signal, 1)
			if !once { // before anything else: it would end a daemon that still reads its sites
				signal.Notify(hup, syscall.SIGHUP)
				defer signal.Stop(hup)
			}
			cfg, err := a.loadToRun()
			if err != nil {
				return err
			}
			a.applyLogLevel(cmd, cfg.Log.Level)
			o := daemonOptions{log: a.logger(), load: a.loadToRun, levels: func(level string) { a.applyLogLevel(cmd, level) }}
			if once {
				return runOnce(cmd.Context(), cfg, o)
			}
			o.reload = hup
			return runDaemon(cmd.Context(), cfg, o)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "look at every configured site exactly once, deliver, and exit")
	return cmd
}

// applyLogLevel takes the level of the configuration unless the flag was
// given.
func (a *app) applyLogLevel(cmd *cobra.Command, level string) {
	if cmd.Flags().Changed("log-level") || level == "" {
		return
	}
	_ = a.logLevel.UnmarshalText([]byte(level)) // the configuration checked it
}

func runOnce(ctx context.Context, cfg *config.Config, o daemonOptions) error {
	d, err := openDaemon(ctx, cfg, o)
	if err != nil {
		return err
	}
	defer d.close()
	e, err := d.newEngine(cfg)
	if err != nil {
		return err
	}
	if err := e.adopt(ctx, d.store, d.log); err != nil {
		return err
	}
	return e.once(ctx)
}
