//go:build race

package diff

// raced: the race detector is at work, and times mean nothing.
const raced = true
