package evidence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Heads is where the live chains of all sites stood at a moment.
type Heads struct {
	At time.Time
	Of map[string]Mark // by site
}

// SiteHead is where the live chain of a site stood.
type SiteHead struct {
	Site string
	Mark
}

const headsMagic = "robotswatch-heads v1 "

// HeadsWriter writes heads as text: a line that names the moment, then a line
// a site in order of origin, "origin TAB position TAB link". The same chains
// always give the same text, so its SHA-256 is all that has to be published.
type HeadsWriter struct{ w io.Writer }

// NewHeadsWriter begins the text.
func NewHeadsWriter(w io.Writer, at time.Time) (*HeadsWriter, error) {
	_, err := fmt.Fprintf(w, "%s%s\n", headsMagic, at.UTC().Format(time.RFC3339Nano))
	return &HeadsWriter{w}, err
}

// Site writes the next site.
func (h *HeadsWriter) Site(s SiteHead) error {
	_, err := fmt.Fprintf(h.w, "%s\t%d\t%s\n", s.Site, s.Position, s.Link)
	return err
}

// ErrNoHeads is that a file is something else.
var ErrNoHeads = errors.New("this is no list of heads")

// ParseHeads reads what a HeadsWriter wrote.
func ParseHeads(text []byte) (Heads, error) {
	h := Heads{Of: make(map[string]Mark)}
	lines := bufio.NewScanner(bytes.NewReader(text))
	if !lines.Scan() {
		return h, ErrNoHeads
	}
	at, ok := strings.CutPrefix(lines.Text(), headsMagic)
	if !ok {
		return h, ErrNoHeads
	}
	var err error
	if h.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return h, fmt.Errorf("%w: line 1: %w", ErrNoHeads, err)
	}
	for n := 2; lines.Scan(); n++ {
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) != 3 {
			return h, fmt.Errorf("%w: line %d: want site, position and link", ErrNoHeads, n)
		}
		var m Mark
		if m.Position, err = strconv.ParseInt(cells[1], 10, 64); err == nil {
			err = m.Link.UnmarshalText([]byte(cells[2]))
		}
		if err != nil {
			return h, fmt.Errorf("%w: line %d: %w", ErrNoHeads, n, err)
		}
		h.Of[cells[0]] = m
	}
	return h, lines.Err()
}
