//go:build !linux

package store

// freeRoom is not known.
func freeRoom(string) (octets uint64, ok bool) { return 0, false }
