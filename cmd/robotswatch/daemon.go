package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// daemonOptions are what a daemon needs of the process round it.
type daemonOptions struct {
	log    *slog.Logger
	load   func() (*config.Config, error) // reads the configuration again
	levels func(level string)             // applies log.level; may be nil
	reload <-chan os.Signal               // asks for a reload; may be nil
	ready  func(address string)           // told once, when everything runs; may be nil
}

// daemon is what stays while configurations come and go: the store, the
// metrics, the HTTP server.
type daemon struct {
	daemonOptions
	catalogue *agents.Catalogue
	registry  *prometheus.Registry
	metrics   *notify.Metrics
	gauges    *notify.Gauges
	store     *store.Store
	owner     string
	engine    atomic.Pointer[engine]
	reloads   chan chan error
}

// openDaemon opens the store; close what it returns.
func openDaemon(ctx context.Context, cfg *config.Config, o daemonOptions) (*daemon, error) {
	limitMemory(cfg)
	catalogue, err := agents.Load()
	if err != nil {
		return nil, err
	}
	d := &daemon{daemonOptions: o, catalogue: catalogue, registry: prometheus.NewRegistry(), reloads: make(chan chan error)}
	d.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.metrics = notify.NewMetrics(d.registry, buildVersion(), runtime.Version())
	d.store, err = store.Open(ctx, cfg.Store.URL.Reveal(), store.Options{
		Daemon:    true,
		Effective: d.effective,
		OnError:   d.metrics.StoreFailed,
	})
	if err != nil {
		return nil, err
	}
	d.owner = deliveryOwner(d.store.Dialect())
	return d, nil
}

func (d *daemon) close() {
	if err := d.store.Close(); err != nil {
		d.log.Error("close the store", "error", err)
	}
}

// deliveryOwner names who delivers: on SQLite there is one daemon, whichever
// process it is; on PostgreSQL each process is another.
func deliveryOwner(dialect string) string {
	if dialect == "sqlite" {
		return "daemon"
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%d", host, os.Getpid(), time.Now().UnixNano())
}

// effective is what holds now for the agents watched on a site.
func (d *daemon) effective(site watcher.Site) []watcher.AgentAccess {
	e := d.engine.Load()
	if e == nil {
		return site.Profile
	}
	return effectiveNow(e.judge, site)
}

// drainLimit is how long a daemon that was asked to end may take for that. A
// store or a name server that does not answer may hold it up; what is recorded
// is safe all the same, and leases run out.
const drainLimit = 9 * time.Second

// runDaemon runs until the context ends, and then for drainLimit at most.
func runDaemon(ctx context.Context, cfg *config.Config, o daemonOptions) error {
	ended := make(chan error, 1)
	go func() { ended <- startDaemon(ctx, cfg, o) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		if errors.Is(err, context.Canceled) {
			o.log.Info("robotswatch was stopped while it started")
			return nil
		}
		return err
	case <-time.After(drainLimit):
		return fmt.Errorf("gave up waiting for a clean end after %s; what was recorded is safe", drainLimit)
	}
}

func startDaemon(ctx context.Context, cfg *config.Config, o daemonOptions) error {
	d, err := openDaemon(ctx, cfg, o)
	if err != nil {
		return err
	}
	defer d.close()
	e, err := d.newEngine(cfg)
	if err != nil {
		return err
	}
	front, err := d.listen(cfg)
	if err != nil {
		return err
	}
	defer front.close()
	loading := d.startLoading(ctx, e)
	defer loading.end()
	switch ended, err := loading.wait(adoptPatience); {
	case err != nil:
		return err
	case !ended:
		d.log.Info("sites are still being brought in step with the configuration; looks begin meanwhile")
	}
	return d.serve(ctx, e, front, loading)
}

// serve runs engine after engine: each reload ends one and starts the next.
// The sites of the first may still be on their way into the store.
func (d *daemon) serve(ctx context.Context, e *engine, front *front, loading *loading) error {
	sd := newSystemd(d)
	defer sd.stopping()
	d.use(e)
	d.log.Info("robotswatch is running", "version", buildVersion(), "address", front.address())
	for first := true; ; first = false {
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- d.run(running, e) }()
		if first {
			d.metrics.Reloaded(true, time.Now())
			sd.ready()
			if d.ready != nil {
				d.ready(front.address())
			}
		}
		next, err := d.await(ctx, front, sd, loading)
		loading = nil // whatever comes of it, another configuration is in force
		stop()
		if err := <-ended; err != nil {
			d.log.Error("stop", "error", err)
		}
		if next == nil {
			d.log.Info("robotswatch has stopped")
			return err
		}
		e = next
	}
}

// await waits for a reload that gives the next engine. There is none when the
// context ends, the HTTP server fails, or the sites of the first configuration
// cannot be brought into the store.
func (d *daemon) await(ctx context.Context, front *front, sd *systemd, loading *loading) (*engine, error) {
	loaded := loading.ended()
	for {
		var reply chan error
		select {
		case <-ctx.Done():
			return nil, nil
		case err := <-front.failed:
			return nil, fmt.Errorf("HTTP server: %w", err)
		case <-loaded:
			if loaded = nil; loading.err != nil && ctx.Err() == nil {
				return nil, loading.err
			}
			continue
		case <-d.reload:
		case reply = <-d.reloads:
		}
		sd.reloading()
		next, err := d.prepare(ctx, front, loading)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err == nil {
			d.use(next) // before anyone is told that it is in force
		}
		d.metrics.Reloaded(err == nil, time.Now())
		sd.ready()
		if reply != nil {
			reply <- err
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case err == nil:
			limitMemory(next.cfg)
			d.log.Info("configuration reloaded", "file", next.cfg.File)
			return next, nil
		}
		d.log.Error("configuration not reloaded, the old one stays in force", "error", err)
	}
}

// prepare reads and checks the configuration whole before anything follows it.
// The one before must have got into the store, so that none overtakes another.
func (d *daemon) prepare(ctx context.Context, front *front, loading *loading) (*engine, error) {
	if err := loading.await(ctx); err != nil {
		return nil, err
	}
	cfg, err := d.load()
	if err != nil {
		return nil, err
	}
	old := d.engine.Load().cfg
	if cfg.Store.URL.Reveal() != old.Store.URL.Reveal() {
		return nil, errors.New("store.url changed: that needs a restart")
	}
	next, err := d.newEngine(cfg)
	if err != nil {
		return nil, err
	}
	change, err := front.prepare(d, cfg)
	if err != nil {
		return nil, err
	}
	if err := next.adopt(ctx, d.store, d.log); err != nil {
		front.drop(change)
		return nil, err
	}
	front.take(change)
	if d.levels != nil {
		d.levels(cfg.Log.Level)
	}
	return next, nil
}

// use makes an engine the one in force.
func (d *daemon) use(e *engine) {
	d.engine.Store(e)
	tokens := make([]string, len(e.watched))
	for i, a := range e.watched {
		tokens[i] = a.Token
	}
	d.metrics.Agents(tokens)
	if d.gauges != nil {
		d.registry.Unregister(d.gauges)
	}
	d.gauges = notify.NewGauges(d.registry, d.store, d.metrics, e.cfg.Metrics.PerSiteLimit)
}

// askReload reloads on behalf of a request and gives what came of it.
func (d *daemon) askReload(ctx context.Context) error {
	reply := make(chan error, 1)
	select {
	case d.reloads <- reply:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
