package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// RecordSchema names the form of a record's text.
const RecordSchema = "robotswatch.record/v1"

// Record is what is chained of a run of equal answers. Of one that was seen
// live it is what was true at first sight, so that the run may go on; of one
// from an archive it is all of it.
type Record struct {
	Schema     string         `json:"schema"`
	Site       string         `json:"site"`
	At         Moment         `json:"at"`                 // first seen, to the millisecond
	LastAt     Moment         `json:"last_at,omitzero"`   // of an archive: last seen
	Captures   int            `json:"captures,omitempty"` // of an archive; 0: seen live
	State      fetch.State    `json:"state"`
	Reason     fetch.Reason   `json:"reason,omitempty"`
	Detail     string         `json:"detail,omitempty"`
	Status     int            `json:"status"`
	FinalURL   string         `json:"final_url,omitempty"`
	SHA256     watcher.Hash   `json:"sha256,omitzero"` // of the body; none: there is no policy
	Bytes      int64          `json:"bytes"`
	Truncated  bool           `json:"truncated,omitempty"`
	Vendor     string         `json:"vendor,omitempty"`
	Address    string         `json:"address,omitempty"`
	TLSSubject string         `json:"tls_subject,omitempty"`
	Headers    []fetch.Header `json:"headers,omitempty"`
}

// RecordOf is the record of a run of a site.
func RecordOf(site string, o *watcher.Observation) Record {
	r := Record{
		Schema: RecordSchema, Site: site, At: millis(o.At), State: o.State, Reason: o.Reason, Detail: valid(o.Detail),
		Status: o.Status, FinalURL: valid(o.FinalURL), SHA256: o.Body, Bytes: o.Bytes, Truncated: o.Truncated,
		Vendor: valid(o.Evidence.Vendor), Address: o.Evidence.Address, TLSSubject: valid(o.Evidence.TLSSubject),
	}
	switch usual := site + "/robots.txt"; { // a store leaves the usual place out
	case r.Status != 0 && r.FinalURL == "":
		r.FinalURL = usual
	case r.Status == 0 && r.FinalURL == usual:
		r.FinalURL = ""
	}
	if o.Backfill {
		r.LastAt, r.Captures = millis(o.LastAt), max(o.Looks, 1)
	}
	for _, h := range o.Evidence.Headers {
		r.Headers = append(r.Headers, fetch.Header{Name: valid(h.Name), Value: valid(h.Value)})
	}
	return r
}

// Moment is a time that is always written to the millisecond, in UTC.
type Moment struct{ time.Time }

const momentLayout = "2006-01-02T15:04:05.000Z"

// MarshalText never fails, so that there is a text to compare also of a time
// that cannot be.
func (m Moment) MarshalText() ([]byte, error) { return []byte(m.UTC().Format(momentLayout)), nil }

// MarshalJSON is MarshalText in quotes.
func (m Moment) MarshalJSON() ([]byte, error) {
	return []byte(m.UTC().Format(`"` + momentLayout + `"`)), nil
}

// UnmarshalText reads what MarshalText wrote.
func (m *Moment) UnmarshalText(text []byte) (err error) {
	m.Time, err = time.Parse(momentLayout, string(text))
	return err
}

// UnmarshalJSON is UnmarshalText in quotes.
func (m *Moment) UnmarshalJSON(text []byte) (err error) {
	m.Time, err = time.Parse(`"`+momentLayout+`"`, string(text))
	return err
}

func millis(t time.Time) Moment { return Moment{t.Truncate(time.Millisecond).UTC()} }

// valid is text as JSON can carry it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Text is the record as it is hashed: JSON without white space.
func (r Record) Text() []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		panic(err) // no field can fail
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// What is hashed begins with an octet that says what it is, so that neither
// can be taken for the other.
const (
	recordPrefix = 0x00
	linkPrefix   = 0x01
)

// Digest of a record's text.
func Digest(text []byte) watcher.Hash {
	h := sha256.New()
	h.Write([]byte{recordPrefix})
	h.Write(text)
	return watcher.Hash(h.Sum(nil))
}

// Mark is a place in a chain: so many records, and the hash of them all. The
// zero value is the beginning.
type Mark struct {
	Position int64        `json:"position"`
	Link     watcher.Hash `json:"link"`
}

// Next is the place after one more record. until is when the answer of the
// last record before it was last seen, which ends with the next one; the zero
// time at the beginning of a chain.
func (m Mark) Next(until time.Time, digest watcher.Hash) Mark {
	var buf [1 + 32 + 8 + 32]byte
	buf[0] = linkPrefix
	copy(buf[1:], m.Link[:])
	if !until.IsZero() {
		binary.BigEndian.PutUint64(buf[33:], uint64(until.UnixMilli()))
	}
	copy(buf[41:], digest[:])
	return Mark{Position: m.Position + 1, Link: sha256.Sum256(buf[:])}
}
