package watcher

import (
	"context"
	"sync"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

const (
	// recentOctets is how much text of policies stays parsed, twice: those of
	// late and those before them. Parsed it takes some ten times as much, full
	// of pointers that every collection of garbage follows: more costs more
	// than it saves.
	recentOctets = 32 << 10
	// recentLongest is the longest text that stays.
	recentLongest = 16 << 10
)

// policies gives the policies that a look is about, each parsed once: the one
// it found, and earlier ones that the store keeps.
type policies struct {
	recent *parsed
	bodies Bodies
	hash   Hash
	found  *diff.Input // under hash; nil when the look found nothing new
}

// find takes what a look found; nil is nothing new.
func (p *policies) find(h Hash, text []byte) {
	if text == nil {
		return
	}
	p.hash, p.found = h, p.recent.get(h)
	if p.found == nil {
		p.found = diff.NewInput(text)
	}
}

// of gives a policy; the input of nothing for a version without one.
func (p *policies) of(ctx context.Context, v Version) (*diff.Input, error) {
	if v.State != fetch.Policy || v.Body.IsZero() {
		return diff.NewInput(nil), nil
	}
	if p.found != nil && v.Body == p.hash {
		return p.found, nil
	}
	if in := p.recent.get(v.Body); in != nil {
		return in, nil
	}
	text, err := p.bodies.Body(ctx, v.Body)
	if err != nil {
		return nil, err
	}
	in := diff.NewInput(text)
	p.recent.put(v.Body, in)
	return in, nil
}

// parsed remembers policies: when one software gives many sites the
// same file and then another one, that file is read and parsed once. It is two
// generations; what is asked for again moves to the younger one, and when that
// is full the older one goes. Safe for concurrent use.
type parsed struct {
	mu         sync.Mutex
	young, old map[Hash]*diff.Input
	octets     int // of text in young
}

func (r *parsed) get(h Hash) *diff.Input {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := r.young[h]
	if in == nil {
		if in = r.old[h]; in != nil {
			r.add(h, in)
		}
	}
	return in
}

func (r *parsed) put(h Hash, in *diff.Input) {
	if len(in.Text) > recentLongest {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(h, in)
}

func (r *parsed) add(h Hash, in *diff.Input) {
	if r.young == nil || r.octets+len(in.Text) > recentOctets {
		r.young, r.old, r.octets = make(map[Hash]*diff.Input), r.young, 0
	}
	if _, ok := r.young[h]; !ok {
		r.octets += len(in.Text)
	}
	r.young[h] = in
}
