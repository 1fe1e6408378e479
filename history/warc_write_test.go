package history_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
	"github.com/robotswatch/robotswatch/store"
	"github.com/robotswatch/robotswatch/watcher"
)

// seen brings into a store what a site can answer, live and from an archive:
// every state, long runs, the same bytes again, another address.
func seen(t *testing.T) *store.Store {
	t.Helper()
	s := newStore(t)
	lines := []line{policy(example, t0, open), policy(example, t0.Add(week), open)}
	for i := range 4 {
		lines = append(lines, failed(example, t0.Add(time.Duration(2+i)*week), 503, "http_503"))
	}
	lines = append(lines, policy(example, t0.Add(6*week), open), policy(example, t0.Add(7*week), closed), policy(example, t0.Add(30*week), ""))
	for i := range 4 {
		lines = append(lines, failed(example, t0.Add(time.Duration(31+i)*week), 0, "dns"), failed("https://gone.example", t0.Add(time.Duration(i)*week), 404, ""),
			failed("https://page.example", t0.Add(time.Duration(i)*week), 200, "html"), failed("https://door.example", t0.Add(time.Duration(i)*week), 403, "challenge"),
			failed("https://loop.example", t0.Add(time.Duration(i)*week), 302, "redirect_loop"))
	}
	backfill(t, s, append(lines, policy(example, t0.Add(36*week), closed))...)

	live := "https://live.example"
	if _, err := s.SyncSites(t.Context(), t0, one(watcher.SiteConfig{Origin: live}), func(string, string) time.Time { return t0 }); err != nil {
		t.Fatal(err)
	}
	at := t0
	look := func(n int, every time.Duration, out fetch.Outcome) {
		for range n {
			leases, err := s.ClaimSites(t.Context(), at, []string{live}, time.Minute)
			if err != nil || len(leases) != 1 {
				t.Fatal(leases, err)
			}
			out.At = at
			v, err := newJudge(t).Judge(t.Context(), leases[0].Site, out, s)
			if err != nil {
				t.Fatal(err)
			}
			r := watcher.Result{Lease: leases[0], Site: v.Site, Observation: v.Observation, Body: v.Body}
			for _, c := range v.Changes {
				r.Changes = append(r.Changes, watcher.Routed{Change: c})
			}
			if _, err := s.Record(t.Context(), []watcher.Result{r}); err != nil {
				t.Fatal(err)
			}
			at = at.Add(every)
		}
	}
	file := func(body, url string) fetch.Outcome {
		return fetch.Outcome{State: fetch.Policy, Status: 200, FinalURL: url, Body: []byte(body), Bytes: int64(len(body)),
			Headers: []fetch.Header{{Name: "Content-Type", Value: "text/plain"}, {Name: "Content-Encoding", Value: "gzip"}}}
	}
	look(400, 6*time.Hour, file(open, live+"/robots.txt")) // a hundred days
	look(3, 5*time.Minute, fetch.Outcome{State: fetch.Unreachable, Reason: "timeout", Detail: "after 30 s"})
	look(3, 6*time.Hour, file(open, "https://www.live.example/robots.txt"))
	look(3, 6*time.Hour, file(closed, "https://www.live.example/robots.txt"))
	look(3, 5*time.Minute, fetch.Outcome{State: fetch.Unreachable, Reason: "redirect_private", Status: 301, FinalURL: live + "/robots.txt"})
	cut := file(open, live+"/robots.txt")
	cut.Truncated = true
	look(2, 6*time.Hour, cut)
	return s
}

