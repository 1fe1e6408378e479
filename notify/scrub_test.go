package notify

import (
	"net/url"
	"testing"
)

// A piece of a service URL may be part of another one: nothing of either may
// be left.
func TestScrubLeavesNothingOfASecret(t *testing.T) {
	const raw = "matrix://bots:botspassword@bots.example/?token=bots.example.token"
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	s := service{secret: secretsOf(u, raw)}
	for _, secret := range []string{raw, "botspassword", "bots.example.token"} {
		if got := s.scrub("said no to " + secret); got != "said no to ********" {
			t.Errorf("%s is shown as %q", secret, got)
		}
	}
}
