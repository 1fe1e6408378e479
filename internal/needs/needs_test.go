package needs

import (
	"fmt"
	"testing"
)

// told stands in for a test, and remembers how it ended.
type told struct {
	testing.TB
	how string
}

func (t *told) Helper()                      {}
func (t *told) Fatalf(f string, args ...any) { t.how = "failed: " + fmt.Sprintf(f, args...); panic(t) }
func (t *told) Skipf(f string, args ...any) {
	t.how = "passed over: " + fmt.Sprintf(f, args...)
	panic(t)
}

func TestWhatIsLackingFailsOnlyWhereAllIsThere(t *testing.T) {
	for ci, want := range map[string]string{
		"":     "passed over: no-such-program is not installed",
		"true": "failed: no-such-program is not installed",
	} {
		t.Setenv("CI", ci)
		got := &told{TB: t}
		func() {
			defer func() { _ = recover() }() // as a test ends
			Program(got, "no-such-program")
		}()
		if got.how != want {
			t.Errorf("CI=%q: %s, want %s", ci, got.how, want)
		}
	}
}
