package diff

import (
	"sync"

	"github.com/robotswatch/robotswatch/robots"
)

// Input is one side of a comparison: the text of a robots.txt, parsed once for
// each reading that is asked for. Safe for concurrent use.
type Input struct {
	Text []byte

	mu    sync.Mutex
	files map[robots.Reading]*robots.File
}

// NewInput wraps the bytes of a robots.txt; nil is a site without one.
func NewInput(text []byte) *Input { return &Input{Text: text} }

// File is the input as the given reading parses it; "" is RFC 9309.
func (in *Input) File(r robots.Reading) *robots.File {
	if r == "" {
		r = robots.ReadingRFC9309
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.files[r]
	if f == nil {
		// Whoever has the text has bounded it.
		f = robots.Parse(in.Text, robots.Options{Reading: r, MaxBytes: len(in.Text)})
		if in.files == nil {
			in.files = make(map[robots.Reading]*robots.File, 1)
		}
		in.files[r] = f
	}
	return f
}

// Rules are the effective rules of an agent. They are shared: read only.
func (in *Input) Rules(a Agent) *robots.Rules {
	f := in.File(a.Reading)
	switch {
	case a.Token == Everyone:
		return f.Rules()
	case len(a.Fallbacks) == 0:
		return f.Rules(a.Token)
	}
	return f.Rules(append([]string{a.Token}, a.Fallbacks...)...)
}
