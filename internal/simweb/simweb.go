// Package simweb is a simulated web on loopback: any number of hosts, each
// with a scripted robots.txt, edits and faults. The demo, end-to-end tests and
// benchmarks look at it with the real fetcher.
//
// A fetcher reaches it in one of two ways. As a forward proxy ([Web.ProxyURL]),
// hosts have plain names such as http://news.example and https://news.example
// and nothing but the proxy setting is needed. Directly, a host is a name with
// one of the ports of [Web.Ports] and a resolver that gives 127.0.0.1 for it
// ([Web.Resolver]). Certificates of https hosts are signed by [Web.Roots].
//
// Answers are scripted by the number of requests, not by time, so that a test
// knows what was served: see [Web.Play]. All methods are safe for concurrent
// use.
package simweb

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Web is a running simulated web.
type Web struct {
	plain, secure net.Listener
	tunnels       *tunnels
	servers       []*http.Server
	certs         *certificates
	closing       chan struct{}
	running       sync.WaitGroup

	total    counter
	mu       sync.RWMutex
	hosts    map[string]*host
	fallback func(host string) (Answer, bool)
	watch    func(host string, request int, a Answer)
}

// Option of New.
type Option func(*Web)

// Fallback answers for hosts that were never set; without it they do not
// exist and get 404.
func Fallback(f func(host string) (Answer, bool)) Option { return func(w *Web) { w.fallback = f } }

// Watch is called with each answer to a host that was set, before it is sent.
// request counts the requests to the host from 1.
func Watch(f func(host string, request int, a Answer)) Option { return func(w *Web) { w.watch = f } }

// New starts a simulated web on free ports of 127.0.0.1.
func New(options ...Option) (*Web, error) {
	w := &Web{hosts: map[string]*host{}, closing: make(chan struct{})}
	for _, o := range options {
		o(w)
	}
	var err error
	if w.certs, err = newCertificates(); err != nil {
		return nil, fmt.Errorf("simulated web: %w", err)
	}
	if w.plain, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("simulated web: %w", err)
	}
	if w.secure, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		w.plain.Close()
		return nil, fmt.Errorf("simulated web: %w", err)
	}
	w.tunnels = newTunnels(w.secure.Addr())
	w.start(func(s *http.Server) error { return s.Serve(w.plain) })
	w.start(func(s *http.Server) error { return s.ServeTLS(w.secure, "", "") })
	w.start(func(s *http.Server) error { return s.ServeTLS(w.tunnels, "", "") })
	return w, nil
}

func (w *Web) start(serve func(*http.Server) error) {
	s := &http.Server{
		Handler: w,
		// What hostile answers do to connections is not worth a line.
		ErrorLog:          log.New(nowhere{}, "", 0),
		TLSConfig:         w.certs.config(),
		ReadHeaderTimeout: time.Minute,
	}
	w.servers = append(w.servers, s)
	w.running.Go(func() {
		// Serve always ends with an error, and here always because of Close.
		_ = serve(s)
	})
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// Close ends all listeners and connections, hanging answers included, and
// waits for them.
func (w *Web) Close() error {
	close(w.closing)
	var errs []error
	for _, s := range w.servers {
		errs = append(errs, s.Close())
	}
	w.running.Wait()
	return errors.Join(errs...)
}

// ProxyURL is the forward proxy behind which all hosts are.
func (w *Web) ProxyURL() *url.URL { return &url.URL{Scheme: "http", Host: w.plain.Addr().String()} }

// Ports for direct connections: http and https.
func (w *Web) Ports() (plain, secure int) {
	return w.plain.Addr().(*net.TCPAddr).Port, w.secure.Addr().(*net.TCPAddr).Port
}

// Roots has the authority that signs the certificates of all hosts.
func (w *Web) Roots() *x509.CertPool { return w.certs.Roots() }

// Resolver gives 127.0.0.1 for every name.
func (w *Web) Resolver() Resolver { return Resolver{} }

// Resolver of the names of a simulated web.
type Resolver struct{}

// LookupNetIP implements fetch.Resolver.
func (Resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
}

// Set makes a host answer this way from now on.
func (w *Web) Set(name string, a Answer) { w.Play(name, Scene{Answer: a}) }

// Play makes a host answer scene by scene from now on, each for its number of
// requests; the last one stays.
func (w *Web) Play(name string, scenes ...Scene) {
	h := w.host(name, true)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scenes = append([]Scene(nil), scenes...)
	h.played = 0
}

// Stats of one host; zero for one that was never set.
func (w *Web) Stats(name string) Stats {
	if h := w.host(name, false); h != nil {
		return h.count.stats()
	}
	return Stats{}
}

// Total of all hosts, set or not.
func (w *Web) Total() Stats { return w.total.stats() }

func (w *Web) host(name string, make bool) *host {
	w.mu.RLock()
	h := w.hosts[name]
	w.mu.RUnlock()
	if h != nil || !make {
		return h
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if h = w.hosts[name]; h == nil {
		h = &host{}
		w.hosts[name] = h
	}
	return h
}

// siteName is how a host is written in Set: in lower case, without the ports
// that say nothing.
func (w *Web) siteName(authority string) string {
	name, port, err := net.SplitHostPort(authority)
	if err != nil {
		return strings.ToLower(authority)
	}
	plain, secure := w.Ports()
	switch port {
	case "80", "443", strconv.Itoa(plain), strconv.Itoa(secure):
		return strings.ToLower(name)
	}
	return strings.ToLower(authority)
}
