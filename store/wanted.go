package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"slices"

	"github.com/robotswatch/robotswatch/watcher"
)

// wanted is a configured site as it is compared.
type wanted struct {
	origin [16]byte // hash; long enough that no two origins meet
	config uint64   // hash of tags, schedule, agents
	place  uint32   // in the configuration
	fate   fate
	met    bool // by the second walk
}

// fate is what is to be done with a configured site.
type fate uint8

const (
	fateAdd fate = iota
	fateKeep
	fateUpdate
	fateBack
)

// hasher makes sites comparable. It remembers the last of what neighbours in
// a configuration share.
type hasher struct {
	last watcher.SiteConfig
	hash uint64 // of last
}

func (h *hasher) of(c watcher.SiteConfig) wanted {
	if c.Schedule != h.last.Schedule || !slices.Equal(c.Tags, h.last.Tags) || !slices.Equal(c.Agents, h.last.Agents) {
		h.last, h.hash = c, configHash(joinSet(sortedTags(c.Tags)), c.Schedule, joinSet(c.Agents))
	}
	o := sha256.Sum256([]byte(c.Origin))
	return wanted{origin: [16]byte(o[:16]), config: h.hash}
}

// configHash of nothing is 0.
func configHash(tags, schedule, agents string) uint64 {
	if tags == "" && schedule == "" && agents == "" {
		return 0
	}
	h := sha256.Sum256([]byte(tags + "\x00" + schedule + "\x00" + agents))
	return binary.LittleEndian.Uint64(h[:])
}

// readWanted walks the configuration once; what it gives is sorted, and the
// first of several with one origin. expected is how many there probably are.
func readWanted(sites iter.Seq2[watcher.SiteConfig, error], expected int) ([]wanted, error) {
	want := make([]wanted, 0, expected)
	var h hasher
	for c, err := range sites {
		if err != nil {
			return nil, err
		}
		w := h.of(c)
		w.place = uint32(len(want))
		want = append(want, w)
	}
	slices.SortFunc(want, func(a, b wanted) int {
		return cmp.Or(bytes.Compare(a.origin[:], b.origin[:]), cmp.Compare(a.place, b.place))
	})
	return slices.CompactFunc(want, func(a, b wanted) bool { return a.origin == b.origin }), nil
}

// digest of a configuration, whatever its order.
func digest(want []wanted) string {
	h := sha256.New()
	var buf [24]byte
	for i := range want {
		copy(buf[:16], want[i].origin[:])
		binary.LittleEndian.PutUint64(buf[16:], want[i].config)
		h.Write(buf[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
