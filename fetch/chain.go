package fetch

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"hash"
	"sync"
	"time"
)

// MaxChains bounds the verified chains that are remembered; one takes about
// 40 octets of memory.
const MaxChains = 1 << 21

// chainCache remembers which certificate chains were fully verified for which
// name. Verification is a function of (name, chain, roots, time). The first
// three are the key, bit for bit; the fourth is bounded on both sides: an entry
// holds from the moment of the verification until the earliest end of a
// certificate in the verified chain, and for at most the configured time.
// What a handshake itself proves, possession of the leaf's key, is never
// skipped: none completes without it.
//
// Only successes are remembered. The key is a keyed hash with a secret of this
// process, so that nobody can look for collisions.
type chainCache struct {
	trust time.Duration // <= 0: nothing is remembered
	max   int
	macs  sync.Pool

	mu    sync.Mutex
	roots *x509.CertPool
	epoch uint64 // counts changes of roots
	known map[chainKey]span
}

// chainKey is truncated HMAC-SHA256: 96 bits, which nobody can try offline.
type chainKey [12]byte

// span of time in Unix seconds, the end not included.
type span struct{ from, until uint32 }

func newChainCache(trust time.Duration, roots *x509.CertPool) *chainCache {
	secret := make([]byte, sha256.Size)
	rand.Read(secret) // never fails
	c := &chainCache{trust: trust, max: MaxChains, roots: roots, known: make(map[chainKey]span)}
	c.macs.New = func() any { return hmac.New(sha256.New, secret) }
	return c
}

// setRoots changes the root store; everything verified against the old one is
// forgotten.
func (c *chainCache) setRoots(roots *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roots = roots
	c.epoch++
	clear(c.known)
}

var errNoCertificate = errors.New("the server sent no certificate")

// verify is crypto/tls's own verification of a server, remembered.
func (c *chainCache) verify(name string, chain []*x509.Certificate, now time.Time) error {
	if len(chain) == 0 {
		return errNoCertificate
	}
	c.mu.Lock()
	roots, epoch := c.roots, c.epoch
	c.mu.Unlock()

	var key chainKey
	if c.trust > 0 {
		key = c.key(name, chain, epoch)
		if c.holds(key, now) {
			return nil
		}
	}
	opts := x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now, Intermediates: x509.NewCertPool()}
	for _, cert := range chain[1:] {
		opts.Intermediates.AddCert(cert)
	}
	verified, err := chain[0].Verify(opts)
	if err != nil {
		return err
	}
	if c.trust > 0 {
		until := now.Add(c.trust)
		if end := validUntil(verified); end.Before(until) {
			until = end
		}
		c.remember(key, now, until)
	}
	return nil
}

// validUntil is the time up to which at least one verified chain is valid as a
// whole.
func validUntil(chains [][]*x509.Certificate) time.Time {
	var best time.Time
	for _, chain := range chains {
		end := chain[0].NotAfter
		for _, cert := range chain[1:] {
			if cert.NotAfter.Before(end) {
				end = cert.NotAfter
			}
		}
		if end.After(best) {
			best = end
		}
	}
	return best
}

func (c *chainCache) key(name string, chain []*x509.Certificate, epoch uint64) chainKey {
	mac := c.macs.Get().(hash.Hash)
	defer c.macs.Put(mac)
	mac.Reset()
	var n [8]byte
	write := func(v uint64) {
		binary.BigEndian.PutUint64(n[:], v)
		mac.Write(n[:])
	}
	write(epoch)
	write(uint64(len(name)))
	mac.Write([]byte(name))
	for _, cert := range chain {
		write(uint64(len(cert.Raw)))
		mac.Write(cert.Raw)
	}
	var sum [sha256.Size]byte
	return chainKey(mac.Sum(sum[:0])[:len(chainKey{})])
}

func (c *chainCache) holds(key chainKey, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.known[key]
	t := now.Unix()
	return ok && t >= int64(s.from) && t < int64(s.until)
}

func (c *chainCache) remember(key chainKey, now, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= c.max {
		c.makeRoom(now)
	}
	// Certificates count in whole seconds, so that rounding down loses nothing
	// at the start and stays on the safe side at the end.
	c.known[key] = span{uint32(now.Unix()), uint32(until.Unix())}
}

// makeRoom drops a few entries, those that have ended first. Which others go
// is left to the map's order: a dropped one costs a verification, no more.
func (c *chainCache) makeRoom(now time.Time) {
	const look, drop = 64, 8
	looked, dropped := 0, 0
	for k, s := range c.known {
		looked++
		if int64(s.until) <= now.Unix() || looked > look-drop && dropped < drop {
			delete(c.known, k)
			dropped++
		}
		if looked >= look {
			return
		}
	}
}
