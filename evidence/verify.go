package evidence

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/fetch"
)

// Finding is what verifying found: something wrong, or only worth knowing.
type Finding struct {
	Wrong bool
	What  string
}

// Verify judges a bundle by itself. engine is the version of who verifies: what
// another version read otherwise is worth knowing, and not wrong.
func (b *Bundle) Verify(engine string) (Record, []Finding) {
	v := verifier{bundle: b}
	if err := strict([]byte(b.Record), &v.record); err != nil {
		v.wrong("its record cannot be read: %v", err)
		return v.record, v.found
	}
	v.about()
	v.body()
	v.chain()
	v.reading(engine)
	return v.record, v.found
}

type verifier struct {
	bundle *Bundle
	record Record
	found  []Finding
}

func (v *verifier) wrong(format string, args ...any) {
	v.found = append(v.found, Finding{true, fmt.Sprintf(format, args...)})
}

func (v *verifier) note(format string, args ...any) {
	v.found = append(v.found, Finding{false, fmt.Sprintf(format, args...)})
}

// about compares what the bundle says of itself with its record.
func (v *verifier) about() {
	b, r := v.bundle, &v.record
	switch {
	case r.Schema != RecordSchema:
		v.wrong("its record is of a kind that this version does not know: %q", r.Schema)
	case r.Site != b.Site:
		v.wrong("it is about %s, its record about %s", b.Site, r.Site)
	case b.AskedAt.Before(r.At.Time) || b.LastAt.Before(r.At.Time):
		v.wrong("it is about a moment before its record was first seen")
	case r.Captures > 0 && !r.LastAt.Equal(b.LastAt.Time):
		v.wrong("it says that the answer was last seen at another time than its record says")
	}
}

// body compares the body with the hash in the record.
func (v *verifier) body() {
	body := v.bundle.Body
	switch {
	case v.record.SHA256.IsZero() != (v.record.State != fetch.Policy):
		v.wrong("its record has a body and no policy, or the reverse")
	case (body == nil) != v.record.SHA256.IsZero():
		v.wrong("its body is missing, or there should be none")
	case body != nil && sha256.Sum256(*body) != v.record.SHA256:
		v.wrong("its body is not the one of its record")
	}
}

// Walk gives the chain's places from the one before the record to the head as
// the digests lead to them.
func (p *Proof) Walk(record []byte) []Mark {
	marks := []Mark{p.Before, p.Before.Next(p.Until.Time, Digest(record))}
	for _, f := range p.After {
		marks = append(marks, marks[len(marks)-1].Next(f.Until.Time, f.Digest))
	}
	return marks
}

func (v *verifier) chain() {
	p := v.bundle.Chain
	if p == nil {
		v.note("recorded before there was a chain: nothing proves that it was not edited since")
		return
	}
	marks := p.Walk([]byte(v.bundle.Record))
	switch {
	case p.Kind != Live && p.Kind != Archive || (p.Kind == Archive) != (v.record.Captures > 0):
		v.wrong("its chain is of another kind than its record")
	case p.Before.Position < 0 || (p.Before.Position == 0) != p.Before.Link.IsZero():
		v.wrong("its chain does not begin as one")
	case p.Before.Position == 0 && !p.Until.IsZero():
		v.wrong("its chain begins with its record, and something was seen before")
	case marks[1] != p.At:
		v.wrong("its record is not in its chain")
	case marks[len(marks)-1] != p.Head:
		v.wrong("its chain does not lead to the head that it names")
	case len(p.After) > 0 && !p.After[0].Until.Equal(v.bundle.LastAt.Time):
		v.wrong("it says that the answer was last seen at another time than its chain says")
	}
	if len(p.After) == 0 && p.Kind == Live {
		v.note("the answer was still the latest: the chain proves when it was first seen, not yet how long it went on")
	}
}

// reading reads the policy again.
func (v *verifier) reading(engine string) {
	b := v.bundle
	if b.Body == nil {
		v.note("without a policy in the answer, access follows from the state of the site and from earlier answers, which are not in the bundle")
		return
	}
	list := make([]diff.Agent, len(b.Reading.Agents))
	for i, a := range b.Reading.Agents {
		list[i] = diff.Agent{Token: a.Agent, Fallbacks: a.Fallbacks}
	}
	for i, now := range Read(*b.Body, list) {
		was := b.Reading.Agents[i]
		if was.Access == now.Access && was.Source == now.Source && same(was.Rule, now.Rule) && same(was.Line, now.Line) {
			continue
		}
		say := v.wrong
		if engine != b.Reading.Engine {
			say = v.note
		}
		say("%s reads it as %s for %s (%s), this version (%s) as %s (%s)", b.Reading.Engine, was.Access, was.Agent, where(was), engine, now.Access, where(now))
	}
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func where(a AgentReading) string {
	if a.Line == nil {
		return "by no rule"
	}
	return fmt.Sprintf("line %d", *a.Line)
}

// Against tells whether heads that were published prove that the record was
// there then: one of the places that its chain passes is the published one.
// Anything else is wrong.
func (b *Bundle) Against(heads Heads) Finding {
	published, ok := heads.Of[b.Site]
	when := heads.At.Format("2006-01-02T15:04:05Z07:00")
	switch {
	case !ok:
		return Finding{true, "the heads of " + when + " do not have this site"}
	case b.Chain == nil || b.Chain.Kind != Live:
		return Finding{true, "heads are of what was seen live: they do not prove this record"}
	}
	marks := b.Chain.Walk([]byte(b.Record))
	i := slices.IndexFunc(marks, func(m Mark) bool { return m.Position == published.Position })
	switch {
	case i >= 0 && marks[i] != published:
		return Finding{true, fmt.Sprintf("the chain was written anew: record %d had another link in the heads of %s", published.Position, when)}
	case published.Position < b.Chain.At.Position:
		return Finding{true, "the heads of " + when + " are older than the record"}
	case i < 0:
		return Finding{true, "the heads of " + when + " are younger than the bundle"}
	}
	return Finding{false, "the record was there when the heads of " + when + " were taken"}
}

// OK reports whether nothing is wrong.
func OK(found []Finding) bool {
	return !slices.ContainsFunc(found, func(f Finding) bool { return f.Wrong })
}
