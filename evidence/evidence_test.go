package evidence_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/evidence"
	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	site   = "https://example.com"
	engine = "v1.2.3"
)

var t0 = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func body(i int) []byte {
	return fmt.Appendf(nil, "User-agent: *\nDisallow: /%d/\n\nUser-agent: GPTBot\nDisallow: /\n", i)
}

// chain of n answers, an hour apart.
func chain(n int) *evidence.Chain {
	c := &evidence.Chain{Site: site}
	var mark evidence.Mark
	var until time.Time
	for i := range n {
		at := t0.Add(time.Duration(i) * time.Hour)
		o := watcher.Observation{At: at, LastAt: at.Add(50 * time.Minute), State: fetch.Policy, Status: 200, FinalURL: site + "/robots.txt",
			Body: sha256.Sum256(body(i)), Bytes: int64(len(body(i))), Evidence: watcher.Evidence{Address: "192.0.2.1:443",
				Headers: []fetch.Header{{Name: "Server", Value: "<nginx>"}}}}
		mark = mark.Next(until, evidence.Digest(evidence.RecordOf(site, &o).Text()))
		until = o.LastAt
		c.Links = append(c.Links, evidence.Link{Mark: mark, Run: o})
	}
	return c
}

func bundle(t testing.TB, c *evidence.Chain, i int) *evidence.Bundle {
	t.Helper()
	run := &c.Links[i].Run
	proof, err := c.Prove(run.At)
	if err != nil || proof == nil {
		t.Fatal(proof, err)
	}
	text := body(i)
	return &evidence.Bundle{
		Schema: evidence.BundleSchema, MadeAt: t0.AddDate(0, 0, 1), MadeBy: engine, Site: site, AskedAt: run.At,
		Record: string(evidence.RecordOf(site, run).Text()), LastAt: evidence.Moment{Time: run.LastAt}, Body: &text, Chain: proof,
		Reading: evidence.Reading{Engine: engine, Catalogue: "1", State: fetch.Policy,
			Agents: evidence.Read(text, []diff.Agent{{Token: "GPTBot"}, {Token: "CCBot"}})},
	}
}

