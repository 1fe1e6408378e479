package store

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// keptMemory is a site's memory as JSON without what the site says anyway.
// Fields that stand here again are written shorter.
type keptMemory struct {
	watcher.Memory
	Modified   httpDate  `json:"modified,omitempty"`
	FullGetAt  shortTime `json:"full_get_at,omitzero"`
	RetryAfter shortTime `json:"retry_after,omitzero"`
	Flap       keptFlap  `json:"flap,omitzero"`
	Same       string    `json:"same,omitempty"` // what was left out, see squeeze
}

type keptFlap struct {
	watcher.Flap
	Since shortTime `json:"since,omitzero"`
}

func (f keptFlap) IsZero() bool {
	return f.Since.IsZero() && f.Last == watcher.Version{} && f.Looks == 0 && f.Swings == 0 && f.Told == watcher.Version{} &&
		len(f.Outages) == 0 && f.StateTold == "" && f.StateSince.IsZero() && f.StateLooks == 0
}

// Letters of keptMemory.Same.
const (
	sameLast    = "l" // Last is Good
	sameBody    = "b" // Good.Body is the site's
	sameGoodURL = "u" // Good.FinalURL is the usual one
	sameLastURL = "v" // Last.FinalURL is
	sameWatch   = "w" // Watch is that of the profile
)

func squeeze(site *watcher.Site) keptMemory {
	m := keptMemory{Memory: site.Memory}
	m.Modified, m.FullGetAt, m.RetryAfter = httpDate(m.Memory.Modified), shortTime{m.Memory.FullGetAt}, shortTime{m.Memory.RetryAfter}
	m.Flap = keptFlap{m.Memory.Flap, shortTime{m.Memory.Flap.Since}}
	leave := func(when bool, letter string, out func()) {
		if when {
			m.Same += letter
			out()
		}
	}
	usual := usualURL(site.Origin)
	leave(m.Last == m.Good && m.Good != watcher.Answer{}, sameLast, func() { m.Last = watcher.Answer{} })
	leave(m.Good.Body == site.Body && !site.Body.IsZero(), sameBody, func() { m.Good.Body = watcher.Hash{} })
	leave(m.Good.FinalURL == usual, sameGoodURL, func() { m.Good.FinalURL = "" })
	leave(m.Last.FinalURL == usual, sameLastURL, func() { m.Last.FinalURL = "" })
	leave(m.Watch != "" && len(site.Profile) > 0, sameWatch, func() { m.Watch = "" })
	return m
}

// unsqueeze is the inverse, but for Watch, which comes with the profile; the
// site has its origin and body already.
func unsqueeze(m keptMemory, site *watcher.Site) {
	m.Memory.Modified, m.Memory.FullGetAt, m.Memory.RetryAfter = string(m.Modified), m.FullGetAt.t, m.RetryAfter.t
	m.Memory.Flap = m.Flap.Flap
	m.Memory.Flap.Since = m.Flap.Since.t
	usual := usualURL(site.Origin)
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

// usualURL is where a site's robots.txt lies unless it is moved.
func usualURL(origin string) string { return origin + "/robots.txt" }

// packMemory is a site's memory as sites.memory has it: JSON in which each
// frequent phrase is one control character. It is packed with little work,
// since every look writes it.
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

// unpackMemory is the inverse of packMemory; watchOfProfile says whether Watch
// is still to be taken from the profile.
func unpackMemory(packed string, site *watcher.Site) (watchOfProfile bool, err error) {
	if packed = strings.Trim(packed, " "); packed == "" {
		return false, nil
	}
	var m keptMemory
	if err := json.Unmarshal([]byte(lengthen.Replace(packed)), &m); err != nil {
		return false, fmt.Errorf("memory of %s: %w: %w", site.Origin, ErrCorrupt, err)
	}
	unsqueeze(m, site)
	return strings.Contains(m.Same, sameWatch), nil
}

func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	host, _, _ = strings.Cut(host, ":")
	return host
}

// shortTime is a time as its Unix milliseconds to the base 36.
type shortTime struct{ t time.Time }

func (s shortTime) IsZero() bool { return s.t.IsZero() }

func (s shortTime) MarshalText() ([]byte, error) {
	return strconv.AppendInt(nil, s.t.UnixMilli(), 36), nil
}

func (s *shortTime) UnmarshalText(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 36, 64)
	s.t = fromMillis(ms)
	return err
}

// httpDate is text that is usually a date as HTTP writes it (RFC 9110,
// 5.6.7), and is then kept as dateMark and its Unix seconds to the base 36.
type httpDate string

const dateMark = "\x02"

func (d httpDate) short() string {
	if t, err := time.Parse(http.TimeFormat, string(d)); err == nil && t.Format(http.TimeFormat) == string(d) && t.Unix() > 0 {
		return dateMark + strconv.FormatInt(t.Unix(), 36)
	}
	return string(d)
}

func longDate(text string) string {
	digits, ok := strings.CutPrefix(text, dateMark)
	if !ok {
		return text
	}
	seconds, err := strconv.ParseInt(digits, 36, 64)
	if err != nil {
		return text
	}
	return time.Unix(seconds, 0).UTC().Format(http.TimeFormat)
}

func (d httpDate) MarshalText() ([]byte, error) { return []byte(d.short()), nil }

func (d *httpDate) UnmarshalText(text []byte) error {
	*d = httpDate(longDate(string(text)))
	return nil
}

// phrases of memories, each with the control character that stands for it;
// JSON has none of its own. They are part of the format: they may grow, never
// change.
var phrases = []string{
	"\x01", `{"etag":"\"`,
	"\x02", `\"","address":"`,
	"\x03", `","good":{"state":"policy","status":200},"modified":"\u0002`,
	"\x04", `","full_get_at":"`,
	"\x05", `","flap":{"looks":`,
	"\x06", `,"since":"`,
	"\x07", `"},"same":"lbuw"}`,
	"\x08", `","good":{"state":"policy","status":200},"full_get_at":"`,
	"\x0b", `{"address":"`,
	"\x0c", `{"etag":"W/\"`,
	"\x0e", `"good":{"state":"policy","status":200}`,
	"\x0f", `"state":"absent","reason":"http_404","status":404`,
	"\x10", `"final_url":"https://`,
	"\x11", `,"tentative":true`,
	"\x12", `,"doubt":{"state":"`,
	"\x13", `,"flap":{`,
	"\x14", `","last":{`,
	"\x15", `"retry_after":"`,
	"\x16", `"swings":`,
	"\x17", `"looks":`,
	"\x18", `"full_get_at":"`,
	"\x19", `"watch":"`,
	"\x1a", `,"count":`,
	"\x1b", `,"total":`,
	"\x1c", `"modified":"`,
	"\x1d", `,"body":"`,
	"\x1e", `"same":"`,
	"\x1f", `"state":"unreachable","reason":"`,
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
