package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/watcher"
	"github.com/robotswatch/robotswatch/web"
)

// front is the HTTP face of the daemon: what is shown, and the door it is
// shown at. Both follow the configuration.
type front struct {
	handler atomic.Pointer[web.Server]
	door    *door
	failed  chan error
	log     *slog.Logger
}

// listen opens the port, or takes the one that systemd holds, and serves.
func (d *daemon) listen(cfg *config.Config) (*front, error) {
	f := &front{failed: make(chan error, 1), log: d.log}
	t, err := f.prepare(d, cfg)
	if err != nil {
		return nil, err
	}
	f.take(t)
	return f, nil
}

// turn is what the front becomes: ready, and not yet to be seen.
type turn struct {
	handler *web.Server
	door    *door // the one in use, or another that waits to be opened
}

// prepare does all of a change that can fail. Either take what it returns or
// drop it.
func (f *front) prepare(d *daemon, cfg *config.Config) (turn, error) {
	h, err := d.handler(cfg)
	if err != nil {
		return turn{}, err
	}
	if err := checkWebConfig(cfg.Server.WebConfig); err != nil {
		return turn{}, fmt.Errorf("server.web_config: %w", err)
	}
	next, err := f.door.follow(cfg.Server.Listen, cfg.Server.WebConfig)
	if err != nil {
		return turn{}, err
	}
	return turn{handler: h, door: next}, nil
}

// take makes a change seen. Requests under way at a door that closes are
// answered.
func (f *front) take(t turn) {
	f.handler.Store(t.handler)
	old := f.door
	if t.door == old {
		return
	}
	f.door = t.door
	f.door.open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.handler.Load().ServeHTTP(w, r) }), f.log, f.failed)
	if old != nil {
		go old.close() // one of the requests may be that for the reload
	}
}

func (f *front) drop(t turn) {
	if t.door != f.door {
		t.door.listener.Close()
	}
}

func (f *front) address() string { return f.door.listener.Addr().String() }

func (f *front) close() { f.door.close() }

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
		Store: d.store,
		Judge: judge,
		// What the store cannot tell is left out: the rest says that it cannot.
		Metrics: promhttp.HandlerFor(d.registry, promhttp.HandlerOpts{Registry: d.registry, ErrorHandling: promhttp.ContinueOnError}),
		Ready:   d.isReady,
		Reload:  d.askReload,
		Check:   d.checkNow,
		Log:     d.log,

		Evidence: (&notary{d.store, judge}).bundle,
		Heads: func(ctx context.Context, at time.Time, w io.Writer) error {
			_, err := writeHeads(ctx, d.store, at, w)
			return err
		},
	})
}

// isReady: the store answers, and an engine goes its rounds.
func (d *daemon) isReady(ctx context.Context) error {
	if d.engine.Load() == nil {
		return errors.New("starting")
	}
	return d.progress(ctx)
}

func (d *daemon) checkNow(ctx context.Context, origin string) error {
	e := d.engine.Load()
	if e == nil {
		return watcher.ErrBusy
	}
	return e.watcher.CheckNow(ctx, origin)
}
