//go:build !race

// Nothing runs at once here: the race detector would only make it long.

package robots

import (
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
)

// The corpus as a whole keeps what the fuzz target checks.
func TestParse_corpus(t *testing.T) {
	for name, body := range realdata.Archive(t, "robots-2024.tar.xz") {
		if len(body) > 20_000 {
			continue // the oracle is quadratic
		}
		t.Run(name, func(t *testing.T) {
			checkFile(t, body, "/some/path/index.html?a=b", len(body)/2, ReadingRFC9309)
			checkFile(t, body, "/some/path/index.html?a=b", len(body)/2, ReadingGoogle)
		})
	}
}
