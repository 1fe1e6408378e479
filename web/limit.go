package web

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// clientRate and clientBurst are how many requests of pages and API one
	// address may make: enough for any honest program, too few to hurt.
	clientRate  = 500 // a second
	clientBurst = 2000
	// checkEvery is how often one site may be looked at on request.
	checkEvery = time.Minute
	// limitKeys bounds what a limiter remembers; beyond it, it starts afresh.
	limitKeys = 10_000
)

// limiter gives every key its own rate.
type limiter struct {
	mu    sync.Mutex
	every rate.Limit
	burst int
	keys  map[string]*rate.Limiter
}

func newLimiter(every rate.Limit, burst int) *limiter {
	return &limiter{every: every, burst: burst, keys: map[string]*rate.Limiter{}}
}

func (l *limiter) allow(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[key]
	if k == nil {
		if len(l.keys) >= limitKeys {
			clear(l.keys)
		}
		k = rate.NewLimiter(l.every, l.burst)
		l.keys[key] = k
	}
	return k.AllowN(now, 1)
}

// clientOf is whom a request is counted for.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
