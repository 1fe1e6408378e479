package store

import (
	"bytes"
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

func wantedOf(c watcher.SiteConfig) wanted {
	o := sha256.Sum256([]byte(c.Origin))
	w := wanted{config: configHash(joinSet(sortedTags(c.Tags)), c.Schedule, joinSet(c.Agents))}
	copy(w.origin[:], o[:])
	return w
}

func configHash(tags, schedule, agents string) uint64 {
	if tags == "" && schedule == "" && agents == "" {
		return 0
	}
	h := sha256.Sum256([]byte(tags + "\x00" + schedule + "\x00" + agents))
	return binary.LittleEndian.Uint64(h[:])
}

// readWanted walks the configuration once; what it gives is sorted.
func readWanted(sites iter.Seq2[watcher.SiteConfig, error]) ([]wanted, error) {
	var want []wanted
	for c, err := range sites {
		if err != nil {
			return nil, err
		}
		want = append(want, wantedOf(c))
	}
	slices.SortStableFunc(want, func(a, b wanted) int { return bytes.Compare(a.origin[:], b.origin[:]) })
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
