package watcher_test

import (
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/internal/realdata"
)

// captured is one line of histories.jsonl: an answer that held until the next.
type captured struct {
	Site   string    `json:"site"`
	Time   time.Time `json:"time"`
	Status int       `json:"status"`
	Error  string    `json:"error"`
	Body   *[]byte   `json:"body_base64"`
}

func (c captured) outcome(at time.Time) fetch.Outcome {
	out := fetch.Outcome{At: at, Status: c.Status, Reason: fetch.Reason(c.Error), FinalURL: c.Site + "/robots.txt"}
	switch s := c.Status; {
	case s >= 200 && s <= 299 && c.Body != nil:
		out.State, out.Body = fetch.Policy, *c.Body
	case s >= 200 && s <= 299:
		out.State = fetch.NotRobots
	case s == 401 || s == 403:
		out.State = fetch.Denied
	case s >= 400 && s <= 499 && s != 429:
		out.State = fetch.Absent
	default:
		out.State = fetch.Unreachable
	}
	return out
}

func readHistories(t *testing.T) (origins []string, lines map[string][]captured) {
	t.Helper()
	lines = map[string][]captured{}
	dec := json.NewDecoder(realdata.Open(t, "corpus", "histories.jsonl.xz"))
	for {
		var c captured
		err := dec.Decode(&c)
		if errors.Is(err, io.EOF) {
			return origins, lines
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines[c.Site] == nil {
			origins = append(origins, c.Site)
		}
		lines[c.Site] = append(lines[c.Site], c)
	}
}
