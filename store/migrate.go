package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrationLock is the advisory lock that lets one process migrate at a time;
// with SQLite it is the lock of the directory.
const migrationLock = 7_626_843_722

// versionTable is where goose notes what was applied.
const versionTable = goose.DefaultTablename

// migrate brings the schema forward over db, or only checks it where the
// store is read.
func (s *Store) migrate(ctx context.Context, db *sql.DB) error {
	p, err := s.provider(db)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	s.schema = sources[len(sources)-1].Version
	have, err := s.schemaVersion(ctx, db)
	if err != nil {
		return err
	}
	switch {
	case have > s.schema:
		return fmt.Errorf("%w: its schema is version %d, this one knows up to %d", ErrNewerSchema, have, s.schema)
	case have == s.schema:
		return nil
	case s.opts.ReadOnly && have == 0:
		return ErrNoStore
	case s.opts.ReadOnly && s.opts.AnySchema:
		return nil
	case s.opts.ReadOnly:
		return ErrOlderSchema
	}
	if s.d.name == sqliteDialect.name {
		release, err := lockDir(ctx, filepath.Dir(s.lockPath))
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		defer release()
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

func (s *Store) provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	opts := []goose.ProviderOption{goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(repack(s.d))}
	if s.d.name == postgresDialect.name {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 300)) // looks each second
		if err != nil {
			return nil, err
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(s.d.goose, db, inDialect{files, s.d}, opts...)
}

// schemaVersion is the newest migration that was applied; 0 for none.
func (s *Store) schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var tables int
	if err := db.QueryRowContext(ctx, s.d.hasTable, versionTable).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versionTable).Scan(&version)
	return version, err
}

// inDialect shows files with the words of a dialect filled in.
type inDialect struct {
	fs.FS
	d dialect
}

func (f inDialect) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(f.FS, name)
	if err != nil {
		return nil, err
	}
	return openText{strings.NewReader(f.d.words.Replace(string(text))), info}, nil
}

// openText is an open file whose content is in memory.
type openText struct {
	*strings.Reader
	info fs.FileInfo
}

func (f openText) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f openText) Close() error               { return nil }

// Schema is the version of the schema that this binary works with.
func (s *Store) Schema() int64 { return s.schema }
