package diff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTextRebuildsBothSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"", "a", "b", "Disallow: /é", "\x00"})
		old, new := rapid.SliceOf(line).Draw(t, "old"), rapid.SliceOf(line).Draw(t, "new")
		var left, right []string
		for _, l := range Text([]byte(strings.Join(old, "\r\n")+"\n"), []byte(strings.Join(new, "\n"))) {
			if l.Kind != LineAdded {
				left = append(left, l.Text)
				if l.Old != len(left) {
					t.Fatalf("old line %d is called %d", len(left), l.Old)
				}
			}
			if l.Kind != LineRemoved {
				right = append(right, l.Text)
				if l.New != len(right) {
					t.Fatalf("new line %d is called %d", len(right), l.New)
				}
			}
		}
		if want := lines([]byte(strings.Join(old, "\n") + "\n")); !slices.Equal(left, want) {
			t.Fatalf("old side is %q, want %q", left, want)
		}
		if want := lines([]byte(strings.Join(new, "\n"))); !slices.Equal(right, want) {
			t.Fatalf("new side is %q, want %q", right, want)
		}
	})
}

func TestUnified(t *testing.T) {
	before := "a\nb\nc\nd\ne\nf\ng\nh\n"
	after := "a\nB\nc\nd\ne\nf\ng\nh\ni\n"
	want := `@@ -1,3 +1,3 @@
 a
-b
+B
 c
@@ -8,1 +8,2 @@
 h
+i
`
	if got := Unified(Text([]byte(before), []byte(after)), 1); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := Unified(Text(nil, []byte("a\n")), 3); got != "@@ -0,0 +1,1 @@\n+a\n" {
		t.Errorf("new file:\n%s", got)
	}
	if got := Unified(Text([]byte(before), []byte(before)), 3); got != "" {
		t.Errorf("equal files:\n%s", got)
	}
}

// Two long files without a common line are shown whole, in time.
func TestTextIsBounded(t *testing.T) {
	old := strings.Repeat("old\nolder\n", 50_000)
	new := strings.Repeat("new\nnewer\n", 50_000)
	n := CountText([]byte(old), []byte(new))
	if n != (TextStat{Added: 100_000, Removed: 100_000}) {
		t.Errorf("got %+v", n)
	}
}
