package fetch

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"testing"
)

// RFC 9309, 2.5: what lies beyond the limit is dropped, and so is the line
// that the limit cuts, since half a path would be another rule.
func TestDecoders_dropTheLineThatTheLimitCuts(t *testing.T) {
	const body = "User-agent: *\nDisallow: /a\nDisallow: /bcd\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit int64
		want  string
		more  bool
	}{
		{int64(len(body)), body, false},
		{int64(len(body)) - 1, body[:len(body)-1], true},
		{int64(len(body)) - 2, body[:27], true},
		{20, body[:14], true},
		{5, "", true},
	} {
		for coding, raw := range map[string][]byte{"": []byte(body), "gzip": packed.Bytes()} {
			h := http.Header{}
			if coding != "" {
				h.Set("Content-Encoding", coding)
			}
			err := newDecoders().with(h, raw, c.limit, func(d decoded) {
				if string(d.lines) != c.want || d.more != c.more || int64(len(d.data)) > c.limit {
					t.Errorf("limit %d, %q: lines %q more %v, want %q %v", c.limit, coding, d.lines, d.more, c.want, c.more)
				}
			})
			if err != nil {
				t.Errorf("limit %d, %q: %v", c.limit, coding, err)
			}
		}
	}
}
