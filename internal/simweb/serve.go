package simweb

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Stats of a host, or of all.
type Stats struct {
	Requests    int
	NotModified int // of these
	BodyBytes   int64
	Now         int // requests being answered
	Peak        int // most of them at once
}

type counter struct {
	requests, notModified, bytes, now, peak atomic.Int64
}

func (c *counter) stats() Stats {
	return Stats{
		Requests: int(c.requests.Load()), NotModified: int(c.notModified.Load()), BodyBytes: c.bytes.Load(),
		Now: int(c.now.Load()), Peak: int(c.peak.Load()),
	}
}

func (c *counter) enter() (request int) {
	now := c.now.Add(1)
	for peak := c.peak.Load(); now > peak && !c.peak.CompareAndSwap(peak, now); peak = c.peak.Load() {
	}
	return int(c.requests.Add(1))
}

func (c *counter) leave() { c.now.Add(-1) }

type host struct {
	count  counter
	mu     sync.Mutex
	scenes []Scene
	played int // requests that the first scene has had
}

// next answer of the script.
func (h *host) next() Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.scenes) > 1 && h.scenes[0].Times > 0 && h.played >= h.scenes[0].Times {
		h.scenes, h.played = h.scenes[1:], 0
	}
	h.played++
	return h.scenes[0].Answer
}

// ServeHTTP answers for all hosts, and as a proxy.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		w.tunnels.connect(rw)
		return
	}
	w.total.enter()
	defer w.total.leave()
	name := w.siteName(r.Host)
	counts := []*counter{&w.total}
	var a Answer
	h := w.host(name, false)
	known := h != nil
	switch {
	case r.URL.Path != "/robots.txt":
		a = Status(http.StatusNotFound)
	case known:
		request := h.count.enter()
		defer h.count.leave()
		counts = append(counts, &h.count)
		if a = h.next(); w.watch != nil {
			w.watch(name, request, a)
		}
	default:
		if w.fallback != nil {
			a, known = w.fallback(name)
		}
		if !known {
			a = Status(http.StatusNotFound)
		}
	}
	w.send(rw, r, a, counts)
}

func (w *Web) send(rw http.ResponseWriter, r *http.Request, a Answer, counts []*counter) {
	if a.Delay > 0 && !w.pause(r, a.Delay) {
		panic(http.ErrAbortHandler)
	}
	switch a.Fault {
	case Hang:
		w.pause(r, 0)
		panic(http.ErrAbortHandler)
	case Reset:
		abort(rw, "")
	case Garbage:
		abort(rw, "BEEP boop 42\r\n\r\n")
	}
	header := rw.Header()
	if !a.Stateless {
		header.Set("ETag", a.etag())
	}
	header.Set("Content-Type", "text/plain; charset=utf-8")
	for name, values := range a.Header {
		header[name] = values
	}
	if !a.Stateless && matches(r.Header.Get("If-None-Match"), a.etag()) {
		header.Del("Content-Type")
		rw.WriteHeader(http.StatusNotModified)
		for _, c := range counts {
			c.notModified.Add(1)
		}
		return
	}
	length := len(a.Body)
	if a.Fault == Truncated {
		length *= 2
	}
	if a.Fault != Endless {
		header.Set("Content-Length", strconv.Itoa(length))
	}
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	rw.WriteHeader(status)
	w.body(rw, r, a, counts)
}

func (w *Web) body(rw http.ResponseWriter, r *http.Request, a Answer, counts []*counter) {
	write := func(s string) bool {
		n, err := io.WriteString(rw, s)
		for _, c := range counts {
			c.bytes.Add(int64(n))
		}
		return err == nil
	}
	switch a.Fault {
	case Dripping:
		for _, octet := range []byte(a.Body) {
			if !write(string(octet)) || http.NewResponseController(rw).Flush() != nil || !w.pause(r, DripEvery) {
				return
			}
		}
	case Endless:
		for write(a.Body + "\n# and on\n") {
			select {
			case <-w.closing:
				return
			default:
			}
		}
	case Truncated:
		write(a.Body)
		_ = http.NewResponseController(rw).Flush() // it breaks off either way
		panic(http.ErrAbortHandler)
	default:
		write(a.Body)
	}
}

// pause waits, for ever if d is 0, and reports whether somebody still waits
// for the answer.
func (w *Web) pause(r *http.Request, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return true
	case <-r.Context().Done():
	case <-w.closing:
	}
	return false
}

// abort ends the connection with a last word that is no answer; nothing said,
// it is reset.
func abort(rw http.ResponseWriter, word string) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the stream is reset
	}
	defer conn.Close()
	if word != "" {
		_, _ = io.WriteString(conn, word) // nobody has to hear it
	} else if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a plain close is as good a fault
	}
	panic(http.ErrAbortHandler)
}

func matches(ifNoneMatch, etag string) bool {
	for tag := range strings.SplitSeq(ifNoneMatch, ",") {
		if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == etag {
			return true
		}
	}
	return false
}
