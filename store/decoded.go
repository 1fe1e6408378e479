package store

import (
	"hash/maphash"
	"sync"

	"github.com/robotswatch/robotswatch/watcher"
)

// decodedLimit is how many changes are remembered as they are read: unpacking
// one that touches sixty agents takes longer than finding it, and most
// readers want the latest ones.
const decodedLimit = 512

// decoded remembers changes by what they were read from. Beyond its limit it
// starts afresh.
type decoded struct {
	mu   sync.Mutex
	seed maphash.Seed
	by   map[uint64]watcher.Change
}

func newDecoded() *decoded { return &decoded{seed: maphash.MakeSeed()} }

// change is that of a row; what it gives is shared: read only.
func (d *decoded) change(r *changeRow) (watcher.Change, error) {
	key := d.hash(r)
	d.mu.Lock()
	c, ok := d.by[key]
	d.mu.Unlock()
	if ok {
		return c, nil
	}
	c, err := r.change()
	if err != nil {
		return c, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil || len(d.by) >= decodedLimit {
		d.by = make(map[uint64]watcher.Change)
	}
	d.by[key] = c
	return c, nil
}

// hash of what a row says; its data begins with a checksum of the rest.
func (d *decoded) hash(r *changeRow) uint64 {
	var h maphash.Hash
	h.SetSeed(d.seed)
	h.Write(r.key)
	h.Write(r.data)
	return h.Sum64()
}
