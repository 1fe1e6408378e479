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
