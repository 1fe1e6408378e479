package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// keptEvidence is evidence without what its site says anyway.
type keptEvidence struct {
	watcher.Evidence
	TLSSubject string `json:"tls_subject,omitempty"` // "\x01" stands for the host
}

const hostMark = "\x01"

// shortEvidence is how long evidence may be whose frequent phrases only are
// left out, in octets; beyond that zstd does better.
const shortEvidence = 160

// packEvidence is JSON in which each frequent phrase is one control character,
// or packJSON where that is shorter; nothing for nothing.
func packEvidence(origin string, e watcher.Evidence) ([]byte, error) {
	if e.Vendor == "" && e.Address == "" && e.TLSSubject == "" && len(e.Headers) == 0 {
		return nil, nil
	}
	k := keptEvidence{Evidence: e, TLSSubject: e.TLSSubject}
	if host := hostOf(origin); host != "" && !strings.Contains(k.TLSSubject, hostMark) {
		k.TLSSubject = strings.Replace(k.TLSSubject, host, hostMark, 1)
	}
	k.Headers = make([]fetch.Header, len(e.Headers))
	for i, h := range e.Headers {
		k.Headers[i] = fetch.Header{Name: h.Name, Value: httpDate(h.Value).short()}
	}
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	short := []byte(shortenEvidence.Replace(string(text)))
	if len(short) <= shortEvidence {
		return short, nil
	}
	if packed := codecs().json.EncodeAll(text, nil); len(packed) < len(short) {
		return packed, nil
	}
	return short, nil
}

// zstdMagic begins what zstd packed; no text does.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func unpackEvidence(origin string, data []byte) (watcher.Evidence, error) {
	var k keptEvidence
	var err error
	if len(data) == 0 || bytes.HasPrefix(data, zstdMagic) {
		err = unpackJSON(data, &k)
	} else if err = json.Unmarshal([]byte(lengthenEvidence.Replace(string(data))), &k); err != nil {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return watcher.Evidence{}, fmt.Errorf("evidence of %s: %w", origin, err)
	}
	k.Evidence.TLSSubject = strings.Replace(k.TLSSubject, hostMark, hostOf(origin), 1)
	for i := range k.Headers {
		k.Headers[i].Value = longDate(k.Headers[i].Value)
	}
	return k.Evidence, nil
}

// evidencePhrases are frequent phrases of evidence, each with the control
// character that stands for it; JSON has none of its own. Of those that fit at
// a place the first counts. They are part of the format: they never change.
var evidencePhrases = []string{
	"\x01", `{"vendor":"cloudflare","address":"`,
	"\x02", `{"vendor":"`,
	"\x03", `{"address":"`,
	"\x04", `{"headers":[{"name":"`,
	"\x05", `","address":"`,
	"\x06", `:443","headers":[{"name":"Content-Type","value":"text/plain; charset=utf-8"},{"name":"`,
	"\x07", `:443","headers":[{"name":"Content-Type","value":"text/plain"},{"name":"`,
	"\x08", `:443","headers":[{"name":"`,
	"\x09", `","headers":[{"name":"`,
	"\x0a", `Content-Type","value":"text/plain; charset=utf-8"},{"name":"`,
	"\x0b", `Content-Type","value":"text/plain"},{"name":"`,
	"\x0c", `Content-Type","value":"`,
	"\x0d", `Content-Encoding","value":"gzip"},{"name":"`,
	"\x0e", `Last-Modified","value":"\u0002`,
	"\x0f", `"},{"name":"Etag","value":"\"`,
	"\x10", `"},{"name":"Etag","value":"W/\"`,
	"\x11", `Etag","value":"\"`,
	"\x12", `Etag","value":"W/\"`,
	"\x13", `\""},{"name":"Server","value":"cloudflare"}],"tls_subject":"CN=\u0001"}`,
	"\x14", `"},{"name":"Server","value":"`,
	"\x15", `\""},{"name":"`,
	"\x16", `"},{"name":"`,
	"\x17", `Cache-Control","value":"`,
	"\x18", `Server","value":"`,
	"\x19", `Cf-Ray","value":"`,
	"\x1a", `","value":"`,
	"\x1b", `cloudflare"}],"tls_subject":"CN=\u0001"}`,
	"\x1c", `nginx"}],"tls_subject":"CN=\u0001"}`,
	"\x1d", `"}],"tls_subject":"CN=\u0001"}`,
	"\x1e", `"}],"tls_subject":"CN=`,
	"\x1f", `"}]}`,
}

var (
	lengthenEvidence = strings.NewReplacer(evidencePhrases...)
	shortenEvidence  = strings.NewReplacer(swapped(evidencePhrases)...)
)
