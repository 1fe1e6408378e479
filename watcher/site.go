package watcher

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

// Hash is the SHA-256 of a body; its zero value is "no body".
type Hash [32]byte

// IsZero reports whether there is no body.
func (h Hash) IsZero() bool { return h == Hash{} }

// String is lower-case hex, "" for no body.
func (h Hash) String() string {
	if h.IsZero() {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// MarshalText is String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*h = Hash{}
		return nil
	}
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d hexadecimal digits, not %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// SiteConfig is a site as the configuration wants it.
type SiteConfig struct {
	Origin   string // normalised: scheme://host or scheme://host:port
	Tags     []string
	Schedule string   // "" is the default schedule
	Agents   []string // tokens or groups; empty is the default watch list
}

// Site is one origin as stored: what is known of it, and what the state
// machine needs to remember.
type Site struct {
	ID     int64
	Origin string
	Config SiteConfig
	Left   bool // it left the configuration: what is known of it stays, and is looked at no more

	State      fetch.State  // confirmed
	Reason     fetch.Reason // of the last answer
	StateSince time.Time    // when the first answer of this state was seen

	// The last confirmed readable answer, which access events compare with.
	Readable   fetch.State // Policy, Absent, or "" when there was none
	Body       Hash        // of the last good policy; zero when Readable is not Policy
	ReadableAt time.Time   // when that answer was last seen: its age is now minus this
	Profile    []AgentAccess
	Signals    []string // what the policy states about use, see Statement

	LastCheckAt  time.Time // last finished look
	LastChangeAt time.Time // last recorded change other than cosmetic
	NextCheckAt  time.Time

	Memory   Memory
	Expected []Expectation // not expired; read only
}

// Unstable reports that what the site answers goes back and forth: that was
// told, and it has not settled since.
func (s Site) Unstable() bool { return s.Memory.Flap.unstable() }

// AgentAccess is the access that the last readable answer gives one watched
// agent. What holds now, with the state taken into account, is Effective.
type AgentAccess struct {
	Agent string `json:"agent"`
	diff.Access
}

// Memory is what only the state machine and the fetcher need: stored as one
// opaque JSON value, so that it may grow without a migration.
type Memory struct {
	ETag       string    `json:"etag,omitempty"`
	Modified   string    `json:"modified,omitempty"`
	FullGetAt  time.Time `json:"full_get_at,omitzero"`
	RetryAfter time.Time `json:"retry_after,omitzero"` // the server asked not to be visited before
	Address    string    `json:"address,omitempty"`    // IP address that answered last
	Watch      string    `json:"watch,omitempty"`      // fingerprint of the agents that Profile is about

	Last      Answer `json:"last,omitzero"`       // what the last look found
	Good      Answer `json:"good,omitzero"`       // what the last look that found a policy found
	Tentative bool   `json:"tentative,omitempty"` // State is a first answer that is not confirmed yet
	Doubt     *Doubt `json:"doubt,omitempty"`
	Flap      Flap   `json:"flap,omitzero"`
}

// Expectation is an announced change that shall not alert.
type Expectation struct {
	ID    int64
	Site  string
	Agent string // token, "" any
	Until time.Time
	Note  string
}

// Observation is a run of equal answers of one site: a fact. The store
// extends the open one while answers stay equal.
type Observation struct {
	At        time.Time // of the first answer
	LastAt    time.Time // of the last answer; for the open one the site's LastCheckAt
	State     fetch.State
	Reason    fetch.Reason
	Detail    string
	Status    int
	FinalURL  string
	Body      Hash
	Bytes     int64
	Truncated bool
	Evidence  Evidence
	Backfill  bool
	Looks     int // of a backfilled run: captures that it is made of; 0: not counted
}

// Evidence is what else the server sent, kept as one JSON value.
type Evidence struct {
	Vendor     string         `json:"vendor,omitempty"`
	Address    string         `json:"address,omitempty"`
	TLSSubject string         `json:"tls_subject,omitempty"`
	Headers    []fetch.Header `json:"headers,omitempty"`
}
