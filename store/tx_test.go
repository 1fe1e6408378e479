package store

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// SQLite's one writing connection must stay usable whatever moment a caller
// chooses to give up.
func TestAWriteCalledOffAtAnyMomentLeavesNoTransactionOpen(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "s.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	nothing := func(*Tx) error { return nil }
	for i := range 2000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.N(60))*time.Microsecond)
		_ = s.Write(ctx, nothing) // may succeed or not
		cancel()
		if err := s.Write(t.Context(), nothing); err != nil {
			t.Fatalf("the write after %d that were called off: %v", i+1, err)
		}
	}
}

// Rows that are left open hold the connection, and then Close waits for ever.
func TestABatchCalledOffAtAnyMomentLetsGoOfTheConnection(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "s.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	batch := make([][]any, 100)
	for i := range batch {
		batch[i] = []any{i}
	}
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(rand.N(1000))*time.Microsecond, cancel)
		_ = s.Write(ctx, func(tx *Tx) error {
			return tx.QueryMany(ctx, "SELECT $1", batch, func(_ int, scan Scan) error {
				var n int
				return scan(&n)
			})
		})
		cancel()
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the store cannot be closed any more")
	}
}
