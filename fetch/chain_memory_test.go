//go:build !race

// Memory means nothing under the race detector.

package fetch

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"
)

// A million sites' chains fit.
func TestVerifiedChainsMemory(t *testing.T) {
	before := baseline(t)
	cache := newChainCache(7*day, nil)
	now := time.Now()
	var k chainKey
	for n := range 1_000_000 {
		binary.BigEndian.PutUint64(k[:], uint64(n))
		cache.remember(k, now, now.Add(day))
	}
	each := float64(baseline(t).heap-before.heap) / 1e6
	runtime.KeepAlive(cache)
	t.Logf("%.1f octets a chain", each)
	if each > 48 {
		t.Errorf("a chain takes %.1f octets, at most 48 are allowed", each)
	}
}
