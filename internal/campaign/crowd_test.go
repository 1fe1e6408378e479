//go:build !race

package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// crowd is a web of many small sites, each at an address of its own. Files
// change with time and no version comes back. It takes note of every request
// that comes to a site while another one is not yet answered.
type crowd struct {
	period time.Duration // between two versions of a site
	begun  time.Time
	frozen atomic.Int64 // Unix milliseconds from which on nothing changes; 0: changes go on

	mu       sync.Mutex
	sites    []string
	index    map[string]int // by host
	inside   map[string]int
	overlaps []string
	requests int
}

func newCrowd(t *testing.T, n int, period time.Duration) *crowd {
	t.Helper()
	c := &crowd{period: period, begun: time.Now(), index: map[string]int{}, inside: map[string]int{}}
	server := &http.Server{Handler: c, ErrorLog: log.New(io.Discard, "", 0)}
	for i := range n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.77.%d.%d:0", i/250, i%250+1))
		if err != nil {
			t.Fatal(err)
		}
		host := l.Addr().String()
		c.index[host] = i
		c.sites = append(c.sites, "http://"+host)
		go server.Serve(l)
	}
	t.Cleanup(func() { server.Close() })
	return c
}

// version of the i-th site, from 0.
func (c *crowd) version(i int) int {
	now := time.Now()
	if ms := c.frozen.Load(); ms != 0 {
		now = time.UnixMilli(ms)
	}
	return int((now.Sub(c.begun) + c.period*time.Duration(i)/time.Duration(len(c.sites))) / c.period)
}

func (c *crowd) freeze() { c.frozen.Store(time.Now().UnixMilli()) }

func (c *crowd) file(i, version int) string {
	return fmt.Sprintf("# site %d\nUser-agent: *\nDisallow: /version-%d/\n", i, version)
}

// hash of what the site serves now.
func (c *crowd) hash(i int) string {
	sum := sha256.Sum256([]byte(c.file(i, c.version(i))))
	return hex.EncodeToString(sum[:])
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer c.enter(r.Host)()
	select {
	case <-time.After(100*time.Millisecond + rand.N(200*time.Millisecond)):
	case <-r.Context().Done(): // whoever asked was killed
		return
	}
	i := c.index[r.Host]
	v := c.version(i)
	tag := fmt.Sprintf(`"%d"`, v)
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = io.WriteString(w, c.file(i, v))
}

func (c *crowd) enter(host string) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.inside[host]++; c.inside[host] > 1 {
		c.overlaps = append(c.overlaps, fmt.Sprintf("%s at %s", host, time.Now().Format(time.TimeOnly)))
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.inside[host]--
	}
}

// receiver notes what is delivered to it.
type receiver struct {
	url string

	mu      sync.Mutex
	arrived map[string][]time.Time // by the id of a change
	digests []time.Time
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{arrived: map[string][]time.Time{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was killed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.URL.Path == "/digest" {
		r.digests = append(r.digests, time.Now())
		return
	}
	var change struct{ ID string }
	if json.Unmarshal(body, &change) != nil || change.ID == "" {
		http.Error(w, "not a change", http.StatusBadRequest)
		return
	}
	r.arrived[change.ID] = append(r.arrived[change.ID], time.Now())
}

// tables of the configuration.
func (r *receiver) tables() string {
	return fmt.Sprintf(`[[receivers]]
name = "each"
type = "webhook"
url = "%[1]s/each"
[[receivers]]
name = "daily"
type = "slack"
webhook_url = "%[1]s/digest"
mode = "digest"
digest_empty = true
`, r.url)
}
