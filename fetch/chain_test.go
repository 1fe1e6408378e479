package fetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/internal/testpki"
)

const day = 24 * time.Hour

// parsed is a server's chain as the client sees it.
func parsed(t *testing.T, c tls.Certificate) []*x509.Certificate {
	t.Helper()
	var chain []*x509.Certificate
	for _, der := range c.Certificate {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, cert)
	}
	return chain
}

// TestVerifiedChain: what a remembered chain holds for, and what it does not.
// After the first verification the roots are taken away behind the cache's
// back, so that whatever is verified again fails.
func TestVerifiedChain(t *testing.T) {
	ca := authority(t)
	now := time.Now().Truncate(time.Second)
	good := parsed(t, issue(t, ca, testpki.Leaf{Names: []string{"site.test", "other.test"}, NotBefore: now.Add(-day), NotAfter: now.Add(30 * day)}))
	brief := parsed(t, issue(t, ca, testpki.Leaf{Names: []string{"site.test"}, NotAfter: now.Add(2 * day)}))
	second := parsed(t, issue(t, ca, testpki.Leaf{Names: []string{"site.test"}}))
	tampered := slices.Clone(good)
	leaf := *good[0]
	leaf.Raw = slices.Clone(leaf.Raw)
	leaf.Raw[len(leaf.Raw)-1] ^= 1
	tampered[0] = &leaf

	for _, c := range []struct {
		name  string
		first []*x509.Certificate
		then  []*x509.Certificate
		host  string
		after time.Duration
		trust time.Duration
		held  bool
	}{
		{"the same", good, good, "site.test", 0, 7 * day, true},
		{"the same, later", good, good, "site.test", 7*day - time.Second, 7 * day, true},
		{"trust is over", good, good, "site.test", 7 * day, 7 * day, false},
		{"a longer trust", good, good, "site.test", 29 * day, 90 * day, true},
		{"certificate ended within a longer trust", good, good, "site.test", 30 * day, 90 * day, false},
		{"certificate ended", brief, brief, "site.test", 2*day + time.Second, 7 * day, false},
		{"just before it ends", brief, brief, "site.test", 2*day - time.Second, 7 * day, true},
		{"clock set back", good, good, "site.test", -time.Second, 7 * day, false},
		{"clock set back before its start", good, good, "site.test", -2 * day, 7 * day, false},
		{"another name of the same certificate", good, good, "other.test", 0, 7 * day, false},
		{"a name that it lacks", good, good, "third.test", 0, 7 * day, false},
		{"another certificate for the name", good, second, "site.test", 0, 7 * day, false},
		{"one bit of the certificate", good, tampered, "site.test", 0, 7 * day, false},
		{"without the intermediate", good, good[:1], "site.test", 0, 7 * day, false},
		{"with one more certificate", good, append(slices.Clone(good), ca.Root), "site.test", 0, 7 * day, false},
		{"in another order", good, []*x509.Certificate{good[0], ca.Root, good[1]}, "site.test", 0, 7 * day, false},
		{"switched off", good, good, "site.test", 0, -1, false},
	} {
		cache := newChainCache(c.trust, ca.Roots())
		if err := cache.verify("site.test", c.first, now); err != nil {
			t.Fatalf("%s: first: %v", c.name, err)
		}
		cache.roots = x509.NewCertPool()
		err := cache.verify(c.host, c.then, now.Add(c.after))
		if held := err == nil; held != c.held {
			t.Errorf("%s: held %v, want %v (%v)", c.name, held, c.held, err)
		}
	}
}

