package notify

import (
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// Delivery is one change owed to one receiver.
type Delivery struct {
	ID        int64
	Receiver  string
	GroupKey  string
	Status    Status
	Change    watcher.Change
	CreatedAt time.Time
	Attempts  int
	NextAt    time.Time
	LastError string
	Receipt   string // what the receiver gave back when it was sent, e.g. channel and message of Slack
}

// Status of a delivery.
type Status string

const (
	StatusPending Status = "pending"
	StatusSent    Status = "sent"
	StatusDead    Status = "dead"
)
