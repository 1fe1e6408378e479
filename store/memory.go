package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/robotswatch/robotswatch/watcher"
)

// keptMemory is a site's memory as JSON without what the site says anyway.
type keptMemory struct {
	watcher.Memory
	Same string `json:"same,omitempty"` // what was left out, see squeeze
}

// Letters of keptMemory.Same.
const (
	sameLast    = "l" // Last is Good
	sameBody    = "b" // Good.Body is the site's
	sameGoodURL = "u" // Good.FinalURL is the usual one
	sameLastURL = "v" // Last.FinalURL is
)

func squeeze(site *watcher.Site) keptMemory {
	m := keptMemory{Memory: site.Memory}
	leave := func(when bool, letter string, out func()) {
		if when {
			m.Same += letter
			out()
		}
	}
	usual := site.Origin + "/robots.txt"
	leave(m.Last == m.Good && m.Good != watcher.Answer{}, sameLast, func() { m.Last = watcher.Answer{} })
	leave(m.Good.Body == site.Body && !site.Body.IsZero(), sameBody, func() { m.Good.Body = watcher.Hash{} })
	leave(m.Good.FinalURL == usual, sameGoodURL, func() { m.Good.FinalURL = "" })
	leave(m.Last.FinalURL == usual, sameLastURL, func() { m.Last.FinalURL = "" })
	return m
}

// unsqueeze is the inverse; the site has its origin and body already.
func unsqueeze(m keptMemory, site *watcher.Site) {
	usual := site.Origin + "/robots.txt"
	has := func(letter string) bool { return strings.Contains(m.Same, letter) }
	if has(sameLastURL) {
		m.Last.FinalURL = usual
	}
	if has(sameGoodURL) {
		m.Good.FinalURL = usual
	}
	if has(sameBody) {
		m.Good.Body = site.Body
	}
	if has(sameLast) {
		m.Last = m.Good
	}
	site.Memory = m.Memory
}

// packMemory is a site's memory as sites.memory has it: JSON in which each
// frequent phrase is one control character, since every look writes it.
func packMemory(site *watcher.Site) (string, error) {
	text, err := json.Marshal(squeeze(site))
	if err != nil {
		return "", fmt.Errorf("memory of %s: %w", site.Origin, err)
	}
	if string(text) == "{}" {
		return "", nil
	}
	return shorten.Replace(string(text)), nil
}

// unpackMemory is the inverse of packMemory.
func unpackMemory(packed string, site *watcher.Site) error {
	if packed == "" {
		return nil
	}
	var m keptMemory
	if err := json.Unmarshal([]byte(lengthen.Replace(packed)), &m); err != nil {
		return fmt.Errorf("memory of %s: %w: %w", site.Origin, ErrCorrupt, err)
	}
	unsqueeze(m, site)
	return nil
}

// phrases of memories, each with the control character that stands for it;
// JSON has none of its own. They are part of the format: they may grow, never
// change.
var phrases = []string{
	"\x01", `{"etag":"`,
	"\x02", `,"modified":"`,
	"\x03", `,"full_get_at":"`,
	"\x04", `,"retry_after":"`,
	"\x05", `,"address":"`,
	"\x06", `,"watch":"`,
	"\x07", `,"last":{`,
	"\x08", `,"good":{`,
	"\x0b", `"state":"policy","status":200`,
	"\x0c", `"state":"unreachable"`,
	"\x0e", `,"reason":"`,
	"\x0f", `,"status":`,
	"\x10", `,"final_url":"https://`,
	"\x11", `,"tentative":true`,
	"\x12", `,"doubt":{`,
	"\x13", `,"flap":{`,
	"\x14", `"since":"`,
	"\x15", `,"looks":`,
	"\x16", `},"same":"lbu"}`,
	"\x17", `{"full_get_at":"`,
	"\x18", ` GMT"`,
	"\x19", `"state":"absent","reason":"http_404","status":404`,
	"\x1a", `,"count":`,
	"\x1b", `,"total":`,
	"\x1c", `,"swings":`,
	"\x1d", `,"body":"`,
	"\x1e", `,"same":"`,
	"\x1f", `"last":{"state":"policy","body":"`,
}

var (
	lengthen = strings.NewReplacer(phrases...)
	shorten  = strings.NewReplacer(swapped(phrases)...)
)

func swapped(pairs []string) []string {
	out := make([]string, len(pairs))
	for i := 0; i < len(pairs); i += 2 {
		out[i], out[i+1] = pairs[i+1], pairs[i]
	}
	return out
}
