package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/internal/simweb"
	"github.com/robotswatch/robotswatch/watcher"
)

// demoEvery is how often the demo looks at each site.
const demoEvery = 2 * time.Second

// maxDemoEvent bounds an event that the demo reads.
const maxDemoEvent = 1 << 20

func (a *app) demoCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show everything at once on a simulated web on this machine",
		Long: `Runs the daemon against a simulated web on this machine, in a temporary
directory: sites whose policies change, sites that fail and come back, sites
whose edits mean nothing. Alerts are printed here within a minute, and the
dashboard shows the same. Nothing outside of this machine is asked.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("log-level") {
				a.logLevel.Set(slog.LevelError) // the story is told on stdout
			}
			return a.demo(cmd.Context(), listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`address` of the dashboard")
	return cmd
}

func (a *app) demo(ctx context.Context, listen string) error {
	dir, err := os.MkdirTemp("", "robotswatch-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	// What sends to the teller must not wait for it when all is over.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	log := a.logger()
	plot := demoPlot()
	events := make(chan func(*demoTeller), 64)
	send := func(f func(*demoTeller)) {
		select {
		case events <- f:
		case <-ctx.Done():
		}
	}
	web, err := simweb.New(simweb.Watch(func(host string, _ int, answer simweb.Answer) {
		if answer.Note == lastScene {
			send(func(t *demoTeller) { t.looked(host) })
		}
	}))
	if err != nil {
		return err
	}
	defer web.Close()
	for _, s := range plot {
		web.Play(s.host, s.scenes...)
	}
	hook, err := startDemoHook(log, func(c watcher.Change) { send(func(t *demoTeller) { t.alert(c) }) })
	if err != nil {
		return err
	}
	defer hook.Close()
	defer stop() // before anything waits for those that send

	load := func() (*config.Config, error) {
		options, err := a.configOptions()
		if err != nil {
			return nil, err
		}
		text := demoConfig(dir, listen, web.ProxyURL().String(), hook.url, plot)
		return config.Parse(filepath.Join(dir, "demo.toml"), []byte(text), options)
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	teller := newDemoTeller(a.stdout, a.colour(), plot)
	ended := make(chan error, 1)
	go func() {
		ended <- runDaemon(ctx, cfg, daemonOptions{
			log: log, load: load,
			ready: func(address string) { send(func(t *demoTeller) { t.begin(address) }) },
		})
	}()
	for {
		select {
		case f := <-events:
			f(teller)
		case err := <-ended:
			if err == nil {
				fmt.Fprintln(a.stdout, "\nThe demo has ended; nothing of it is left.")
			}
			return err
		}
	}
}

// demoConfig is the configuration of the demo: an ordinary one.
func demoConfig(dir, listen, proxy, hook string, plot []demoStory) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[store]\nurl = %q\n", "sqlite:"+filepath.Join(dir, "demo.db"))
	fmt.Fprintf(&b, "[schedule]\ndefault = \"@every %s\"\n", demoEvery)
	fmt.Fprintf(&b, "[fetch]\nproxy = %q\ntimeout = \"5s\"\n", proxy)
	fmt.Fprintf(&b, "[confirm]\nfailures = 3\ninterval = \"1s\"\n")
	fmt.Fprintf(&b, "[agents]\nwatch = [\"%s\"]\n", strings.Join(demoWatched, `", "`))
	fmt.Fprintf(&b, "[server]\nlisten = %q\n", listen)
	fmt.Fprintf(&b, "[[receivers]]\nname = \"terminal\"\ntype = \"webhook\"\nurl = %q\ngroup_wait = \"0\"\n", hook)
	for _, s := range plot {
		fmt.Fprintf(&b, "[[sites]]\nurl = \"http://%s\"\ntags = [\"demo\"]\n", s.host)
	}
	return b.String()
}

// demoHook is the webhook receiver behind the terminal: alerts come the way
// that they come to anyone.
type demoHook struct {
	*http.Server
	url string
}

func startDemoHook(log *slog.Logger, tell func(watcher.Change)) (*demoHook, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &demoHook{
		url: "http://" + l.Addr().String() + "/",
		Server: &http.Server{
			ReadHeaderTimeout: headerTimeout,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var c watcher.Change
				if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDemoEvent)).Decode(&c); err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
				tell(c)
			}),
		},
	}
	go func() {
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the receiver of the demo ended", "error", err)
		}
	}()
	return h, nil
}

// colour reports whether results may be painted: on a terminal, unless
// $NO_COLOR is set.
func (a *app) colour() bool {
	return isTerminal(a.stdout) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}
