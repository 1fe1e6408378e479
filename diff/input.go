package diff

import (
	"sync"

	"github.com/robotswatch/robotswatch/robots"
)

// Input is one side of a comparison: the text of a robots.txt, parsed once for
// each reading that is asked for, with the rules of each agent looked up once.
// Safe for concurrent use.
type Input struct {
	Text []byte

	mu    sync.Mutex
	files map[robots.Reading]*robots.File
	rules map[asker]*robots.Rules
}

// asker is an agent as far as its rules depend on it.
type asker struct {
	token     string
	reading   robots.Reading
	fallbacks *string // the first of them
	others    int     // how many there are
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
	return in.file(r)
}

func (in *Input) file(r robots.Reading) *robots.File {
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
	if a.Reading == "" {
		a.Reading = robots.ReadingRFC9309
	}
	who := asker{a.Token, a.Reading, nil, len(a.Fallbacks)}
	if len(a.Fallbacks) > 0 {
		who.fallbacks = &a.Fallbacks[0]
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	r := in.rules[who]
	if r == nil {
		r = rulesIn(in.file(a.Reading), a)
		if in.rules == nil {
			in.rules = make(map[asker]*robots.Rules)
		}
		in.rules[who] = r
	}
	return r
}

func rulesIn(f *robots.File, a Agent) *robots.Rules {
	switch {
	case a.Token == Everyone:
		return f.Rules()
	case len(a.Fallbacks) == 0:
		return f.Rules(a.Token)
	}
	return f.Rules(append([]string{a.Token}, a.Fallbacks...)...)
}
