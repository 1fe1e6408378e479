package watcher

import (
	"context"

	"github.com/robotswatch/robotswatch/fetch"
)

// Replay plays what a site answered, oldest first, through the judge: the
// way that archives take, and that stored observations take when they are
// read again. One answer is one look, so a state that needs confirmation
// needs as many answers in a row as it needs looks; nothing is assumed of the
// time between them. Changes and observations are marked as backfilled.
//
// It keeps the few versions in memory that a next answer can be compared
// with, and needs no store.
type Replay struct {
	judge  *Judge
	site   Site
	bodies replayBodies
}

// NewReplay begins with a site that was never looked at.
func NewReplay(j *Judge, c SiteConfig) *Replay {
	return &Replay{
		judge:  j,
		site:   Site{Origin: c.Origin, Config: c, State: fetch.Pending},
		bodies: replayBodies{},
	}
}

// Site as the answers so far leave it.
func (r *Replay) Site() Site { return r.site }

// Next judges the next answer.
func (r *Replay) Next(ctx context.Context, out fetch.Outcome) (Verdict, error) {
	v, err := r.judge.Judge(ctx, r.site, out, r.bodies)
	if err != nil {
		return Verdict{}, err
	}
	r.site = v.Site
	if v.Body != nil {
		r.bodies[v.Site.Body] = v.Body
	}
	r.bodies.keep(v.Site)
	if v.Observation != nil {
		v.Observation.Backfill = true
	}
	for i := range v.Changes {
		v.Changes[i].Backfilled = true
	}
	return v, nil
}

// replayBodies are the versions of one site.
type replayBodies map[Hash][]byte

// Body implements Bodies.
func (b replayBodies) Body(_ context.Context, h Hash) ([]byte, error) {
	if text, ok := b[h]; ok {
		return text, nil
	}
	return nil, ErrNotFound
}

// keep forgets what no next answer can be compared with.
func (b replayBodies) keep(s Site) {
	for h := range b {
		if h != s.Body && h != s.Memory.Flap.Last.Body && h != s.Memory.Flap.Told.Body {
			delete(b, h)
		}
	}
}
