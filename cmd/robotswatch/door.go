package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// Limits of the HTTP server.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute // for one answer; those that may rightly take longer lift it
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 3 * time.Second // requests under way at the end
)

// door is a port with a server behind it.
type door struct {
	address, webConfig string // as configured
	listener           net.Listener
	held               bool // by systemd, which decides the address
	server             *http.Server
}

// follow gives the door for an address and a web configuration: the same one,
// or another. Another one at the same address has the same socket, so that no
// connection is refused while they change. A nil door is followed by the
// first one.
func (d *door) follow(address, webConfig string) (next *door, err error) {
	if d == nil {
		return firstDoor(address, webConfig)
	}
	if d.webConfig == webConfig && (d.held || d.address == address) {
		return d, nil
	}
	next = &door{address: address, webConfig: webConfig, held: d.held}
	if d.held || d.address == address {
		next.listener, err = sameSocket(d.listener)
	} else {
		next.listener, err = net.Listen("tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("server.listen: %w", err)
	}
	return next, nil
}

func firstDoor(address, webConfig string) (*door, error) {
	d := &door{address: address, webConfig: webConfig}
	held, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("sockets of systemd: %w", err)
	}
	if len(held) > 0 && held[0] != nil {
		d.listener, d.held = held[0], true
		return d, nil
	}
	if d.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("server.listen: %w", err)
	}
	return d, nil
}

// sameSocket is another listener on the socket of one; both must be closed.
func sameSocket(l net.Listener) (net.Listener, error) {
	withFile, ok := l.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, fmt.Errorf("cannot share a %T", l)
	}
	file, err := withFile.File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return net.FileListener(file)
}

// open serves until the door is closed; whatever else ends it goes to failed.
func (d *door) open(h http.Handler, log *slog.Logger, failed chan<- error) {
	d.server = &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout}
	flags := &toolkit.FlagConfig{WebConfigFile: &d.webConfig}
	go func() {
		if err := toolkit.Serve(d.listener, d.server, flags, log); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
}

// close answers the requests under way, for a limited time.
func (d *door) close() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if d.server.Shutdown(ctx) != nil {
		d.server.Close()
	}
}
