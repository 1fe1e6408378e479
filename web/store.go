package web

import (
	"context"
	"iter"
	"time"

	"github.com/robotswatch/robotswatch/notify"
	"github.com/robotswatch/robotswatch/watcher"
)

// Store is what pages and API read. Whatever is asked for by name and is not
// there is watcher.ErrNotFound; lists are empty then. Values may be shared:
// they are only read.
type Store interface {
	SiteStore
	CountStore
	ChangeStore
	HistoryStore
	ExpectationStore
	NameStore
}

// NameStore tells which names mean something.
type NameStore interface {
	HasTag(ctx context.Context, tag string) (bool, error)
	// HasAgent reports whether an agent, in any case, is watched or is in a
	// change.
	HasAgent(ctx context.Context, token string) (bool, error)
}

// SiteStore reads sites as they stand.
type SiteStore interface {
	SiteByOrigin(ctx context.Context, origin string) (watcher.Site, error)
	// SitePage is a page of up to f.Limit sites, by origin. It may be short,
	// or empty, and not the last: the work for a page is bounded.
	SitePage(ctx context.Context, f watcher.SiteFilter) (watcher.SitePage, error)
	// AccessSince tells for sites, by their ID, when access of an agent last
	// changed; those where it never did are left out.
	AccessSince(ctx context.Context, sites []int64, agent string) (map[int64]time.Time, error)
	// FirstSeen tells for sites, by their ID, when it was first read what they
	// want.
	FirstSeen(ctx context.Context, sites []int64) (map[int64]time.Time, error)
}

// CountStore counts sites.
type CountStore interface {
	// Standings counts the sites with a tag ("" for all) by what they have in
	// common.
	Standings(ctx context.Context, tag string) ([]watcher.Standing, error)
	// StandingMoves walks how those numbers came about, day by day from one on
	// (zero: the first): each with the number of sites that came, or went where
	// it is negative.
	StandingMoves(ctx context.Context, tag string, from time.Time) iter.Seq2[watcher.StandingMove, error]
	// OverdueUpTo counts sites that no check has finished for since then, and
	// stops at a limit.
	OverdueUpTo(ctx context.Context, since time.Time, limit int) (int, error)
	// AgentsPast gives agents, by lower-case token, that were watched later
	// than others, and the last day for which AgentMoves tells how sites stood
	// to them.
	AgentsPast(ctx context.Context) (map[string]time.Time, error)
	AgentMoves(ctx context.Context, tag string) iter.Seq2[watcher.AgentMove, error]
}

// ChangeStore reads events and what became of them.
type ChangeStore interface {
	ChangeByID(ctx context.Context, id string) (watcher.Change, error)
	// ChangePage is a page of up to f.Limit events, newest first. It may be
	// short, or empty, and not the last: the work for a page is bounded.
	ChangePage(ctx context.Context, f watcher.ChangeFilter) (watcher.ChangePage, error)
	// Owed lists up to limit deliveries that are dead, or pending, oldest
	// first.
	Owed(ctx context.Context, status notify.Status, limit int) ([]notify.Delivery, error)
}

// HistoryStore reads what was seen.
type HistoryStore interface {
	// Body gives the bytes kept under a hash.
	Body(ctx context.Context, h watcher.Hash) ([]byte, error)
	// Observations gives up to limit runs of equal answers of a site that
	// began in [since, until), newest first. Zero bounds and limits are none.
	Observations(ctx context.Context, origin string, since, until time.Time, limit int) ([]watcher.Observation, error)
}

// ExpectationStore keeps what was announced.
type ExpectationStore interface {
	// Expectations lists those of a site ("" all) that have not run out.
	Expectations(ctx context.Context, site string, now time.Time) ([]watcher.Expectation, error)
	Expect(ctx context.Context, e watcher.Expectation) (id int64, err error)
	DropExpectation(ctx context.Context, id int64) error
}
