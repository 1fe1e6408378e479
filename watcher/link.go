package watcher

import (
	"net/netip"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

const (
	// linkMemory is how many looks at unrelated hosts are weighed.
	linkMemory = 40
	// linkWindow is how long they count.
	linkWindow = 10 * time.Minute
	// linkSilent unrelated hosts at least must have fallen silent before our
	// own network is suspected; and four of five.
	linkSilent = 5
	// linkHeard unrelated hosts that answer end the suspicion.
	linkHeard = 3
)

// link judges whether silence is the sites' or our own. Hosts are unrelated
// when neither registered domain nor network block is the same.
type link struct {
	mu     sync.Mutex
	recent []sign // at most one per host and block, oldest first
	down   bool
}

// sign of one look.
type sign struct {
	at            time.Time
	domain, block string
	heard         bool
}

func (l *link) isDown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down
}

// weigh takes a look into account. It reports whether our own network is down
// now and whether this look changed that.
func (l *link) weigh(now time.Time, site Site, out fetch.Outcome) (down, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.down
	switch silent := silence(out); {
	case silent && site.State == fetch.Unreachable && !site.Memory.Tentative:
		return was, false // was silent before
	case silent || out.Status != 0:
		l.remember(sign{at: now, domain: domainOf(site.Origin), block: blockOf(site, out), heard: !silent})
	default:
		return was, false // says nothing about the way
	}
	silent, heard := 0, 0
	for _, s := range l.recent {
		if s.heard {
			heard++
		} else {
			silent++
		}
	}
	switch {
	case !l.down && silent >= linkSilent && silent >= 4*heard:
		l.down = true
	case l.down && (heard >= linkHeard || heard > silent):
		l.down = false
	}
	if l.down != was {
		l.recent = nil
	}
	return l.down, l.down != was
}

func (l *link) remember(s sign) {
	kept := l.recent[:0]
	for _, o := range l.recent {
		related := o.domain == s.domain || s.block != "" && o.block == s.block
		if !related && s.at.Sub(o.at) < linkWindow {
			kept = append(kept, o)
		}
	}
	if len(kept) == linkMemory {
		kept = append(kept[:0], kept[1:]...)
	}
	l.recent = append(kept, s)
}

// blockOf is the network block that answers for a site.
func blockOf(site Site, out fetch.Outcome) string {
	if out.Address.IsValid() {
		return network(out.Address.Addr().String())
	}
	return network(site.Memory.Address)
}

// silence reports whether nobody answered, in a way that our own network can
// be the cause of.
func silence(out fetch.Outcome) bool {
	switch out.Reason {
	case fetch.DNSTimeout, fetch.DNSFailure, fetch.NoRoute, fetch.Timeout, fetch.NetworkError, fetch.ProxyFailed, fetch.NoResources:
		return out.Status == 0
	}
	return false
}

// network is the address block that says which hosts fail together: /24, /48.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	bits := 48
	if a = a.Unmap(); a.Is4() {
		bits = 24
	}
	block, err := a.Prefix(bits)
	if err != nil {
		return ""
	}
	return block.String()
}
