//go:build !linux

package diff

import (
	"testing"
	"time"
)

func cpu(_ testing.TB, f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
