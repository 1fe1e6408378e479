package evidence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// Chain is one of the chains of a site as a store keeps it: what is left of it
// when old records were dropped at its beginning.
type Chain struct {
	Site    string
	Dropped Mark      // the last record that is kept no longer; zero: none is missing
	Until   time.Time // when the answer of that was last seen
	Links   []Link    // in the order of their positions
	Archive bool      // of its links only the last one was kept, as End
	End     Mark
}

// Link is a record of a chain. Its Mark is the one that was kept with it; in an
// archive that is only the position until Breaks finds that the chain holds.
type Link struct {
	Mark
	Run watcher.Observation
}

// Head is where the chain stands.
func (c *Chain) Head() Mark {
	switch n := len(c.Links); {
	case c.Archive:
		return c.End
	case n > 0:
		return c.Links[n-1].Mark
	}
	return c.Dropped
}

// Breaks finds the places at which what is kept is not what was recorded, and
// says of each which record it is. An archive tells only where one is missing
// or too many; any other damage is somewhere in it.
func (c *Chain) Breaks() (list []string) {
	slices.SortStableFunc(c.Links, func(a, b Link) int { return int(a.Position - b.Position) })
	last, until := c.Dropped, c.Until
	for i := range c.Links {
		l := &c.Links[i]
		want := last.Next(until, l.digest(c.Site))
		if c.Archive {
			l.Link = want.Link
		}
		where := "the answer of " + l.Run.At.UTC().Format(time.RFC3339) + ": it is "
		switch {
		case l.Position > want.Position:
			list = append(list, fmt.Sprintf("%srecord %d of its chain, and record %d is missing", where, l.Position, want.Position))
		case l.Position < want.Position:
			list = append(list, fmt.Sprintf("%srecord %d of its chain, and so is another", where, l.Position))
		case l.Link != want.Link:
			list = append(list, fmt.Sprintf("%snot what was recorded as record %d of its chain, or its link was changed, or the end of the one before", where, l.Position))
		}
		last, until = l.Mark, l.Run.LastAt
	}
	switch {
	case !c.Archive || last == c.End:
	case last.Position != c.End.Position:
		list = append(list, fmt.Sprintf("its archive chain has %d records and ends with record %d", c.End.Position, last.Position))
	case len(list) == 0:
		list = append(list, fmt.Sprintf("one of the %d records of its archive chain is not what was recorded, or the chain's end was changed", len(c.Links)))
	}
	return list
}

func (l *Link) digest(site string) watcher.Hash { return Digest(RecordOf(site, &l.Run).Text()) }

// ErrBrokenChain is that a chain does not hold, so that nothing can be proven
// with it.
var ErrBrokenChain = errors.New("what is kept of the site is not what was recorded")

// Prove proves that a run is in the chain; nil when it is not.
func (c *Chain) Prove(at time.Time) (*Proof, error) {
	if breaks := c.Breaks(); len(breaks) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrBrokenChain, breaks[0])
	}
	before, until := c.Dropped, c.Until
	for i := range c.Links {
		l := &c.Links[i]
		if !l.Run.At.Equal(at) {
			before, until = l.Mark, l.Run.LastAt
			continue
		}
		p := &Proof{Kind: Live, Before: before, Until: millis(until), At: l.Mark, After: []Follower{}, Head: c.Head()}
		if l.Run.Backfill {
			p.Kind = Archive
		}
		until = l.Run.LastAt
		for _, next := range c.Links[i+1:] {
			p.After = append(p.After, Follower{millis(until), next.digest(c.Site)})
			until = next.Run.LastAt
		}
		return p, nil
	}
	return nil, nil
}
