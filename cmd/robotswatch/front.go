package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

// Limits of the HTTP server.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 5 * time.Second // requests under way at the end
)

// front is the HTTP face of the daemon.
type front struct {
	listener net.Listener
	server   *http.Server
	handler  atomic.Pointer[web.Server]
	failed   chan error
}

// listen opens the port, or takes the one that systemd holds, and serves.
func (d *daemon) listen(cfg *config.Config) (*front, error) {
	l, err := listener(cfg.Server.Listen)
	if err != nil {
		return nil, err
	}
	f := &front{listener: l, failed: make(chan error, 1)}
	h, err := d.handler(cfg)
	if err != nil {
		l.Close()
		return nil, err
	}
	f.handler.Store(h)
	f.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.handler.Load().ServeHTTP(w, r) }),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
	}
	webConfig := cfg.Server.WebConfig
	flags := &toolkit.FlagConfig{WebConfigFile: &webConfig}
	go func() {
		if err := toolkit.Serve(l, f.server, flags, d.log); !errors.Is(err, http.ErrServerClosed) {
			f.failed <- err
		}
	}()
	return f, nil
}

func listener(address string) (net.Listener, error) {
	held, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("sockets of systemd: %w", err)
	}
	if len(held) > 0 && held[0] != nil {
		return held[0], nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server.listen: %w", err)
	}
	return l, nil
}

// handler builds pages and API for a configuration.
func (d *daemon) handler(cfg *config.Config) (*web.Server, error) {
	judge, err := watcher.NewJudge(judgeSettings(cfg, d.catalogue))
	if err != nil {
		return nil, err
	}
	return web.New(web.Settings{
		Version:     buildVersion(),
		ExternalURL: cfg.Server.ExternalURL,
		ReadToken:   cfg.Server.ReadToken.Reveal(),
		AdminToken:  cfg.Server.AdminToken.Reveal(),
	}, web.Deps{
		Store:   d.store,
		Judge:   judge,
		Metrics: promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{Registry: d.registry}),
		Ready:   d.isReady,
		Reload:  d.askReload,
		Check:   d.checkNow,
		Log:     d.log,
	})
}

// isReady: the store answers and an engine runs.
func (d *daemon) isReady(ctx context.Context) error {
	if d.engine.Load() == nil {
		return errors.New("starting")
	}
	return d.store.Ping(ctx)
}

func (d *daemon) checkNow(ctx context.Context, origin string) error {
	e := d.engine.Load()
	if e == nil {
		return watcher.ErrBusy
	}
	return e.watcher.CheckNow(ctx, origin)
}

// follow takes the settings of a new configuration. The port stays: another
// one needs a restart, and says so.
func (f *front) follow(d *daemon, cfg *config.Config) error {
	old := d.engine.Load().cfg.Server
	if cfg.Server.Listen != old.Listen || cfg.Server.WebConfig != old.WebConfig {
		return errors.New("server.listen or server.web_config changed: that needs a restart")
	}
	h, err := d.handler(cfg)
	if err != nil {
		return err
	}
	f.handler.Store(h)
	return nil
}

func (f *front) address() string { return f.listener.Addr().String() }

func (f *front) close() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if f.server.Shutdown(ctx) != nil {
		f.server.Close()
	}
}
