package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/robotswatch/robotswatch/watcher"
)

// Options of Open. The zero value opens for a command that may write beside
// a running daemon.
type Options struct {
	// ReadOnly opens for reading: the store must exist and is not migrated.
	ReadOnly bool
	// AnySchema, with ReadOnly, opens also a store that must be migrated first;
	// nothing but Backup can be relied on.
	AnySchema bool
	// Daemon makes a SQLite file belong to this process until Close: a second
	// daemon is refused with ErrInUse. PostgreSQL takes any number, and knows
	// until Close that this one is at work.
	Daemon bool
	// CallerClock makes leases and due times go by the now that callers pass,
	// as they always do on SQLite. Without it PostgreSQL's own clock decides,
	// so that a machine with a wrong clock does no harm. For simulations.
	CallerClock bool
	// Effective says what holds now for the agents watched on a site. nil: the
	// profile of the last readable answer, whatever the state.
	Effective func(site watcher.Site) []watcher.AgentAccess
	// OnError is told of every failed attempt to write, or to read for a look; nil: nobody.
	OnError func(error)
}

// Store is SQLite or PostgreSQL.
type Store struct {
	d        dialect
	schema   int64 // the newest migration that this binary knows
	opts     Options
	skew     skew
	reader   *sql.DB
	begin    string
	durably  string // begins what is on the disk once it is committed
	steadily string // begins what sees one moment, and writes
	view     string // begins what sees one moment, and only reads
	writer   func(ctx context.Context) (tx *Tx, release func(), err error)
	closers  []func() error // last made, first closed
	lockPath string         // of the file that a daemon locks; "" where many share the store
	presence presence       // of this daemon, where many share the store
	lastLook atomic.Int64   // Unix milliseconds, as noted in the store; 0: not yet
	sets     *interner[[]string]
	profiles *interner[profile]
	decoded  *decoded
	names    names
	effort   effort // for a page of sites
}

var (
	// ErrInUse is that another daemon has the SQLite file.
	ErrInUse = errors.New("the store is in use by another daemon")
	// ErrNewerSchema is that a newer robotswatch has written the store.
	ErrNewerSchema = errors.New("the store was written by a newer robotswatch")
	// ErrOlderSchema is that the store must be migrated before it is read.
	ErrOlderSchema = errors.New("the store must be migrated first: run robotswatch store migrate")
	// ErrNoStore is that there is no store under the URL yet.
	ErrNoStore = errors.New("no store yet")
)

// Open opens the store under a URL, sqlite:PATH or postgres://…, creates it
// when it is not there, and migrates it forward, unless it is opened
// ReadOnly. A store with a newer schema is refused.
func Open(ctx context.Context, rawURL string, opts Options) (_ *Store, err error) {
	s := &Store{opts: opts, sets: newSets(), effort: usualEffort()}
	s.profiles, s.decoded = newProfiles(s.sets), newDecoded()
	if s.opts.Effective == nil {
		s.opts.Effective = func(site watcher.Site) []watcher.AgentAccess { return site.Profile }
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	switch {
	case strings.HasPrefix(rawURL, "sqlite:"):
		err = s.openSQLite(ctx, strings.TrimPrefix(rawURL, "sqlite:"))
	case strings.HasPrefix(rawURL, "postgres://"), strings.HasPrefix(rawURL, "postgresql://"):
		err = s.openPostgres(ctx, rawURL)
	default:
		err = errors.New("want sqlite:PATH or postgres://USER@HOST/DATABASE")
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", Redact(rawURL), err)
	}
	if opts.Daemon {
		if err := s.finished(ctx); err != nil {
			return nil, fmt.Errorf("store %s: %w", Redact(rawURL), err)
		}
	}
	if opts.Daemon && s.lockPath == "" {
		if err := s.bePresent(ctx); err != nil {
			return nil, fmt.Errorf("store %s: %w", Redact(rawURL), err)
		}
	}
	return s, nil
}

// Redact hides the password of a store URL.
func Redact(rawURL string) string {
	if !strings.HasPrefix(rawURL, "postgres") {
		return rawURL
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return "postgres://…"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// onClose registers what Close shall undo.
func (s *Store) onClose(f func() error) { s.closers = append(s.closers, f) }

// Close ends all connections.
func (s *Store) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// Ping reports whether the store answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.QueryRow(ctx, "SELECT 1").Scan(&one)
}

// Dialect is "sqlite" or "postgres".
func (s *Store) Dialect() string { return s.d.name }

// Query reads outside of any transaction; the caller closes the rows soon.
func (s *Store) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.reader.QueryContext(ctx, s.d.sql(query), args...)
}

// QueryRow reads one row outside of any transaction.
func (s *Store) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return s.reader.QueryRowContext(ctx, s.d.sql(query), args...)
}

// clock is the argument for COALESCE(CAST($n AS BIGINT), {{now}}): now itself
// where the callers' clock decides, NULL where the database's does.
func (s *Store) clock(now time.Time) any {
	if s.d.name == postgresDialect.name && !s.opts.CallerClock {
		return nil
	}
	return toMillis(now)
}

// toMillis is a time as it is stored; the zero time is 0.
func toMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// fromMillis is the inverse of toMillis, in UTC.
func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
