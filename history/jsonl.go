package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
)

// JSONL reads files of JSON lines, plain or packed with gzip or zstd: one
// capture a line,
//
//	{"site":"https://example.com","time":"2024-05-01T12:00:00Z","status":200,
//	 "error":"","headers":{"Server":"nginx"},"body_base64":"VXNlci1hZ2VudDog…"}
//
// status is 0, with error, when nothing was answered. A success without
// body_base64 says in error why there is none.
func JSONL(names []string, stdin io.Reader) (Source, error) {
	return findFiles(names, stdin, readJSONL, ".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".ndjson.gz", ".ndjson.zst")
}

// maxLine is how long a line can be: a body of a few MiB in base64.
const maxLine = 16 << 20

type jsonLine struct {
	Site    string     `json:"site"`
	Time    *time.Time `json:"time"`
	Status  *int       `json:"status"`
	Error   string     `json:"error"`
	Headers headers    `json:"headers"`
	Body    *[]byte    `json:"body_base64"`
}

func readJSONL(ctx context.Context, name string, r *bufio.Reader, emit func(Capture) error, bad func(Bad)) error {
	r, release, err := unpacked(r)
	if err != nil {
		return err
	}
	defer release()
	var line []byte
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var long bool
		line, long, err = readLine(r, line[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return &brokenError{err}
		}
		ended := err != nil
		where := fmt.Sprintf("%s:%d", name, n)
		if long {
			bad(Bad{where, fmt.Sprintf("the line is longer than %d octets", maxLine)})
		} else if text := bytes.TrimSpace(line); len(text) > 0 {
			c, err := parseLine(text)
			if err != nil {
				bad(Bad{where, err.Error()})
			} else {
				c.Where = where
				if err := emit(c); err != nil {
					return err
				}
			}
		}
		if ended {
			return nil
		}
	}
}

func parseLine(text []byte) (Capture, error) {
	var l jsonLine
	if err := json.Unmarshal(text, &l); err != nil {
		return Capture{}, fmt.Errorf("not a JSON object as it should be: %w", err)
	}
	switch {
	case l.Site == "":
		return Capture{}, errors.New(`"site" is missing`)
	case l.Time == nil:
		return Capture{}, errors.New(`"time" is missing`)
	case l.Status == nil:
		return Capture{}, errors.New(`"status" is missing; it is 0 when nothing was answered`)
	case *l.Status == 0 && l.Error == "":
		return Capture{}, errors.New(`"status" is 0 and "error" does not say why`)
	}
	c := Capture{Capture: fetch.Capture{Origin: l.Site, At: *l.Time, Status: *l.Status, Error: l.Error, Header: http.Header(l.Headers)}}
	if l.Body != nil {
		c.Body = *l.Body
		if c.Body == nil {
			c.Body = []byte{}
		}
	}
	return c, nil
}

// headers in the forms in which people write them: an object of strings or of
// lists, or a list of {"name","value"}.
type headers http.Header

// UnmarshalJSON implements json.Unmarshaler.
func (h *headers) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		var list []fetch.Header
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		*h = headers{}
		for _, x := range list {
			http.Header(*h).Add(x.Name, x.Value)
		}
		return nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(text, &m); err != nil || m == nil {
		return err
	}
	*h = make(headers, len(m))
	for name, raw := range m {
		var values []string
		if !bytes.HasPrefix(raw, []byte("[")) {
			values = make([]string, 1)
			if err := json.Unmarshal(raw, &values[0]); err != nil {
				return err
			}
		} else if err := json.Unmarshal(raw, &values); err != nil {
			return err
		}
		for _, v := range values {
			http.Header(*h).Add(name, v)
		}
	}
	return nil
}

// readLine appends the next line to buf, without more of one that is too long
// than that. With the last line comes io.EOF.
func readLine(r *bufio.Reader, buf []byte) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(buf)+len(part) <= maxLine {
			buf = append(buf, part...)
		} else {
			long = true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, long, err
		}
	}
}