// What is verified again is judged as it is then.
func TestVerifiedChainJudgesAnew(t *testing.T) {
	ca := authority(t)
	now := time.Now()
	chain := parsed(t, issue(t, ca, testpki.Leaf{Names: []string{"site.test"}, NotBefore: now.Add(-day), NotAfter: now.Add(2 * day)}))
	cache := newChainCache(7*day, ca.Roots())
	for _, c := range []struct {
		host  string
		after time.Duration
		want  Reason
	}{
		{"site.test", 0, NoReason}, {"site.test", day, NoReason}, {"site.test", 3 * day, TLSExpired},
		{"site.test", -2 * day, TLSNotYetValid}, {"other.test", 0, TLSWrongName}, {"site.test", 0, NoReason},
	} {
		reason := NoReason
		if err := cache.verify(c.host, chain, now.Add(c.after)); err != nil {
			reason, _ = explain(err)
		}
		if reason != c.want {
			t.Errorf("%s after %v: %q, want %q", c.host, c.after, reason, c.want)
		}
	}
	if len(cache.known) != 1 {
		t.Errorf("%d chains are remembered: failures must not be", len(cache.known))
	}
	cache.setRoots(authority(t).Roots())
	if err := cache.verify("site.test", chain, now); err == nil {
		t.Error("the chain holds although its root is not trusted any more")
	}
	cache.setRoots(ca.Roots())
	if err := cache.verify("site.test", chain, now); err != nil {
		t.Errorf("the root is trusted again, but %v", err)
	}
	if err := cache.verify("site.test", nil, now); err == nil {
		t.Error("no certificate is fine")
	}
}

// The earliest end in the chain counts, not the leaf's.
func TestVerifiedChainEndsWithItsShortestCertificate(t *testing.T) {
	at := func(d time.Duration) *x509.Certificate { return &x509.Certificate{NotAfter: time.Unix(0, 0).Add(d)} }
	for _, c := range []struct {
		chains [][]*x509.Certificate
		want   time.Duration
	}{
		{[][]*x509.Certificate{{at(9 * day), at(3 * day), at(5 * day)}}, 3 * day},
		{[][]*x509.Certificate{{at(1 * day), at(3 * day)}}, day},
		{[][]*x509.Certificate{{at(9 * day), at(2 * day)}, {at(9 * day), at(4 * day)}}, 4 * day}, // cross-signed: either will do
	} {
		if got := validUntil(c.chains).Sub(time.Unix(0, 0)); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// A remembered chain is worth nothing without its key: the handshake proves
// possession each time.
func TestVerifiedChainWithoutItsKey(t *testing.T) {
	ca := authority(t)
	cert := issue(t, ca, testpki.Leaf{Names: []string{"site.test"}})
	stolen := cert
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stolen.PrivateKey = key
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		var impostor atomic.Bool
		srv := listen(t, "127.0.0.1:0", func(c net.Conn) {
			serving := cert
			if impostor.Load() {
				serving = stolen
			}
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{serving}, MaxVersion: version})
			if _, err := readHead(s); err == nil {
				io.WriteString(s, withLength(ok200, group))
				s.Close()
			}
		})
		client := New(Settings{Policy: loopback, Resolver: siteTest, Roots: ca.Roots()})
		req := Request{Origin: secureOrigin(srv)}
		if got := client.Look(context.Background(), req); got.State != Policy {
			t.Fatalf("%+v", got)
		}
		if len(client.chains.known) != 1 {
			t.Fatal("the chain is not remembered")
		}
		impostor.Store(true)
		if got := client.Look(context.Background(), req); got.State != Unreachable || got.Reason != TLSHandshake {
			t.Errorf("version %x: an impostor with the site's chain: %s %s (%s)", version, got.State, got.Reason, got.Detail)
		}
	}
}

func TestVerifiedChainsAreBounded(t *testing.T) {
	cache := newChainCache(7*day, nil)
	cache.max = 1000
	now := time.Now()
	key := func(n int) (k chainKey) {
		binary.BigEndian.PutUint64(k[:], uint64(n))
		return k
	}
	for n := range 10_000 {
		cache.remember(key(n), now, now.Add(day))
		if !cache.holds(key(n), now) {
			t.Fatalf("entry %d was not taken", n)
		}
		if len(cache.known) > cache.max {
			t.Fatalf("%d entries", len(cache.known))
		}
	}
	// What has ended goes first.
	late := now.Add(2 * day)
	for n := range 1000 {
		cache.remember(key(1_000_000+n), late, late.Add(day))
	}
	alive := 0
	for n := range 1000 {
		if cache.holds(key(1_000_000+n), late) {
			alive++
		}
	}
	if alive < 800 {
		t.Errorf("of 1000 new entries %d are left, although all the old had ended", alive)
	}
}
