package main

import (
	"context"
	"fmt"
	"time"

	sddaemon "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// stuckAfter is how long a watcher may go without a round; it goes one every
// second.
const stuckAfter = time.Minute

// systemd tells the service manager how the daemon is; outside of systemd it
// does nothing.
type systemd struct {
	d    *daemon
	stop context.CancelFunc // ends the watchdog; nil until it runs
}

func newSystemd(d *daemon) *systemd { return &systemd{d: d} }

func (s *systemd) notify(state string) {
	if _, err := sddaemon.SdNotify(false, state); err != nil {
		s.d.log.Warn("tell systemd", "state", state, "error", err)
	}
}

// ready is told after the start and after each reload. The first call starts
// the watchdog.
func (s *systemd) ready() {
	s.notify(sddaemon.SdNotifyReady)
	if s.stop != nil {
		return
	}
	if interval, err := sddaemon.SdWatchdogEnabled(true); err == nil && interval > 0 {
		ctx, cancel := context.WithCancel(context.Background())
		s.stop = cancel
		go s.watchdog(ctx, interval)
	}
}

// watchdog reports life as long as the watcher goes its rounds. A store that
// fails is no reason to be killed: another process would meet the same store,
// and meanwhile this one shows what is known.
func (s *systemd) watchdog(ctx context.Context, interval time.Duration) {
	t := time.NewTicker(interval / 4)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := s.d.moves(interval / 2); err != nil {
				s.d.log.Error("no progress, the watchdog is not fed", "error", err)
				continue
			}
			s.notify(sddaemon.SdNotifyWatchdog)
		}
	}
}

// reloading carries the monotonic clock, as Type=notify-reload asks for.
func (s *systemd) reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		s.d.log.Warn("monotonic clock", "error", err)
		return
	}
	s.notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sddaemon.SdNotifyReloading, now.Nano()/1000))
}

func (s *systemd) stopping() {
	if s.stop != nil {
		s.stop()
	}
	s.notify(sddaemon.SdNotifyStopping)
}

// moves reports a watcher that ended no round for longer than patience, well
// or not.
func (d *daemon) moves(patience time.Duration) error {
	if e := d.engine.Load(); e != nil {
		last := e.watcher.LastRound()
		if idle := time.Since(last); !last.IsZero() && idle > patience {
			return fmt.Errorf("no round for %s", idle.Round(time.Second))
		}
	}
	return nil
}

// progress reports what keeps sites from being looked at: a store that does
// not answer, gives no work or takes no results, or a watcher that stands still.
func (d *daemon) progress(ctx context.Context) error {
	if err := d.store.Ping(ctx); err != nil {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	if e := d.engine.Load(); e != nil {
		if err := e.watcher.Trouble(); err != nil {
			return fmt.Errorf("the store does not work: %w", err)
		}
	}
	return d.moves(stuckAfter)
}
