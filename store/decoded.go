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

// change is unpackChange; what it gives is shared: read only.
func (d *decoded) change(data []byte) (watcher.Change, error) {
	key := maphash.Bytes(d.seed, data)
	d.mu.Lock()
	c, ok := d.by[key]
	d.mu.Unlock()
	if ok {
		return c, nil
	}
	c, err := unpackChange(data)
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
