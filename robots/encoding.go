package robots

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// text is the readable part of a file.
type text struct {
	body    string
	mark    string // byte order mark that was skipped, as a warning names it
	utf16   bool
	limited bool // something beyond the limit was dropped
}

// readText applies the size limit, skips a byte order mark and decodes UTF-16
// (only where the mark announces it). A line that the limit cuts is dropped
// whole: half a path would be another rule.
func readText(b []byte, limit int, forgiveUTF16 bool) text {
	var t text
	complete := true // the last line ends where the limit is
	if len(b) > limit {
		t.limited = true
		if forgiveUTF16 && utf16Order(b) != nil {
			limit &^= 1
		}
		complete = isLineEnd(b[limit:], utf16Order(b))
		b = b[:limit]
	}
	if order := utf16Order(b); order != nil && forgiveUTF16 {
		t.utf16 = true
		t.body = decodeUTF16(b[2:], order)
	} else {
		n := markLength(b)
		switch n {
		case 0:
		case len(byteOrderMark):
			t.mark = "a byte order mark"
		default:
			t.mark = "a part of a byte order mark"
		}
		t.body = string(b[n:])
	}
	if t.limited && !complete {
		t.body = t.body[:strings.LastIndexAny(t.body, "\r\n")+1]
	}
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
