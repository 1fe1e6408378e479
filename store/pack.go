package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/robotswatch/robotswatch/watcher"
)

// ErrCorrupt is that something kept is not what was stored.
var ErrCorrupt = errors.New("corrupt")

// packWindow is how far back repeats are looked for. An encoder keeps twice
// that in memory; a robots.txt is rarely longer (RFC 9309, 2.5: 500 KiB).
const packWindow = 512 << 10

// codecs are made once: they are costly to make and safe for concurrent use.
// JSON is short and always says the same words, so it is packed against
// dictionaries of them.
var codecs = sync.OnceValue(func() (c struct {
	body, json   *zstd.Encoder
	event        *zstd.Encoder // as json, with half the work: storms bring many
	unpack, read *zstd.Decoder
}) {
	must := func(err error) {
		if err != nil {
			panic(err) // options are constants
		}
	}
	var err error
	encoder := func(level zstd.EncoderLevel, more ...zstd.EOption) (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, append(more, zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true),
			zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true))...)
	}
	c.body, err = encoder(zstd.SpeedDefault, zstd.WithZeroFrames(true))
	must(err)
	c.read, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2))
	must(err)
	c.json, err = encoder(zstd.SpeedDefault, zstd.WithEncoderDictRaw(jsonDictID, jsonDict))
	must(err)
	c.event, err = encoder(zstd.SpeedFastest, zstd.WithEncoderDictRaw(eventDictID, eventDict))
	must(err)
	c.unpack, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderDictRaw(jsonDictID, jsonDict),
		zstd.WithDecoderDictRaw(eventDictID, eventDict))
	must(err)
	return c
})

// packBody compresses the bytes of a body; also of an empty one it makes some,
// since no data means that only the hash is kept.
func packBody(body []byte) []byte { return codecs().body.EncodeAll(body, nil) }

// unpackBody is the inverse of packBody; it proves that the bytes are those
// of the hash.
func unpackBody(data []byte, h watcher.Hash) ([]byte, error) {
	body, err := codecs().read.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("body %s: %w: %w", h, ErrCorrupt, err)
	}
	if sha256.Sum256(body) != h {
		return nil, fmt.Errorf("body %s: %w: its content has another hash", h, ErrCorrupt)
	}
	return body, nil
}

// packEvent is what is kept of an event as compressed JSON; events are many, so
// this does little work for a little more room.
func packEvent(k keptEvent) ([]byte, error) { return packWith(codecs().event, k) }

func packWith(enc *zstd.Encoder, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(text, nil), nil
}

// unpackJSON is the inverse of packEvent, and of how earlier versions packed; no
// data leaves v as it is.
func unpackJSON(data []byte, v any) error {
	if len(data) == 0 {
		return nil
	}
	text, err := codecs().unpack.DecodeAll(data, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}
