package robots

import (
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
)

func TestRFC9309_conformanceCases(t *testing.T) {
	for _, c := range realdata.Conformance(t) {
		got := Parse(c.Robots, Options{}).Rules(c.Agent).Decide(c.URL)
		if got.Allowed != c.Allowed {
			t.Errorf("%s (%s): %s on %s: allowed %v, want %v", c.ID, c.Note, c.Agent, c.URL, got.Allowed, c.Allowed)
		}
	}
}
