package config

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurations(t *testing.T) {
	tests := map[string]time.Duration{
		"0": 0, "30s": 30 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "7d": 7 * day, "0d": 0,
		"1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "72h": 3 * day, "-1s": -time.Second, "250ms": 250 * time.Millisecond, "36500d": mostDays * day,
	}
	for s, want := range tests {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "d", "7", "seven days", "7 d", "1d-1h", "1e9d", "Infd", "NaNd", "1h1d", "7dd", "36501d", "9999999d"} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

func TestDurationsComeBackAsTheyAreShown(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 6 * time.Hour: "6h", 90 * time.Minute: "1h30m", 7 * day: "7d", 36 * time.Hour: "1d12h", 10 * time.Minute: "10m",
		time.Hour + time.Second: "1h0m1s", 3 * time.Second / 2: "1.5s",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v is shown as %q, want %q", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "d"))
		if got, err := ParseDuration(formatDuration(d)); err != nil || got != d {
			t.Fatalf("%v is shown as %q and read as %v, %v", d, formatDuration(d), got, err)
		}
	})
}

func TestSizesComeBackAsTheyAreShown(t *testing.T) {
	for s, want := range map[string]int64{"500KiB": 512000, "1MiB": 1 << 20, "1MB": 1000000, "2GiB": 2 << 30, "600000": 600000} {
		if got, err := parseSize(s); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", s, got, err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<40).Draw(t, "n") << rapid.IntRange(0, 10).Draw(t, "shift")
		if got, err := parseSize(formatSize(n)); err != nil || got != n {
			t.Fatalf("%d is shown as %q and read as %d, %v", n, formatSize(n), got, err)
		}
	})
}

func TestMaxBytesAtItsEdges(t *testing.T) {
	for _, value := range []string{`"500KiB"`, `512000`, `"64MiB"`} {
		parse(t, "[fetch]\nmax_bytes = "+value)
	}
	for _, value := range []string{`"499KiB"`, `511999`, `"65MiB"`} {
		problems(t, "[fetch]\nmax_bytes = "+value)
	}
}

func TestStringsAreQuotedAsTOMLReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(rapid.String().Draw(t, "s"), "")
		root, problems := parseDocument([]byte("x = " + quote(s)))
		if len(problems) > 0 || root.get("x").value.text != s {
			t.Fatalf("%q became %s: %v", s, quote(s), problems)
		}
	})
}
