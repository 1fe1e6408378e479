// Package archive makes up weekly captures of many hosts over years, with the
// base rates of real archives, for tests and benchmarks: mostly the same
// answer week after week, outages that mostly end with the same bytes, edits
// of which a third means nothing, and some that are taken back at once.
package archive

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// Start is when the captures begin.
var Start = time.Date(2020, 9, 5, 4, 0, 0, 0, time.UTC)

// Rates per host and week, as observed among 15,838 hosts in five years.
const (
	hasPolicy   = 0.62  // hosts with a robots.txt; the others answer with one error all the time
	editRate    = 0.008 // the text changes
	cosmetic    = 0.30  // of the edits change no rule
	takenBack   = 0.05  // of the edits are reverted a week later
	outageRate  = 0.02  // an outage begins
	outageGoes  = 0.45  // goes on for another week
	outageEdits = 0.14  // ends with other bytes
)

// host is one site as it is made up.
type host struct {
	name    string
	rand    *rand.Rand
	policy  bool
	version int
	comment int
	reverts bool // the next capture takes the last edit back
	out     int  // status of the outage under way, 0 none
	begun   bool // an outage is under way
}

// Write writes JSON lines for hosts over weeks, week by week, each host once a
// week: what `backfill jsonl` reads.
func Write(w io.Writer, hosts, weeks int, seed uint64) error {
	out := bufio.NewWriterSize(w, 1<<20)
	all := make([]host, hosts)
	for i := range all {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		all[i] = host{name: fmt.Sprintf("https://host%d.example", i), rand: r, policy: r.Float64() < hasPolicy}
	}
	var line []byte
	for week := range weeks {
		for i := range all {
			at := Start.AddDate(0, 0, 7*week).Add(time.Duration(i) * 100 * time.Millisecond)
			line = all[i].capture(line[:0], at)
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

func (h *host) capture(line []byte, at time.Time) []byte {
	line = append(append(line, `{"site":"`...), h.name...)
	line = at.AppendFormat(append(line, `","time":"`...), time.RFC3339Nano)
	line = append(line, `","status":`...)
	if h.step(); h.policy && !h.begun {
		line = append(line, `200,"body_base64":"`...)
		line = base64.StdEncoding.AppendEncode(line, h.text())
		return append(line, "\"}\n"...)
	}
	line = strconv.AppendInt(line, int64(h.out), 10)
	return append(line, ",\"error\":\"request_error\"}\n"...)
}

// errors are how a host fails, as often as they do.
var errors = []int{0, 0, 0, 0, 404, 404, 404, 403, 503, 502}

// step is a week.
func (h *host) step() {
	r := h.rand
	switch {
	case !h.policy:
		if h.out == 0 && !h.begun {
			h.out, h.begun = errors[r.IntN(len(errors))], true
		}
	case h.begun:
		if r.Float64() < outageGoes {
			return
		}
		if h.begun = false; r.Float64() < outageEdits {
			h.version++
		}
	case h.reverts:
		h.version--
		h.reverts = false
	case r.Float64() < outageRate:
		h.begun, h.out = true, errors[r.IntN(len(errors))]
	case r.Float64() < editRate:
		if r.Float64() < cosmetic {
			h.comment++
			return
		}
		h.version++
		h.reverts = r.Float64() < takenBack
	}
}

// crawlers are blocked one by one as versions go on.
var crawlers = []string{"GPTBot", "CCBot", "Google-Extended", "anthropic-ai", "Bytespider", "ClaudeBot", "Amazonbot", "PerplexityBot", "Applebot-Extended", "meta-externalagent"}

// text of the version: of most hosts as some software writes it, then their
// own.
func (h *host) text() []byte {
	b := fmt.Appendf(nil, "# robots.txt of %s, revision %d\nUser-agent: *\n", h.name, h.comment)
	for i := range 25 {
		b = fmt.Appendf(b, "Disallow: /section-%d/internal/\n", i)
	}
	b = append(b, "Allow: /section-3/internal/public\n"...)
	for i := range min(max(h.version, 0), len(crawlers)) {
		b = fmt.Appendf(b, "\nUser-agent: %s\nDisallow: /\n", crawlers[i])
	}
	if h.version > len(crawlers) {
		b = fmt.Appendf(b, "\nUser-agent: *\nDisallow: /v%d/\n", h.version)
	}
	return fmt.Appendf(b, "\nSitemap: %s/sitemap.xml\n", h.name)
}
