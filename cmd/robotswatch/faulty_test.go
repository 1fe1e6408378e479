//go:build !race

// The program of these tests is built without the race detector.

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// attempt is one request that a receiver got.
type attempt struct {
	id, site string
	at, done time.Time
	accepted bool // 200 within the deadline
}

// faultyReceiver answers right or, while trouble lasts, half of the time
// wrong in its own way.
type faultyReceiver struct {
	name    string
	trouble *atomic.Bool
	wrong   func(w http.ResponseWriter, r *http.Request)

	mu       sync.Mutex
	attempts []attempt
	random   *rand.Rand
}

func (f *faultyReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	var c watcher.Change
	if json.Unmarshal(body, &c) != nil || c.ID != r.Header.Get("webhook-id") {
		http.Error(w, "not an event", http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	i := len(f.attempts)
	f.attempts = append(f.attempts, attempt{id: c.ID, site: c.Site, at: time.Now()})
	bad := f.wrong != nil && f.trouble.Load() && f.random.IntN(2) == 0
	f.mu.Unlock()
	if bad {
		f.wrong(w, r)
		return
	}
	w.WriteHeader(http.StatusOK)
	f.mu.Lock()
	f.attempts[i].accepted, f.attempts[i].done = true, time.Now()
	f.mu.Unlock()
}

func faultyReceivers(trouble *atomic.Bool) []*faultyReceiver {
	list := []*faultyReceiver{
		{name: "good"},
		{name: "late", wrong: func(w http.ResponseWriter, r *http.Request) { wait(r, 2*campaignTimeout) }},
		{name: "limited", wrong: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
		{name: "failing", wrong: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		{name: "resetting", wrong: func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		}},
		{name: "hanging", wrong: func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	}
	for i, f := range list {
		f.trouble, f.random = trouble, rand.New(rand.NewPCG(1, uint64(i)))
	}
	return list
}

func (c *campaign) killed(from, to time.Time) bool {
	return slices.ContainsFunc(c.kills, func(k span) bool { return !k.to.Before(from) && !k.from.After(to) })
}

// tooLate reports whether the daemon had given up waiting for an answer that
// the receiver thinks it gave in time: both share a busy machine.
func (c *campaign) tooLate(receiver, id string) bool {
	for line := range bytes.Lines(c.log.Bytes()) {
		var entry struct{ Receiver, ID, Error string }
		if json.Unmarshal(line, &entry) == nil && entry.Receiver == receiver && entry.ID == id && entry.Error == "no answer in time" {
			return true
		}
	}
	return false
}

// judge compares what was recorded with what each receiver saw.
func (c *campaign) judge() {
	c.t.Helper()
	recorded := c.recorded()
	total := 0
	for _, ids := range recorded {
		total += len(ids)
	}
	attempts, again := 0, 0
	for _, f := range c.receivers {
		attempts += len(f.attempts)
		again += c.judgeReceiver(f, recorded)
	}
	c.t.Logf("%d kills, %d changes, %d attempts to %d receivers, %d accepted twice because of a kill",
		len(c.kills), total, attempts, len(c.receivers), again)
	if c.t.Failed() {
		c.t.Logf("the daemon's log:\n%s", c.log.String())
	}
	if total < len(c.kills) {
		c.t.Errorf("only %d changes were recorded: the campaign proves little", total)
	}
}

func (c *campaign) judgeReceiver(f *faultyReceiver, recorded map[string][]string) (again int) {
	c.t.Helper()
	accepted := map[string]attempt{}
	seen := map[string]bool{}
	for _, ids := range recorded {
		for _, id := range ids {
			seen[id] = true
		}
	}
	for _, a := range f.attempts {
		if !seen[a.id] {
			c.t.Errorf("%s got %s, which nobody recorded", f.name, a.id)
		}
		ids := recorded[a.site]
		if i := slices.Index(ids, a.id); i > 0 {
			if _, ok := accepted[ids[i-1]]; !ok {
				c.t.Errorf("%s got %s before %s of the same site was through", f.name, a.id, ids[i-1])
			}
		}
		if before, ok := accepted[a.id]; ok {
			again++
			if !c.killed(before.at, a.at) && !c.tooLate(f.name, a.id) {
				c.t.Errorf("%s got %s again without a kill in between", f.name, a.id)
			}
		}
		if a.accepted {
			accepted[a.id] = a
		}
	}
	for id := range seen {
		if _, ok := accepted[id]; !ok {
			c.t.Errorf("%s never got %s", f.name, id)
		}
	}
	return again
}
