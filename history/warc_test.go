package history_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/history"
)

// record is a WARC record as crawlers write them.
func record(version, kind, uri string, at time.Time, block string, fields ...string) string {
	head := fmt.Sprintf("WARC/%s\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:%x>\r\nWARC-Date: %s\r\n", version, kind,
		sha1.Sum([]byte(kind+uri+at.String())), at.UTC().Format(time.RFC3339))
	if uri != "" {
		head += "WARC-Target-URI: " + uri + "\r\n"
	}
	for _, f := range fields {
		head += f + "\r\n"
	}
	return head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
}

func answer(status, body string, fields ...string) string {
	return "HTTP/1.1 " + status + "\r\nServer: nginx\r\nContent-Type: text/plain\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n" + body
}

func digest(body string) string {
	sum := sha1.Sum([]byte(body))
	return "WARC-Payload-Digest: sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

func packed(records ...string) []byte {
	var buf bytes.Buffer
	for _, r := range records {
		z := gzip.NewWriter(&buf)
		_, _ = z.Write([]byte(r))
		_ = z.Close()
	}
	return buf.Bytes()
}

func readWARC(t *testing.T, o history.Options, content []byte, name string) history.Summary {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := history.WARC([]string{filepath.Dir(path)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := history.Run(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func crawl() []string {
	uri := example + "/robots.txt"
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(closed), closed)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte(open))
	_ = w.Close()
	return []string{
		record("1.0", "warcinfo", "", t0, "software: a crawler\r\n"),
		record("1.0", "request", uri, t0, "GET /robots.txt HTTP/1.1\r\n\r\n"),
		record("1.0", "response", uri, t0, answer("200 OK", open), digest(open), "WARC-IP-Address: 192.0.2.7"),
		record("1.0", "metadata", uri, t0, "fetchTimeMs: 7\r\n"),
		record("1.1", "response", example+"/", t0, answer("200 OK", "<html>")),
		record("1.1", "revisit", uri, t0.Add(week), answer("200 OK", ""), digest(open), "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
		record("1.0", "response", "<"+uri+">", t0.Add(2*week), answer("200 OK", chunks, "Transfer-Encoding: chunked"), digest(closed)),
		record("1.1", "response", uri, t0.Add(3*week), answer("503 Service Unavailable", "later")),
		record("1.1", "response", uri, t0.Add(4*week), answer("200 OK", z.String(), "Content-Encoding: gzip"), digest("packed")),
		record("1.1", "response", uri, t0.Add(5*week), answer("301 Moved Permanently", "", "Location: https://www.example.com/robots.txt")),
		record("1.1", "revisit", uri, t0.Add(6*week), "", digest("never seen")),
		record("1.1", "response", uri, t0.Add(7*week), answer("200 OK", open[:20]), "WARC-Truncated: disconnect"),
	}
}

func TestWARC(t *testing.T) {
	want := []fetch.State{fetch.Policy, fetch.Policy, fetch.Unreachable, fetch.Policy, fetch.Unreachable}
	for name, content := range map[string][]byte{
		"plain.warc":      []byte(strings.Join(crawl(), "")),
		"members.warc.gz": packed(crawl()...),
		"whole.warc.gz":   packed(strings.Join(crawl(), "")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			sum := readWARC(t, options(t, s), content, name)
			if sum.Captures != 8 || sum.Redirects != 1 || sum.Unresolved != 1 || sum.New != 6 {
				t.Errorf("%+v", sum)
			}
			k := knownOf(t, s, example)
			var states []fetch.State
			for _, r := range k.Runs {
				states = append(states, r.State)
			}
			if !slices.Equal(states, want) {
				t.Fatalf("states %v, want %v", states, want)
			}
			if k.Runs[0].Looks != 2 || k.Runs[0].Evidence.Address != "192.0.2.7:443" || k.Runs[0].Body != k.Runs[3].Body {
				t.Errorf("the first run: %+v", k.Runs[0])
			}
			if k.Runs[4].Reason != fetch.TruncatedBody {
				t.Errorf("what was cut off: %+v", k.Runs[4])
			}
			if got := kinds(k.Changes); got != "access access" {
				t.Errorf("changes: %s", got)
			}
		})
	}
}

func TestBrokenWARCCostsOnlyWhatIsBroken(t *testing.T) {
	good := func(w int) string {
		return record("1.0", "response", example+"/robots.txt", t0.Add(time.Duration(w)*week), answer("200 OK", open))
	}
	flipped := packed(good(1))
	flipped[len(flipped)/2] ^= 0xff
	for name, content := range map[string][]byte{
		"flipped.warc.gz":     slices.Concat(packed(good(0)), flipped, packed(good(2))),
		"noise.warc.gz":       slices.Concat(packed(good(0)), []byte("noise"), packed(good(2))),
		"nolength.warc.gz":    slices.Concat(packed(good(0)), packed("WARC/1.0\r\nWARC-Type: response\r\n\r\n"), packed(good(2))),
		"notwarc.warc":        []byte(good(0) + "GET / HTTP/1.1\r\n\r\n" + good(2)),
		"baddate.warc":        []byte(good(0) + strings.Replace(good(1), "WARC-Date: 2024", "WARC-Date: MMXX", 1) + good(2)),
		"badstatus.warc":      []byte(good(0) + strings.Replace(good(1), "HTTP/1.1 200 OK", "ICY  /1.1 2x OK", 1) + good(2)),
		"short.warc.gz":       slices.Concat(packed(good(0)), packed(good(2)), packed(good(3))[:150]),
		"short.warc":          []byte(good(0) + good(2) + good(3)[:100]),
		"longlength.warc":     []byte(good(0) + good(2) + strings.Replace(good(1), "Content-Length: ", "Content-Length: 9", 1)),
		"emptymember.warc.gz": slices.Concat(packed(good(0)), packed(""), packed(good(2)), packed("WARC/9.9\r\n")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			o := options(t, s)
			bad := 0
			o.Bad = func(history.Bad) { bad++ }
			sum := readWARC(t, o, content, name)
			k := knownOf(t, s, example)
			if bad == 0 || sum.Bad != int64(bad) || len(k.Runs) != 1 || k.Runs[0].Looks != 2 {
				t.Errorf("%d bad, %+v, runs %+v", bad, sum, k.Runs)
			}
		})
	}
}

func TestDirectoryOfFilesNamedByHostAndDate(t *testing.T) {
	root := t.TempDir()
	for name, body := range map[string]string{
		"example.com/2024-05-01.txt":                        open,
		"2024-05-08/example.com/robots.txt":                 open,
		"example.com_20240515T120000Z.txt":                  closed,
		"http_example.org_8080-2024-05-01.txt":              open,
		"deep/er/www.example.net/20240501120000.robots.txt": open,
		"README.md":                          "what this is",
		"example.com/no-date.txt":            open,
		"2024-13-45/example.com.txt":         open,
		".hidden/example.com/2024-05-01.txt": closed,
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newStore(t)
	o := options(t, s)
	bad := 0
	o.Bad = func(history.Bad) { bad++ }
	source, err := history.Dir(root)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := history.Run(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	if bad != 3 || sum.New != 5 || sum.Sites != 3 {
		t.Errorf("%d bad, %+v", bad, sum)
	}
	k := knownOf(t, s, example)
	if len(k.Runs) != 2 || k.Runs[0].Looks != 2 || k.Runs[1].At.Hour() != 12 || kinds(k.Changes) != "access" {
		t.Errorf("%+v", k)
	}
	for _, site := range []string{"http://example.org:8080", "https://www.example.net"} {
		if k := knownOf(t, s, site); len(k.Runs) != 1 {
			t.Errorf("%s: %d runs", site, len(k.Runs))
		}
	}
}

// What is packed otherwise is said once, with what to do, and read no further.
func TestWhatIsPackedOtherwiseIsNamed(t *testing.T) {
	for head, want := range map[string]string{"\xfd7zXZ\x00": "xz", "BZh91AY&SY": "bzip2", "PK\x03\x04": "zip"} {
		for _, open := range []func([]string, io.Reader) (history.Source, error){history.JSONL, history.WARC} {
			source, err := open([]string{history.Stdin}, strings.NewReader(head+"\n{}\n{}\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = source.Read(t.Context(), func(history.Capture) error { return nil }, func(b history.Bad) { got = append(got, b.String()) }, func(int) {})
			if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "standard input: it is packed with "+want+", ") {
				t.Errorf("%s: %q, %v", want, got, err)
			}
		}
	}
}
