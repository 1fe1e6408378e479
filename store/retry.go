package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Backoff between attempts of a write that meets a passing fault.
const (
	backoffMin = 20 * time.Millisecond
	backoffMax = 2 * time.Second
	// patience is how long a write waits for a fault to pass before it says
	// so; who can wait longer calls again.
	patience = 15 * time.Second
)

// patiently runs attempt until it meets no passing fault, ctx ends, or
// patience does.
func (s *Store) patiently(ctx context.Context, attempt func() error) error {
	began := time.Now()
	wait := backoffMin
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		if s.opts.OnError != nil && ctx.Err() == nil {
			s.opts.OnError(err)
		}
		if !Transient(err) || time.Since(began) > patience {
			return err
		}
		pause := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-pause.C:
		}
		wait = min(2*wait, backoffMax)
	}
}

// Transient reports whether an error is a fault that may pass by itself: a
// lost or refused connection, a deadlock, a lock held by another process, a
// full disk.
func Transient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if se := (*sqlite.Error)(nil); errors.As(err, &se) {
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
			return true
		}
		return false
	}
	if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) {
		return transientCode(pe.Code)
	}
	if ce := (*pgconn.ConnectError)(nil); errors.As(err, &ce) {
		return true // with a PgError inside it was answered above
	}
	var ne net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &ne) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed")
}

// diskFull reports whether SQLite found no room.
func diskFull(err error) bool {
	se := (*sqlite.Error)(nil)
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_FULL
}

// transientCode judges an SQLSTATE (PostgreSQL manual, appendix A).
func transientCode(code string) bool {
	switch code {
	case "40001", // serialization_failure
		"40P01", // deadlock_detected
		"55P03", // lock_not_available
		"57P01", // admin_shutdown
		"57P02", // crash_shutdown
		"57P03", // cannot_connect_now
		"57P05", // idle_session_timeout
		"25P03", // idle_in_transaction_session_timeout
		"53100", // disk_full
		"53300": // too_many_connections
		return true
	}
	return strings.HasPrefix(code, "08") // connection exceptions
}
