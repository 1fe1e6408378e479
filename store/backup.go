package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// Backup writes what the store holds at one moment into a new SQLite file,
// while daemons work. It is there whole or not at all, and was compared with
// what was read. A SQLite store is copied page by page in one go, so that its
// log grows for seconds only. PostgreSQL is read row by row from one snapshot;
// for very large stores its own tools are the better way.
func (s *Store) Backup(ctx context.Context, path string, progress Progress) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("backup: %s is there already", path)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".backup-")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer os.RemoveAll(dir)
	tmp := filepath.Join(dir, "store.db")
	if s.d.name == sqliteDialect.name {
		err = s.backupPages(ctx, tmp)
	} else {
		err = s.backupRows(ctx, tmp, progress)
	}
	if err == nil {
		err = seal(ctx, tmp)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// backupPages uses SQLite's own backup, all pages in one step.
func (s *Store) backupPages(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	conn, err := s.reader.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driverConn any) error {
		source, ok := driverConn.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("unexpected connection %T", driverConn)
		}
		b, err := source.NewBackup(path)
		if err != nil {
			return err
		}
		more, err := b.Step(-1)
		if err == nil && more {
			err = errors.New("pages are left over")
		}
		return errors.Join(err, b.Finish())
	})
}

// backupRows copies the rows of one snapshot.
func (s *Store) backupRows(ctx context.Context, path string, progress Progress) (err error) {
	if have, err := s.schemaVersion(ctx, s.reader); err != nil || have != s.schema {
		return errors.Join(err, errors.New("the store has an older schema: back it up with pg_dump"))
	}
	to, err := Open(ctx, "sqlite:"+path, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return s.atOneMoment(ctx, func(q Queryer) error {
		if err := to.beginCopy(ctx); err != nil {
			return err
		}
		return copyAll(ctx, q, to, progress)
	})
}

// seal makes a SQLite file stand alone, without a log, and checks it.
func seal(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", "file:"+filePath(path)+"?_busy_timeout=1000&_pragma=journal_mode(DELETE)&mode=rw")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, verdict)
	}
	return nil
}
