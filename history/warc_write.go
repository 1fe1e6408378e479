package history

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// Fields of our own in the header of a record: what HTTP cannot say of a look.
const (
	fieldState    = "Robotswatch-State"
	fieldReason   = "Robotswatch-Reason"
	fieldDetail   = "Robotswatch-Detail"
	fieldFinalURL = "Robotswatch-Final-Url"
	fieldTime     = "Robotswatch-Time" // "assumed": a look between the first and the last, whose time was not kept
)

// warcStep is how far apart the records of a long run are: an answer that is
// seen again within DefaultGap is known to go on.
const warcStep = 30 * 24 * time.Hour

// WARCWriter writes what was seen as a web archive (ISO 28500, WARC 1.1): a
// response for the first look of each run of answers, revisits or further
// responses for later ones, and metadata where nothing was answered. Reading
// it back gives the same policies and changes. The same runs give the same
// octets.
type WARCWriter struct {
	w       io.Writer
	packed  bool // each record is a gzip member of its own
	bodies  watcher.Bodies
	confirm watcher.Confirm
}

// NewWARCWriter begins an archive with a record that says what wrote it.
func NewWARCWriter(w io.Writer, packed bool, software string, made time.Time, bodies watcher.Bodies, confirm watcher.Confirm) (*WARCWriter, error) {
	out := &WARCWriter{w: w, packed: packed, bodies: bodies, confirm: confirm}
	info := "software: " + software + "\r\nformat: WARC File Format 1.1\r\n" +
		"conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n" +
		"description: robots.txt of sites as robotswatch saw them; headers are those that it keeps, bodies are decoded\r\n"
	return out, out.record("warcinfo", made, "application/warc-fields", nil, []byte(info))
}

// Run writes the looks of a run of answers of a site.
func (w *WARCWriter) Run(ctx context.Context, site string, o *watcher.Observation) error {
	var body []byte
	if !o.Body.IsZero() {
		var err error
		if body, err = w.bodies.Body(ctx, o.Body); err != nil {
			return fmt.Errorf("%s at %s: %w", site, o.At.UTC().Format(time.RFC3339), err)
		}
	}
	fields := runFields(site, o)
	payload := [2]string{"WARC-Payload-Digest", warcDigest(body)}
	for i, at := range w.times(o) {
		f := slices.Clone(fields)
		if i > 0 && !at.Equal(o.LastAt) {
			f = append(f, [2]string{fieldTime, "assumed"})
		}
		var err error
		switch head := httpHeader(o); {
		case o.Status == 0:
			err = w.record("metadata", at, "application/warc-fields", f, []byte("note: nothing was answered\r\n"))
		case o.State != fetch.Policy:
			err = w.record("response", at, "application/http;msgtype=response", append(f, [2]string{"WARC-Truncated", "unspecified"}), head)
		case i == 0:
			if o.Truncated {
				f = append(f, [2]string{"WARC-Truncated", "length"})
			}
			err = w.record("response", at, "application/http;msgtype=response", append(f, payload), append(head, body...))
		default:
			err = w.record("revisit", at, "application/http;msgtype=response", append(f, payload,
				[2]string{"WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"},
				[2]string{"WARC-Refers-To-Target-URI", site + "/robots.txt"},
				[2]string{"WARC-Refers-To-Date", o.At.UTC().Format(warcTime)}), head)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// times of the records of a run: the first and last look, those between them
// that may be needed to confirm it, and some that keep a long run together.
func (w *WARCWriter) times(o *watcher.Observation) []time.Time {
	list := append(o.AssumedLooks(w.confirm), o.LastAt)
	for i := range o.Looks {
		list = append(list, o.Spread(i))
	}
	slices.SortFunc(list, time.Time.Compare)
	var all []time.Time
	for _, t := range list {
		for n := len(all); n > 0 && t.Sub(all[n-1]) > warcStep; n++ {
			all = append(all, all[n-1].Add(warcStep))
		}
		if n := len(all); n == 0 || !all[n-1].Equal(t) {
			all = append(all, t)
		}
	}
	return all
}

// runFields are what all records of a run have.
func runFields(site string, o *watcher.Observation) [][2]string {
	fields := [][2]string{{"WARC-Target-URI", site + "/robots.txt"}}
	if a, err := netip.ParseAddrPort(o.Evidence.Address); err == nil {
		fields = append(fields, [2]string{"WARC-IP-Address", a.Addr().Unmap().String()})
	}
	fields = append(fields, [2]string{fieldState, string(o.State)})
	for _, f := range [][2]string{{fieldReason, string(o.Reason)}, {fieldDetail, o.Detail}, {fieldFinalURL, o.FinalURL}} {
		if f[1] != "" && (f[0] != fieldFinalURL || f[1] != site+"/robots.txt") {
			fields = append(fields, f)
		}
	}
	return fields
}

// httpHeader is the answer's head as far as it was kept.
func httpHeader(o *watcher.Observation) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", o.Status, cmp.Or(http.StatusText(o.Status), "Unknown"))
	for _, h := range o.Evidence.Headers {
		name := h.Name
		if http.CanonicalHeaderKey(name) == "Content-Encoding" {
			name = "X-Crawl-Content-Encoding" // the body is decoded
		}
		fmt.Fprintf(&b, "%s: %s\r\n", oneLine(name), oneLine(h.Value))
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

const warcTime = "2006-01-02T15:04:05.000Z"

func warcDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + strings.TrimRight(base32.StdEncoding.EncodeToString(sum[:]), "=")
}

// record writes one record. Its identity is made of its content.
func (w *WARCWriter) record(kind string, at time.Time, content string, fields [][2]string, block []byte) error {
	var b bytes.Buffer
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f[0], oneLine(f[1]))
	}
	date := at.UTC().Format(warcTime)
	id := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s%s", kind, date, b.Bytes(), block))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of our own making (RFC 9562, 5.8)
	head := fmt.Appendf(nil, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:%x-%x-%x-%x-%x>\r\nWARC-Date: %s\r\n", kind,
		id[:4], id[4:6], id[6:8], id[8:10], id[10:16], date)
	head = fmt.Appendf(append(head, b.Bytes()...), "WARC-Block-Digest: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", warcDigest(block), content, len(block))
	whole := append(append(head, block...), "\r\n\r\n"...)
	if !w.packed {
		_, err := w.w.Write(whole)
		return err
	}
	z := gzip.NewWriter(w.w)
	if _, err := z.Write(whole); err != nil {
		return err
	}
	return z.Close()
}
