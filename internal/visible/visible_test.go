package visible

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain /path":      "plain /path",
		"münchen /日本":      "münchen /日本",
		"a\nb\x1b[31m":     `a\x0ab\x1b[31m`,
		"\xff":             `\xff`,
		"x\u202egnp.exe":   `x\u{202e}gnp.exe`,
		"zero\u200bwidth":  `zero\u{200b}width`,
		"no\u00a0break":    `no\u{a0}break`,
		"hangul\u3164fill": `hangul\u{3164}fill`,
		"":                 "",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShortKeepsWithinItsLimitAndCutsNoEscape(t *testing.T) {
	for _, tc := range []struct {
		in   string
		max  int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"ab\ncd", 6, `ab…`},
		{"ab\ncd", 8, `ab\x0acd`},
		{"ab\n", 6, `ab\x0a`},
	} {
		if got := Short(tc.in, tc.max); got != tc.want {
			t.Errorf("Short(%q, %d) = %q, want %q", tc.in, tc.max, got, tc.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, max := rapid.String().Draw(t, "s"), rapid.IntRange(1, 40).Draw(t, "max")
		if got := Short(s, max); utf8.RuneCountInString(got) > max {
			t.Fatalf("Short(%q, %d) = %q is longer", s, max, got)
		}
	})
}

func TestCellIsNoFormula(t *testing.T) {
	for in, want := range map[string]string{
		`=HYPERLINK("https://evil.example")`: `'=HYPERLINK("https://evil.example")`,
		"+1":                                 "'+1",
		"-1":                                 "'-1",
		"@SUM(A1)":                           "'@SUM(A1)",
		"\t=1":                               `\x09=1`,
		"|calc":                              "'|calc",
		"/a=b":                               "/a=b",
		"":                                   "",
	} {
		if got := Cell(in); got != want {
			t.Errorf("Cell(%q) = %q, want %q", in, got, want)
		}
	}
}
