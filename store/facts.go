package store

import (
	"context"
	"database/sql"
	"errors"
)

// fact reads a small fact; "" when it is not there.
func (s *Store) fact(ctx context.Context, name string) (value string, err error) {
	err = s.QueryRow(ctx, "SELECT value FROM facts WHERE name = $1", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (s *Store) setFact(ctx context.Context, name, value string) error {
	return s.Write(ctx, func(tx *Tx) error { return tx.setFact(ctx, name, value) })
}

func (tx *Tx) setFact(ctx context.Context, name, value string) error {
	_, err := tx.Exec(ctx, `INSERT INTO facts (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}
