package web

import (
	"slices"
	"testing"

	"github.com/robotswatch/robotswatch/config"
)

// FuzzOrigins: a site is found by the name under which it is configured, and
// by its host alone.
func FuzzOrigins(f *testing.F) {
	for _, seed := range []string{"example.com", "http://[::1]:8080", "bücher.example", "a_b.example", "ab--cd.example", "192.0.2.1", "xn--bcher-kva.example:444"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		origin, err := config.NormalizeOrigin(text)
		if err != nil {
			_, _ = origins(text, "") // does not panic
			return
		}
		got, err := origins(origin, "")
		if err != nil || len(got) != 1 || got[0] != origin {
			t.Errorf("%q is asked for as %q: %v", origin, got, err)
		}
		got, err = origins(displayHost(origin), "")
		if err != nil || !slices.Contains(got, origin) {
			t.Errorf("%q is asked for by %q as %q: %v", origin, displayHost(origin), got, err)
		}
	})
}
