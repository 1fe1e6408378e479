package watcher

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound is what stores answer for a site, body or change they lack.
var ErrNotFound = errors.New("not found")

// Lease is the right to look at a site once, until it runs out.
type Lease struct {
	Site  Site
	Token int64 // fences off a result that comes too late
}

// Result of one look, ready to be recorded.
type Result struct {
	Lease       Lease
	Site        Site         // as it will be
	Observation *Observation // nil when the last one goes on: the answer is the same
	Body        []byte       // of a new policy; nil when the store has it already
	Changes     []Routed
}

// Routed is a change with the receivers that want it.
type Routed struct {
	Change    Change
	Receivers []string
	GroupKey  string // changes with an equal key say the same of different sites
}

// Store is what the daemon needs of storage.
type Store interface {
	// Claim leases up to n due sites, oldest due first. A site is leased to
	// one caller at a time; a lease that runs out is due again. A site whose
	// next check lies more than MaxGap ahead is due too: the clock was set
	// back since it was planned.
	Claim(ctx context.Context, now time.Time, n int, lease time.Duration) ([]Lease, error)
	// ClaimSites leases the active sites among origins, due or not, except
	// those that are leased to somebody else just now.
	ClaimSites(ctx context.Context, now time.Time, origins []string, lease time.Duration) ([]Lease, error)
	// Record writes results in one transaction: sites, observations, bodies,
	// changes and deliveries, all or nothing. Results whose lease was lost are
	// dropped and counted.
	Record(ctx context.Context, results []Result) (lost int, err error)
	// Release hands leases back unused: due again at once.
	Release(ctx context.Context, leases []Lease) error
	// SetBack moves all planned checks, leases and deliveries to earlier, since
	// the clock of this machine was set back by that much. A store whose own clock
	// decides what is due has nothing to do.
	SetBack(ctx context.Context, by time.Duration) error
	// LastLook is when the latest look at any site finished, to about a second;
	// the zero time when there was none, or where SetBack has nothing to do.
	LastLook(ctx context.Context) (time.Time, error)
	// Body gives the bytes kept under a hash, or ErrNotFound.
	Body(ctx context.Context, h Hash) ([]byte, error)
}

// Router says who wants a change. It is pure and called in the path of a
// check.
type Router interface {
	Route(c Change) (receivers []string, groupKey string)
}