func export(t *testing.T, s *store.Store, packed bool) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := history.NewWARCWriter(&buf, packed, "robotswatch test", t0, s, newJudge(t).Settings().Confirm)
	if err != nil {
		t.Fatal(err)
	}
	for h, err := range s.WalkHistories(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Runs {
			if err := w.Run(context.Background(), h.Site.Origin, &h.Runs[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return buf.Bytes()
}

// What is exported and read back gives the same runs, policies and changes.
func TestAnExportedArchiveGivesTheSameHistory(t *testing.T) {
	from := seen(t)
	for name, packed := range map[string]bool{"seen.warc": false, "seen.warc.gz": true} {
		to := newStore(t)
		sum := readWARC(t, options(t, to), export(t, from, packed), name)
		if sum.Bad != 0 || sum.Unresolved != 0 || sum.Redirects != 0 {
			t.Fatalf("%+v", sum)
		}
		for _, site := range []string{example, "https://gone.example", "https://page.example", "https://door.example", "https://loop.example", "https://live.example"} {
			a, b := told(knownOf(t, from, site)), told(knownOf(t, to, site))
			if a == "" || a != b {
				t.Errorf("%s of %s was\n%s\nbecame\n%s", site, name, a, b)
			}
		}
		again := readWARC(t, options(t, to), export(t, from, packed), name)
		if again.New != 0 || again.Rewritten != 0 {
			t.Errorf("the second time: %+v", again)
		}
	}
	if !bytes.Equal(export(t, from, true), export(t, from, true)) {
		t.Error("the same runs give other octets")
	}
}

// told is what counts of a history.
func told(k known) string {
	var b strings.Builder
	for _, o := range k.Runs {
		fmt.Fprintln(&b, o.At.UTC(), o.LastAt.UTC(), o.State, o.Reason, o.Status, o.FinalURL, o.Body, o.Truncated)
	}
	for _, c := range k.Changes {
		fmt.Fprintln(&b, c.At.UTC(), c.Kind, c.Severity, c.Summary, c.Cause, c.State.Before, c.State.After, c.BeforeSHA256, c.AfterSHA256)
		for _, a := range c.Agents {
			fmt.Fprintln(&b, " ", a.Agent, a.Direction, a.Before, a.After)
		}
	}
	return b.String()
}

// The records by the letter of ISO 28500, read without our own reader.
func TestExportedRecordsAreValidWARC(t *testing.T) {
	data := export(t, seen(t), true)
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	digestOf := func(b []byte) string {
		sum := sha256.Sum256(b)
		return "sha256:" + strings.TrimRight(base32.StdEncoding.EncodeToString(sum[:]), "=")
	}
	ids, payloads, kinds := map[string]bool{}, map[string]bool{}, map[string]int{}
	r := bufio.NewReader(bytes.NewReader(plain))
	for n := 0; ; n++ {
		version, err := r.ReadString('\n')
		if err == io.EOF {
			break
		}
		if version != "WARC/1.1\r\n" {
			t.Fatalf("record %d begins with %q", n, version)
		}
		h, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			t.Fatal(err)
		}
		size, err := strconv.Atoi(h.Get("Content-Length"))
		if err != nil {
			t.Fatal(err)
		}
		block := make([]byte, size)
		end := make([]byte, 4)
		if _, err := io.ReadFull(r, block); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, end); err != nil || string(end) != "\r\n\r\n" {
			t.Fatalf("record %d ends with %q, %v", n, end, err)
		}
		kind := h.Get("WARC-Type")
		kinds[kind]++
		if ids[h.Get("WARC-Record-ID")] || !strings.HasPrefix(h.Get("WARC-Record-ID"), "<urn:uuid:") {
			t.Errorf("identity %q", h.Get("WARC-Record-ID"))
		}
		ids[h.Get("WARC-Record-ID")] = true
		if h.Get("WARC-Block-Digest") != digestOf(block) {
			t.Errorf("record %d: block digest", n)
		}
		if _, err := time.Parse(time.RFC3339Nano, h.Get("WARC-Date")); err != nil || n > 0 && h.Get("WARC-Target-URI") == "" {
			t.Errorf("record %d: %v", n, h)
		}
		if kind != "response" && kind != "revisit" {
			continue
		}
		answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(block)), nil)
		if err != nil {
			t.Fatalf("record %d: %v\n%s", n, err, block)
		}
		body, _ := io.ReadAll(answer.Body)
		switch payload := h.Get("WARC-Payload-Digest"); {
		case kind == "revisit" && (len(body) > 0 || !payloads[payload] || h.Get("WARC-Profile") == "" || h.Get("WARC-Refers-To-Date") == ""):
			t.Errorf("record %d refers to nothing: %v", n, h)
		case kind == "response" && payload != "" && payload != digestOf(body):
			t.Errorf("record %d: payload digest", n)
		case kind == "response" && payload == "" && h.Get("WARC-Truncated") == "":
			t.Errorf("record %d has no payload and does not say so", n)
		default:
			payloads[payload] = true
		}
	}
	for _, kind := range []string{"warcinfo", "response", "revisit", "metadata"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
	if kinds["warcinfo"] != 1 {
		t.Error(kinds)
	}
}
