package notify

import (
	"context"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// Outbox is what the dispatcher needs of storage. Deliveries get into it in
// the transaction that records their change.
//
// "Sendable" deliveries are pending, due, and not preceded by another of the
// same site and receiver that must come first: one that is not due yet or,
// when a group is asked for, one of another group. That is what keeps the
// order within a site.
type Outbox interface {
	// Sync makes the list the receivers that exist: new ones are remembered,
	// pending deliveries of the others are deleted.
	Sync(ctx context.Context, receivers []string, now time.Time) error
	// Lease makes owner the only one to deliver to a receiver until the given
	// time; ok is false while another owner has it. It gives back the state
	// that the last Settle saved.
	Lease(ctx context.Context, receiver, owner string, now, until time.Time) (s ReceiverState, ok bool, err error)
	// Groups lists up to n groups that have sendable deliveries, oldest first.
	Groups(ctx context.Context, receiver string, now time.Time, n int) ([]Group, error)
	// Count tells how much a selection holds.
	Count(ctx context.Context, sel Selection) (Totals, error)
	// Deliveries gives up to n of a selection, oldest first.
	Deliveries(ctx context.Context, sel Selection, n int) ([]Delivery, error)
	// Settle says what became of a selection and saves the receiver's state.
	Settle(ctx context.Context, sel Selection, s Settlement) error
	// Receipt gives what the receiver gave back for the newest message that
	// told it about a change of state of the site, and when that change was;
	// watcher.ErrNotFound without one.
	Receipt(ctx context.Context, receiver, site string, before int64) (receipt string, change watcher.Change, err error)
	// Alerts gives the alerts of a receiver that go on; those with the keys
	// given, or, without keys, up to n with keys greater than after, in order
	// of keys. Until is set for those whose site is no longer watched.
	Alerts(ctx context.Context, receiver string, keys []string, after string, n int, now time.Time) ([]Alert, error)
	// NextDue is the earliest time later than after at which a pending
	// delivery of a receiver is due; zero when there is none.
	NextDue(ctx context.Context, receiver string, after time.Time) (time.Time, error)
}

// Selection names deliveries of one receiver that are sendable at a time.
// Deliveries that are recorded later are never part of it.
type Selection struct {
	Receiver      string
	GroupKey      string    // "" any group
	ID            int64     // this one only; 0 all
	After         int64     // ids greater than this
	UpTo          int64     // ids up to this; 0 no bound
	Due           time.Time // next_at not after this; zero: due or not
	CreatedBefore time.Time // recorded before; zero: no bound
	TriedBefore   time.Time // first attempt not after this; zero: tried or not
}

// Group is a set of sendable deliveries that say the same of many sites.
type Group struct {
	Key   string
	UpTo  int64     // its newest delivery
	First time.Time // when its oldest delivery was recorded
	Last  time.Time // when its newest was
}

// Totals of a selection.
type Totals struct {
	Deliveries int
	Sites      int
	UpTo       int64
	First      time.Time // recorded
	Last       time.Time // recorded
	Attempts   int       // most attempts of any
}

// Settlement is what became of deliveries.
type Settlement struct {
	Status  Status    // StatusPending: to be tried again at NextAt
	At      time.Time // now
	NextAt  time.Time
	Error   string // of the failed attempt
	Receipt string
	State   ReceiverState
	Alerts  []Alert // that began, or ended when Until is set
}

// ReceiverState is what the dispatcher remembers about a receiver between
// runs; the store keeps it as one opaque JSON value.
type ReceiverState struct {
	FailingSince time.Time `json:"failing_since,omitzero"` // of the first failure since the last success
	HourStart    time.Time `json:"hour_start,omitzero"`    // of the hourly limit's window
	HourSent     int       `json:"hour_sent,omitempty"`
	HourNotice   bool      `json:"hour_notice,omitempty"` // the message that says how many wait was sent
	DigestAt     time.Time `json:"digest_at,omitzero"`    // tick of the last digest
}

// forgetFuture forgets what lies later than now: the clock was set back since,
// and nobody shall wait until it gets there again.
func (s *ReceiverState) forgetFuture(now time.Time) {
	for _, t := range []*time.Time{&s.FailingSince, &s.HourStart, &s.DigestAt} {
		if t.After(now) {
			*t = time.Time{}
		}
	}
}
