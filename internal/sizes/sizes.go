// Package sizes says how much a test does: little under the race detector,
// enough in every run, and as much as an environment variable asks for in a
// campaign.
package sizes

import (
	"os"
	"strconv"
	"testing"
)

// Of is how many things a test does: usual, fewer under -short, or the number
// in the environment variable when it is set. A value that is no number above
// zero fails the test.
func Of(t testing.TB, env string, usual, short int) int {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return Pick(usual, short)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a number above zero", env, text)
	}
	return n
}

// Pick is usual, or short under -short.
func Pick[T any](usual, short T) T {
	if testing.Short() {
		return short
	}
	return usual
}
