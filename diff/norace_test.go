//go:build !race

package diff

const raced = false
