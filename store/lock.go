package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// lockFile takes a file as a sign that this process is the daemon of a store.
// The lock ends with the process, however that ends; the file stays and says
// who held it last. The error names who holds it.
func lockFile(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, fmt.Errorf("%w: %s", ErrInUse, strings.TrimSpace(string(holder)))
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	who := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), writeAll(f, who)); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f.Close, nil
}

// lockedFile reports ErrAtWork while a process holds the lock of lockFile.
func lockedFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there never was a daemon
	}
	if err != nil {
		return err
	}
	defer f.Close() // and with it the lock
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrAtWork
	case err != nil:
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// lockPoll is how often lockDir tries.
const lockPoll = 20 * time.Millisecond

// lockDir waits until no other process holds this lock of a directory. It
// leaves no file behind and ends with the process.
func lockDir(ctx context.Context, path string) (release func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-tick.C:
		}
	}
}

func writeAll(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// Keys of advisory locks; all of ours begin with the same digits.
const (
	lockSync = 7_626_843_001
)

// lockCluster waits until this process is the only one of all daemons that
// holds a lock. Within SQLite there is one daemon and nothing to do.
func (s *Store) lockCluster(ctx context.Context, key int64) (unlock func(), err error) {
	if s.d.name != postgresDialect.name {
		return func() {}, nil
	}
	conn, err := s.reader.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", key); err != nil {
		conn.Close()
		return nil, err
	}
	return func() {
		// Ending the session ends the lock, whatever state the connection is in.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		conn.Close()
	}, nil
}
