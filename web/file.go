package web

import (
	"bytes"
	"strings"

	"github.com/robotswatch/robotswatch/diff"
)

const (
	// fileLines and fileBytes are how much of a file one page shows.
	fileLines = 600
	fileBytes = 60 << 10
	// diffLines is how many lines of a text diff one page shows, diffContext
	// how many unchanged ones stand round each change.
	diffLines   = 400
	diffContext = 3
)

// fileView is a robots.txt with line numbers, remarks in place.
type fileView struct {
	Intro   string
	Remarks []string // about the file as a whole
	Lines   []fileLine
	Rest    int    // lines not shown
	Raw     string // address of the whole file
}

type fileLine struct {
	No      int
	Text    string
	Hit     bool // the line that decides
	Remarks []string
}

// showFile numbers the lines as the parser does: they end with LF, CRLF or CR.
func showFile(text []byte, remarks map[int][]string, hit int, raw string) *fileView {
	v := &fileView{Raw: raw, Remarks: remarks[0]}
	octets := 0
	for no := 1; len(text) > 0; no++ {
		var line []byte
		line, text = cutLine(text)
		if no > fileLines || octets > fileBytes {
			v.Rest++
			continue
		}
		l := fileLine{No: no, Text: shownLine(string(line)), Hit: no == hit, Remarks: remarks[no]}
		octets += len(l.Text)
		v.Lines = append(v.Lines, l)
	}
	return v
}

func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 {
		return text, nil
	}
	end := i + 1
	if text[i] == '\r' && end < len(text) && text[end] == '\n' {
		end++
	}
	return text[:i], text[end:]
}

// diffView is a text diff with unchanged stretches left out.
type diffView struct {
	Lines []diffLine
	Rest  int
}

type diffLine struct {
	Gap         bool
	Class, Sign string
	Old, New    int
	Text        string
}

func showDiff(lines []diff.TextLine) diffView {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.Kind == diff.LineSame {
			continue
		}
		for j := max(0, i-diffContext); j <= min(len(lines)-1, i+diffContext); j++ {
			near[j] = true
		}
	}
	var v diffView
	gap := false
	for i, l := range lines {
		if !near[i] {
			gap = true
			continue
		}
		if len(v.Lines) >= diffLines {
			v.Rest++
			continue
		}
		if gap {
			v.Lines = append(v.Lines, diffLine{Gap: true})
			gap = false
		}
		d := diffLine{Class: "same", Old: l.Old, New: l.New, Text: shownLine(strings.TrimRight(l.Text, "\r\n"))}
		switch l.Kind {
		case diff.LineAdded:
			d.Class, d.Sign = "added", "+"
		case diff.LineRemoved:
			d.Class, d.Sign = "removed", "−"
		}
		v.Lines = append(v.Lines, d)
	}
	if gap && len(v.Lines) > 0 && v.Rest == 0 {
		v.Lines = append(v.Lines, diffLine{Gap: true})
	}
	return v
}
