package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Connections to PostgreSQL.
const (
	postgresConns   = 12 // at once, for reading and writing
	postgresIdle    = 4
	postgresConnect = 5 * time.Second
	postgresMaxLife = 30 * time.Minute
	// A server that vanished answers nothing and refuses nothing. What was sent
	// to it must be received within postgresSilence, and a connection that rests
	// is probed as often as makes the same time.
	postgresSilence = 20 * time.Second
	postgresProbes  = 4
)

func (s *Store) openPostgres(ctx context.Context, rawURL string) error {
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		// The parser's message quotes the URL; its redaction is kept by pgx.
		return fmt.Errorf("parse URL: %w", err)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = postgresConnect
	}
	cfg.DialFunc = postgresDialer(cfg.ConnectTimeout).DialContext
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "robotswatch"
	}
	if s.opts.ReadOnly {
		cfg.RuntimeParams["default_transaction_read_only"] = "on"
	}
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresIdle)
	db.SetConnMaxLifetime(postgresMaxLife)
	s.onClose(db.Close)
	s.d, s.begin, s.durably, s.reader = postgresDialect, "BEGIN", "BEGIN", db
	s.steadily = "BEGIN ISOLATION LEVEL REPEATABLE READ"
	s.view = s.steadily + " READ ONLY"
	s.writer = func(ctx context.Context) (*Tx, func(), error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		return &Tx{conn: conn, d: s.d}, func() { conn.Close() }, nil
	}
	return s.patiently(ctx, func() error {
		if err := s.migrate(ctx, db); err != nil {
			return err
		}
		return s.compareClocks(ctx)
	})
}

// postgresDialer makes connections that notice when the other end is gone.
func postgresDialer(timeout time.Duration) *net.Dialer {
	probe := postgresSilence / postgresProbes
	return &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probe, Interval: probe, Count: postgresProbes - 1},
		Control:         limitSilence,
	}
}

// discard makes the pool forget a connection whose transaction could not be
// rolled back.
func (tx *Tx) discard() {
	_ = tx.conn.Raw(func(any) error { return driver.ErrBadConn })
}
