package robots

import (
	"encoding/json"
	"testing"

	"github.com/robotswatch/robotswatch/internal/realdata"
)

func TestRFC9309_conformanceCases(t *testing.T) {
	var cases []struct {
		ID      string `json:"id"`
		Robots  []byte `json:"robots_base64"`
		Agent   string `json:"agent"`
		URL     string `json:"url"`
		Allowed bool   `json:"allowed"`
		Note    string `json:"note"`
	}
	if err := json.NewDecoder(realdata.Open(t, "cases", "conformance.json")).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 61 {
		t.Fatalf("%d cases, want at least 61", len(cases))
	}
	for _, c := range cases {
		got := Parse(c.Robots, Options{}).Rules(c.Agent).Decide(c.URL)
		if got.Allowed != c.Allowed {
			t.Errorf("%s (%s): %s on %s: allowed %v, want %v", c.ID, c.Note, c.Agent, c.URL, got.Allowed, c.Allowed)
		}
	}
}
