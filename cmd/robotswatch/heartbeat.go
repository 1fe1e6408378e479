package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/robotswatch/robotswatch/netpolicy"
)

// pingTimeout bounds one sign of life.
const pingTimeout = 10 * time.Second

// heart gives signs of life to a service that alarms when they stay away:
// only while there is progress, so that a stuck daemon is noticed too.
type heart struct {
	interval time.Duration
	alive    func(context.Context) error
	ping     func(context.Context) error
	log      *slog.Logger
}

// beat pings at once and then at each interval until the context ends.
func (h heart) beat(ctx context.Context) {
	t := time.NewTicker(h.interval)
	defer t.Stop()
	for {
		if err := h.alive(ctx); err != nil {
			h.log.Error("no sign of life is given", "error", err)
		} else if err := h.ping(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("sign of life failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// pinger asks for a URL, which may be a secret: no error quotes it.
func pinger(target string, policy netpolicy.Policy) func(context.Context) error {
	client := netpolicy.Client(policy, pingTimeout)
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return errors.New("heartbeat.url is not a URL")
		}
		req.Header.Set("User-Agent", "robotswatch")
		resp, err := client.Do(req)
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("answered HTTP %d", resp.StatusCode)
		}
		return nil
	}
}