func encode(t testing.TB, b *evidence.Bundle) []byte {
	t.Helper()
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sound reports whether a bundle verifies.
func sound(data []byte) bool {
	b, err := evidence.Decode(data)
	if err != nil {
		return false
	}
	_, found := b.Verify(engine)
	return evidence.OK(found)
}

func TestEveryFlippedBitOfABundleIsFound(t *testing.T) {
	data := encode(t, bundle(t, chain(3), 1))
	if !sound(data) {
		t.Fatal("the bundle itself does not verify")
	}
	for i := range len(data) * 8 {
		data[i/8] ^= 1 << (i % 8)
		if sound(data) {
			t.Errorf("bit %d of octet %d of %d", i%8, i/8, len(data))
		}
		data[i/8] ^= 1 << (i % 8)
	}
	for n := range len(data) {
		if sound(data[:n]) {
			t.Errorf("cut after %d octets", n)
		}
	}
	if sound(append(bytes.Clone(data), '\n')) {
		t.Error("a line added")
	}
}

// Whoever edits a bundle can seal it again; the parts hold each other.
func TestAnEditedBundleThatIsSealedAgainIsFound(t *testing.T) {
	for what, edit := range map[string]func(*evidence.Bundle){
		"another site":    func(b *evidence.Bundle) { b.Site = "https://other.example" },
		"another status":  func(b *evidence.Bundle) { b.Record = strings.Replace(b.Record, "200", "404", 1) },
		"another header":  func(b *evidence.Bundle) { b.Record = strings.Replace(b.Record, "<nginx>", "apache", 1) },
		"an unread field": func(b *evidence.Bundle) { b.Record = strings.Replace(b.Record, "{", `{"x":1,`, 1) },
		"another body":    func(b *evidence.Bundle) { (*b.Body)[3] ^= 1 },
		"no body":         func(b *evidence.Bundle) { b.Body = nil },
		"another reading": func(b *evidence.Bundle) { b.Reading.Agents[1].Access = diff.Blocked },
		"another line":    func(b *evidence.Bundle) { *b.Reading.Agents[0].Line++ },
		"earlier":         func(b *evidence.Bundle) { b.AskedAt = t0.AddDate(-1, 0, 0) },
		"longer":          func(b *evidence.Bundle) { b.LastAt.Time = b.LastAt.Add(time.Minute) },
		"another link":    func(b *evidence.Bundle) { b.Chain.Before.Link[0] ^= 1 },
		"another end":     func(b *evidence.Bundle) { b.Chain.Until.Time = b.Chain.Until.Add(time.Second) },
		"another place":   func(b *evidence.Bundle) { b.Chain.At.Position++ },
		"one less":        func(b *evidence.Bundle) { b.Chain.After = b.Chain.After[:0] },
		"another later":   func(b *evidence.Bundle) { b.Chain.After[0].Digest[5] ^= 1 },
		"another head":    func(b *evidence.Bundle) { b.Chain.Head.Link[5] ^= 1 },
		"another chain":   func(b *evidence.Bundle) { b.Chain.Kind = evidence.Archive },
	} {
		b := bundle(t, chain(3), 1)
		edit(b)
		if sound(encode(t, b)) {
			t.Errorf("%s: not found", what)
		}
	}
}

// The formula of docs/evidence.md, written down once more.
func TestLinksAreWhatTheDocumentSays(t *testing.T) {
	c := chain(2)
	first, second := evidence.RecordOf(site, &c.Links[0].Run).Text(), evidence.RecordOf(site, &c.Links[1].Run).Text()
	digest := func(text []byte) []byte { h := sha256.Sum256(append([]byte{0}, text...)); return h[:] }
	link := func(before []byte, until uint64, digest []byte) []byte {
		h := sha256.Sum256(append(binary.BigEndian.AppendUint64(append([]byte{1}, before...), until), digest...))
		return h[:]
	}
	one := link(make([]byte, 32), 0, digest(first))
	two := link(one, uint64(c.Links[0].Run.LastAt.UnixMilli()), digest(second))
	if got := c.Head().Link.String(); got != hex.EncodeToString(two) {
		t.Errorf("head %s, want %x", got, two)
	}
	want := `{"schema":"robotswatch.record/v1","site":"https://example.com","at":"2026-11-30T09:00:00.000Z","state":"policy","status":200,` +
		`"final_url":"https://example.com/robots.txt","sha256":"` + c.Links[0].Run.Body.String() + `","bytes":60,"address":"192.0.2.1:443",` +
		`"headers":[{"name":"Server","value":"<nginx>"}]}`
	if string(first) != want {
		t.Errorf("record %s\nwant   %s", first, want)
	}
}

func TestARunThatGoesOnKeepsItsLink(t *testing.T) {
	c := chain(2)
	c.Links[1].Run.LastAt = c.Links[1].Run.LastAt.AddDate(0, 1, 0)
	if breaks := c.Breaks(); len(breaks) > 0 {
		t.Error(breaks)
	}
	c.Links[0].Run.LastAt = c.Links[0].Run.LastAt.Add(time.Second) // is over
	if breaks := c.Breaks(); len(breaks) != 1 {
		t.Error(breaks)
	}
	if _, err := c.Prove(t0); !errors.Is(err, evidence.ErrBrokenChain) {
		t.Error(err)
	}
}

func TestAnotherVersionThatReadsOtherwiseIsNoForgery(t *testing.T) {
	b := bundle(t, chain(1), 0)
	b.Reading.Agents[0].Access = diff.Partial
	if _, found := b.Verify("v2.0.0"); !evidence.OK(found) || !strings.Contains(fmt.Sprint(found), "v2.0.0") {
		t.Error(found)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "\n", "hello\n", "robotswatch-evidence v2 sha256:00\n{}"} {
		if _, err := evidence.Decode([]byte(text)); !errors.Is(err, evidence.ErrNoBundle) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestHeadsWitness(t *testing.T) {
	c := chain(4)
	heads := func(site string, m evidence.Mark) evidence.Heads {
		var buf bytes.Buffer
		w, err := evidence.NewHeadsWriter(&buf, t0)
		if err == nil {
			err = w.Site(evidence.SiteHead{Site: site, Mark: m})
		}
		if err != nil {
			t.Fatal(err)
		}
		h, err := evidence.ParseHeads(buf.Bytes())
		if err != nil || !h.At.Equal(t0) {
			t.Fatal(h, err)
		}
		return h
	}
	forged := c.Links[2].Mark
	forged.Link[0] ^= 1
	b := bundle(t, c, 1)
	for i, want := range []bool{true, false, false, false} { // wrong?
		if got := b.Against(heads(site, c.Links[i].Mark)); got.Wrong != want {
			t.Errorf("head %d: %+v", i, got)
		}
	}
	for what, h := range map[string]evidence.Heads{"forged": heads(site, forged), "of another site": heads("https://other.example", c.Links[2].Mark),
		"younger": heads(site, evidence.Mark{Position: 9})} {
		if got := b.Against(h); !got.Wrong {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for _, text := range []string{"", "x", "robotswatch-heads v1 yesterday\n", "robotswatch-heads v1 2026-11-30T00:00:00Z\nx\n", "robotswatch-heads v1 2026-11-30T00:00:00Z\nx\t1\tzz\n"} {
		if _, err := evidence.ParseHeads([]byte(text)); !errors.Is(err, evidence.ErrNoHeads) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
