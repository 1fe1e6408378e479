package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/config"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// nothing is a store of bodies without one.
type nothing struct{}

func (nothing) Body(context.Context, watcher.Hash) ([]byte, error) { return nil, watcher.ErrNotFound }

// FuzzJSONL takes the input for a file of JSON lines.
func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		`{"site":"https://example.com","time":"2024-05-01T12:00:00Z","status":200,"headers":{"Server":"nginx"},"body_base64":"VXNlci1hZ2VudDogKgpEaXNhbGxvdzogLwo="}` + "\n" +
			`{"site":"example.com","time":"2024-05-08T12:00:00Z","status":0,"error":"dns_not_found"}` + "\n" +
			`{"site":"https://example.com:443/","time":"2024-05-15T12:00:00+02:00","status":200,"error":"html_response_error"}`,
		`{"site":"http://[::1]:8080","time":"2024-05-01T12:00:00.123456Z","status":301,"headers":[{"name":"Location","value":"/x"}],"error":"redirect_loop"}`,
		`{"site":"x.example","time":"2024-05-01T12:00:00Z","status":200,"headers":{"Content-Encoding":["gzip","br"]},"body_base64":"H4sIAAAAAAAAAw=="}`,
		"\n\n{}\nnull\n[]\n{\"site\":1}\n", "\x1f\x8b\x08", "\x28\xb5\x2f\xfd\x00",
	} {
		f.Add([]byte(seed))
	}
	fuzz(f, JSONL)
}

// FuzzWARC takes the input for a web archive.
func FuzzWARC(f *testing.F) {
	for _, name := range []string{"response", "revisit"} {
		record := "WARC/1.0\r\nWARC-Type: " + name + "\r\nWARC-Target-URI: https://example.com/robots.txt\r\nWARC-Date: 2024-05-01T12:00:00Z\r\n" +
			"WARC-Payload-Digest: sha1:AAAA\r\nWARC-IP-Address: 192.0.2.1\r\nWARC-Truncated: length\r\nContent-Length: 76\r\n\r\n" +
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\nUser-agent: *\nDisallow: /a\r\n0\r\n\r\n\r\n\r\n"
		f.Add([]byte(record + record))
		var packed bytes.Buffer
		for _, part := range []string{record, record} {
			z := gzip.NewWriter(&packed)
			_, _ = z.Write([]byte(part)) // never fails
			_ = z.Close()
		}
		f.Add(packed.Bytes())
	}
	f.Add([]byte("WARC/1.1\nWARC-Type: response\nWARC-Target-URI: <http://a.example:81/robots.txt>\n folded\nWARC-Date: 2024-05-01T12:00:00Z\nContent-Length: 9999\n\nHTTP/1.0 404\n\n"))
	f.Add([]byte("WARC/1.0\r\nContent-Length: -1\r\n\r\nrubbish\r\nWARC/1.0\r\nContent-Length: 0\r\n\r\n\x1f\x8b\x08\x00"))
	fuzz(f, WARC)
}

func fuzz(f *testing.F, open func([]string, io.Reader) (Source, error)) {
	catalogue, err := agents.Load()
	if err != nil {
		f.Fatal(err)
	}
	judge, err := watcher.NewJudge(watcher.Settings{Confirm: watcher.Confirm{Failures: 2, Interval: 5 * time.Minute},
		Schedule: "@every 6h", Watch: []string{"GPTBot", "Googlebot"}, Catalogue: catalogue})
	if err != nil {
		f.Fatal(err)
	}
	captures := fetch.NewCaptures(64 << 10)
	f.Fuzz(func(t *testing.T, data []byte) {
		source, err := open([]string{Stdin}, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		var looks []look
		in := lookReader{texts: map[string]string{}, bodies: map[watcher.Hash][]byte{}}
		r := run{Options: Options{Origin: config.NormalizeOrigin, Progress: func(Progress) {}, Bad: func(b Bad) { checkShown(t, b) }},
			spill: &spill{files: make([]*os.File, 1), writers: []*bufio.Writer{bufio.NewWriter(io.Discard)}, written: map[bodyIn]struct{}{}},
			sum:   &Summary{}, captures: captures, origins: map[string]string{}}
		err = source.Read(t.Context(), func(c Capture) error {
			before := r.spill.looks
			if err := r.take(c); err != nil || r.spill.looks == before {
				return err
			}
			looks = append(looks, readBack(t, &in, r.spill.buf))
			return nil
		}, r.bad, func(int) {})
		if err != nil {
			t.Fatalf("no input is to end a reading: %v", err)
		}
		for _, site := range bySite(looks) {
			checkDerived(t, judge, site)
		}
	})
}

func checkShown(t *testing.T, b Bad) {
	t.Helper()
	text := b.String()
	if b.Where == "" || b.What == "" || len(text) > 2000 || !utf8.ValidString(text) || slices.ContainsFunc([]rune(text), unicode.IsControl) {
		t.Errorf("%.3000q cannot be printed", text)
	}
}

// readBack gives a look as it comes back from the disk.
func readBack(t *testing.T, in *lookReader, spilled []byte) look {
	t.Helper()
	bodies := len(in.bodies)
	l, err := in.look(spilled)
	if err != nil {
		t.Fatal(err)
	}
	l.out.Body = in.bodies[l.hash]
	if again := l.append(nil, len(in.bodies) > bodies); !bytes.Equal(again, spilled) {
		t.Errorf("spilled as %q, read back as %q", spilled, again)
	}
	return l
}

// checkDerived: from whatever order, the same facts give the same record.
func checkDerived(t *testing.T, judge *watcher.Judge, site siteLooks) {
	t.Helper()
	d := deriver{judge: judge, bodies: nothing{}, gap: DefaultGap}
	derive := func(looks []look) (*Rewrite, string) {
		w, _, err := d.derive(t.Context(), Past{Config: watcher.SiteConfig{Origin: site.site}}, bySite(looks)[0].looks)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		return w, string(text)
	}
	turned := slices.Clone(site.looks)
	slices.Reverse(turned)
	w, one := derive(slices.Clone(site.looks))
	if _, other := derive(turned); one != other {
		t.Errorf("in one order\n%s\nin the other\n%s", one, other)
	}
	if w == nil {
		return
	}
	for i, r := range w.Runs {
		if r.LastAt.Before(r.At) || i > 0 && !r.At.After(w.Runs[i-1].LastAt) {
			t.Errorf("run %d from %s to %s", i, r.At, r.LastAt)
		}
	}
	for _, c := range w.Changes {
		if !c.Backfilled {
			t.Errorf("a change that is not marked: %+v", c)
		}
	}
}
