package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Settings of SQLite.
const (
	sqliteBusyMillis     = 10_000 // wait this long for another process's lock
	sqliteWriterCacheKiB = 16 << 10
	sqliteReaderCacheKiB = 4 << 10
	sqliteReaders        = 6      // connections that read
	sqliteLogPages       = 10_000 // of log before it is folded into the file
	sqliteLogPagesLeast  = 1_000  // of that on a small disk, see logPages
	sqlitePage           = 4096   // octets
)

func (s *Store) openSQLite(ctx context.Context, path string) error {
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return errors.New("want sqlite:PATH with the path of a file")
	}
	s.d = sqliteDialect
	s.begin, s.durably = sqliteBegin("NORMAL"), sqliteBegin("FULL")
	s.steadily, s.view = s.begin, "BEGIN" // one moment each, as all are
	if err := s.makeFile(path); err != nil {
		return err
	}
	// One file has one lock, whichever symbolic links lead to it.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	s.lockPath = path + ".lock"
	if s.opts.Daemon {
		release, err := lockFile(s.lockPath)
		if err != nil {
			return err
		}
		s.onClose(release)
	}
	reader, err := sql.Open("sqlite", sqliteDSN(path, sqliteReaderCacheKiB, true))
	if err != nil {
		return err
	}
	s.reader = reader
	s.onClose(reader.Close)
	reader.SetMaxOpenConns(sqliteReaders)
	reader.SetMaxIdleConns(sqliteReaders)
	if s.opts.ReadOnly {
		s.writer = func(context.Context) (*Tx, func(), error) {
			return nil, nil, errors.New("the store is open for reading only")
		}
		return s.migrate(ctx, reader)
	}
	if err := s.openSQLiteWriter(ctx, path); err != nil {
		return err
	}
	if s.opts.Daemon {
		return s.freeLeases(ctx)
	}
	return nil
}

// sqliteBegin begins to write. What is committed under NORMAL is on the disk
// after the next commit under FULL, or the next checkpoint; until then a power
// failure takes it away, as if it had not been.
func sqliteBegin(synchronous string) string {
	return "PRAGMA synchronous = " + synchronous + "; BEGIN IMMEDIATE"
}

// foldLog writes what the log says into the file, as far as no reader needs it,
// so that the log begins anew in its own place. Where the disk is full that may
// be all the room there is; where it is not enough the next attempt says so.
func (tx *Tx) foldLog(ctx context.Context) {
	_, _ = tx.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
}

// freedAtOnce is how many of the sites that are due the longest freeLeases
// reads: claims take those first, and no daemon holds more.
const freedAtOnce = 20_000

// freeLeases takes back what a daemon that was killed had leased, jobs and
// sites: the file is this daemon's alone, so nobody else can be at it. After a
// long stop all sites are due, and it reads the first of them only; other
// leases run out.
func (s *Store) freeLeases(ctx context.Context) error {
	if _, err := s.exec(ctx, "UPDATE jobs SET lease_until = 0 WHERE lease_until > 0"); err != nil {
		return err
	}
	_, err := s.exec(ctx, `UPDATE sites SET lease_until = 0, lease_token = lease_token + 1 WHERE lease_until > 0 AND id IN
		(SELECT id FROM sites WHERE active = 1 AND next_check_at <= $1 ORDER BY next_check_at LIMIT $2)`, toMillis(time.Now()), freedAtOnce)
	return err
}

// makeFile creates the database for its owner's eyes only; SQLite gives its
// companion files the same mode.
func (s *Store) makeFile(path string) error {
	flag := os.O_RDWR | os.O_CREATE
	if s.opts.ReadOnly {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if s.opts.ReadOnly && errors.Is(err, fs.ErrNotExist) {
		return ErrNoStore
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// openSQLiteWriter makes the one connection that writes, with its statements
// prepared once.
func (s *Store) openSQLiteWriter(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", sqliteDSN(path, sqliteWriterCacheKiB, false))
	if err != nil {
		return err
	}
	s.onClose(db.Close)
	if err := s.migrate(ctx, db); err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	tx := &Tx{conn: conn, d: s.d, stmts: map[string]*statement{}}
	s.onClose(func() error {
		var errs []error
		for _, st := range tx.stmts {
			errs = append(errs, st.Close())
		}
		return errors.Join(append(errs, conn.Close())...)
	})
	turn := make(chan struct{}, 1)
	s.writer = func(ctx context.Context) (*Tx, func(), error) {
		select {
		case turn <- struct{}{}:
			return tx, func() { <-turn }, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	return nil
}

// sqliteDSN has the settings that every connection needs.
func sqliteDSN(path string, cacheKiB int, readOnly bool) string {
	q := url.Values{}
	q.Set("_busy_timeout", strconv.Itoa(sqliteBusyMillis)) // first, before any lock is wanted
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Set("_auto_vacuum", "incremental") // takes effect in a new file only
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(NORMAL)")
		q.Add("_pragma", "foreign_keys(1)")
		q.Add("_pragma", fmt.Sprintf("wal_autocheckpoint(%d)", logPages(path)))
		q.Add("_pragma", "journal_size_limit(67108864)")
	}
	q.Add("_pragma", fmt.Sprintf("cache_size(-%d)", cacheKiB))
	q.Add("_pragma", "temp_store(MEMORY)") // statement journals too: a quarter of a claim's cost on disk
	q.Set("mode", "rw")
	return "file:" + filePath(path) + "?" + q.Encode()
}

// logPages is how long the log may become: an eighth of what is free on the
// disk, within bounds. A log that fills a disk cannot be folded into a file
// that has to grow for it.
func logPages(path string) int {
	if free, ok := freeRoom(path); ok {
		return logPagesIn(free)
	}
	return sqliteLogPages
}

func logPagesIn(free uint64) int {
	return int(min(max(free/8/sqlitePage, sqliteLogPagesLeast), sqliteLogPages))
}

// filePath is a path as a file: URI has it.
func filePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }
