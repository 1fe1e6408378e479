package diff

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// LineKind of a line of a text diff.
type LineKind byte

const (
	LineSame    LineKind = ' '
	LineAdded   LineKind = '+'
	LineRemoved LineKind = '-'
)

// TextLine is a line of a text diff, for display only.
type TextLine struct {
	Kind LineKind
	Old  int // line number in the old text, 0 when added
	New  int // line number in the new text, 0 when removed
	Text string
}

// maxTextCells bounds the work of Text: lines that differ in one text times
// those in the other. Beyond it they are shown as all removed, all added.
const maxTextCells = 4_000_000

// Text compares line by line (for people; meaning is Files' business). Lines
// end with LF, CRLF or CR; which of them is no difference.
func Text(before, after []byte) []TextLine {
	old, new := lines(before), lines(after)
	list := make([]TextLine, 0, max(len(old), len(new)))
	same := func(i, j int) { list = append(list, TextLine{LineSame, i + 1, j + 1, new[j]}) }
	removed := func(i int) { list = append(list, TextLine{LineRemoved, i + 1, 0, old[i]}) }
	added := func(j int) { list = append(list, TextLine{LineAdded, 0, j + 1, new[j]}) }

	start, endOld, endNew := 0, len(old), len(new)
	for start < endOld && start < endNew && old[start] == new[start] {
		same(start, start)
		start++
	}
	for endOld > start && endNew > start && old[endOld-1] == new[endNew-1] {
		endOld--
		endNew--
	}
	i, j := start, start
	if (endOld-start)*(endNew-start) <= maxTextCells {
		index := make(map[string]rune)
		a, b := encode(old[start:endOld], index), encode(new[start:endNew], index)
		dmp := diffmatchpatch.New()
		dmp.DiffTimeout = 0 // the same answer on every machine
		for _, d := range dmp.DiffMainRunes(a, b, false) {
			for range utf8.RuneCountInString(d.Text) {
				switch d.Type {
				case diffmatchpatch.DiffEqual:
					same(i, j)
					i++
					j++
				case diffmatchpatch.DiffDelete:
					removed(i)
					i++
				case diffmatchpatch.DiffInsert:
					added(j)
					j++
				}
			}
		}
	}
	for ; i < endOld; i++ {
		removed(i)
	}
	for ; j < endNew; j++ {
		added(j)
	}
	for ; i < len(old); i++ {
		same(i, j)
		j++
	}
	return list
}

func lines(text []byte) []string {
	s := strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n")
	s = strings.TrimSuffix(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// encode gives each distinct line a rune of its own, surrogates left out.
func encode(list []string, index map[string]rune) []rune {
	out := make([]rune, len(list))
	for i, line := range list {
		r, known := index[line]
		if !known {
			r = rune(len(index) + 1)
			if r >= 0xD800 {
				r += 0x800
			}
			index[line] = r
		}
		out[i] = r
	}
	return out
}

// CountText counts the lines that Text shows as added and as removed.
func CountText(before, after []byte) (n TextStat) {
	for _, l := range Text(before, after) {
		switch l.Kind {
		case LineAdded:
			n.Added++
		case LineRemoved:
			n.Removed++
		}
	}
	return n
}

// Unified renders lines as a unified diff with n lines of context.
func Unified(list []TextLine, n int) string {
	var b strings.Builder
	for start := 0; start < len(list); {
		first := slices.IndexFunc(list[start:], func(l TextLine) bool { return l.Kind != LineSame })
		if first < 0 {
			break
		}
		first += start
		// A hunk ends where more than 2n equal lines follow a change.
		last := first
		for k := first; k < len(list) && k-last <= 2*n+1; k++ {
			if list[k].Kind != LineSame {
				last = k
			}
		}
		from, to := max(start, first-n), min(len(list), last+n+1)
		hunk(&b, list, from, to)
		start = to
	}
	return b.String()
}

func hunk(b *strings.Builder, list []TextLine, from, to int) {
	oldStart, newStart, oldCount, newCount := 0, 0, 0, 0
	for _, l := range list[:from] {
		if l.Old > 0 {
			oldStart = l.Old
		}
		if l.New > 0 {
			newStart = l.New
		}
	}
	for _, l := range list[from:to] {
		oldCount += btoi(l.Old > 0)
		newCount += btoi(l.New > 0)
	}
	// As diff -u has it: an empty range names the line before it.
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldStart+btoi(oldCount > 0), oldCount, newStart+btoi(newCount > 0), newCount)
	for _, l := range list[from:to] {
		fmt.Fprintf(b, "%c%s\n", l.Kind, l.Text)
	}
}
