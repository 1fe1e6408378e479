package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/robots"
	"github.com/robotswatch/robotswatch/watcher"
)

// BundleSchema names the form of a bundle.
const BundleSchema = "robotswatch.evidence/v1"

// Bundle is all that somebody else needs to verify one record.
type Bundle struct {
	Schema  string    `json:"schema"`
	MadeAt  time.Time `json:"made_at"`
	MadeBy  string    `json:"made_by"` // version of robotswatch
	Site    string    `json:"site"`
	AskedAt time.Time `json:"asked_at"` // the moment that the bundle is about
	Record  string    `json:"record"`   // the text that is hashed, see Record
	LastAt  Moment    `json:"last_at"`  // when the answer was last seen
	Body    *[]byte   `json:"body_base64,omitempty"`
	Chain   *Proof    `json:"chain"` // null: recorded before there was a chain
	Reading Reading   `json:"reading"`
}

// Kinds of chains.
const (
	Live    = "live"    // what we saw, in the order of recording
	Archive = "archive" // what archives saw, in order of time; begins anew with each backfill
)

// Proof that a record is in a chain.
type Proof struct {
	Kind   string     `json:"kind"`
	Before Mark       `json:"before"`         // the chain before the record
	Until  Moment     `json:"until,omitzero"` // when the answer before it was last seen
	At     Mark       `json:"at"`             // with it
	After  []Follower `json:"after"`          // the records since then
	Head   Mark       `json:"head"`           // with all of them
}

// Follower is a later record of a chain by its digest.
type Follower struct {
	Until  Moment       `json:"until"` // when the answer before it was last seen
	Digest watcher.Hash `json:"digest"`
}

// Reading is what robotswatch made of the answer.
type Reading struct {
	Engine    string         `json:"engine"`
	Catalogue string         `json:"catalogue"`
	State     fetch.State    `json:"state"`                  // confirmed as of AskedAt
	Policy    watcher.Hash   `json:"policy_sha256,omitzero"` // whose rules decide, if it is not the record's own
	Agents    []AgentReading `json:"agents"`
}

// AgentReading is what an agent may fetch.
type AgentReading struct {
	Agent     string        `json:"agent"`
	Fallbacks []string      `json:"fallbacks,omitempty"` // tokens that are tried next, before "*"
	Access    diff.Level    `json:"access"`
	Source    robots.Source `json:"source"`
	Rule      *string       `json:"rule"` // see Read
	Line      *int          `json:"line"`
}

// magic begins a bundle; the hash of all that follows the line stands behind it.
const magic = "robotswatch-evidence v1 sha256:"

var (
	// ErrNoBundle is that a file is something else.
	ErrNoBundle = errors.New("this is no evidence bundle")
	// ErrBroken is that a bundle is not what was written.
	ErrBroken = errors.New("the bundle was changed or damaged since it was made")
)

// Encode writes a bundle: a line with a seal, and JSON.
func (b *Bundle) Encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(b); err != nil {
		return nil, fmt.Errorf("write a bundle: %w", err)
	}
	sum := sha256.Sum256(buf.Bytes())
	return append([]byte(magic+hex.EncodeToString(sum[:])+"\n"), buf.Bytes()...), nil
}

// Decode reads a bundle and proves its seal: ErrNoBundle, ErrBroken.
func Decode(data []byte) (*Bundle, error) {
	line, content, ok := bytes.Cut(data, []byte("\n"))
	seal, is := strings.CutPrefix(string(line), magic)
	if !ok || !is {
		return nil, ErrNoBundle
	}
	if sum := sha256.Sum256(content); seal != hex.EncodeToString(sum[:]) {
		return nil, ErrBroken
	}
	b := &Bundle{}
	if err := strict(content, b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if b.Schema != BundleSchema {
		return nil, fmt.Errorf("%w of a kind that this version knows: %q", ErrNoBundle, b.Schema)
	}
	return b, nil
}

// strict reads one JSON value of known fields.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}
