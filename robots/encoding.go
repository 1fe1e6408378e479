package robots

import (
	"encoding/binary"
	"unicode/utf16"
)

// Cut gives what of a file is read within a limit in octets: all of it, or the
// lines that end within the limit, then more is true. A line that the limit
// cuts is left out whole, since half a path would be another rule (2.5).
func Cut(b []byte, limit int) (whole []byte, more bool) {
	if len(b) <= limit {
		return b, false
	}
	limit = max(limit, 0)
	order := utf16Order(b)
	width := 1
	if order != nil {
		width = 2
		limit &^= 1
	}
	end := limit
	for end > 0 && !isLineEnd(b[end:], order) && !isLineEnd(b[end-width:], order) {
		end -= width
	}
	return b[:end], true
}

// text is the readable part of a file.
type text struct {
	body  string
	mark  string // byte order mark that was skipped, as a warning names it
	utf16 bool
}

// readText skips a byte order mark and decodes UTF-16 (only where the mark
// announces it).
func readText(b []byte, forgiveUTF16 bool) text {
	if order := utf16Order(b); order != nil && forgiveUTF16 {
		return text{body: decodeUTF16(b[2:], order), utf16: true}
	}
	var t text
	n := markLength(b)
	switch n {
	case 0:
	case len(byteOrderMark):
		t.mark = "a byte order mark"
	default:
		t.mark = "a part of a byte order mark"
	}
	t.body = string(b[n:])
	return t
}

const byteOrderMark = "\xEF\xBB\xBF"

// markLength is how much of a byte order mark the file starts with.
func markLength(b []byte) int {
	n := 0
	for n < len(byteOrderMark) && n < len(b) && b[n] == byteOrderMark[n] {
		n++
	}
	return n
}

// utf16Order is the byte order that a mark announces, nil without one.
func utf16Order(b []byte) binary.ByteOrder {
	switch {
	case len(b) >= 2 && b[0] == 0xFF && b[1] == 0xFE:
		return binary.LittleEndian
	case len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF:
		return binary.BigEndian
	}
	return nil
}

// isLineEnd tells whether b starts with an end of line; order is nil for
// octets.
func isLineEnd(b []byte, order binary.ByteOrder) bool {
	if order != nil {
		return len(b) >= 2 && (order.Uint16(b) == '\n' || order.Uint16(b) == '\r')
	}
	return len(b) > 0 && (b[0] == '\n' || b[0] == '\r')
}

func decodeUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}
