package history

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/robotswatch/robotswatch/fetch"
	"github.com/robotswatch/robotswatch/watcher"
)

// look is a capture that has been judged: what fetch would have found.
type look struct {
	site    string
	out     fetch.Outcome // its Body is shared; of a revisit only At is known
	hash    watcher.Hash  // of a policy
	digest  string        // see Capture
	revisit bool
}

// answer is what the look found as far as it makes a difference.
func (l *look) answer() watcher.Answer {
	return watcher.Answer{State: l.out.State, Reason: l.out.Reason, Status: l.out.Status, FinalURL: l.out.FinalURL, Body: l.hash}
}

func answerOf(o *watcher.Observation) watcher.Answer {
	return watcher.Answer{State: o.State, Reason: o.Reason, Status: o.Status, FinalURL: o.FinalURL, Body: o.Body}
}

// compare puts the looks of a site in order of time, and those of one moment
// in an order that does not depend on where they came from.
func (l *look) compare(o *look) int {
	revisits := 0
	if l.revisit != o.revisit {
		if revisits = -1; l.revisit {
			revisits = 1
		}
	}
	found := cmp.Or(l.out.At.Compare(o.out.At), revisits, cmp.Compare(l.out.Status, o.out.Status),
		bytes.Compare(l.hash[:], o.hash[:]), cmp.Compare(l.out.Reason, o.out.Reason), cmp.Compare(l.digest, o.digest))
	if found != 0 {
		return found
	}
	return bytes.Compare(o.append(nil, false), l.append(nil, false)) // one that says more comes first
}

// Flags of a look as it is spilled.
const (
	flagRevisit = 1 << iota
	flagTruncated
	flagBody // the body follows
)

// append writes the look behind buf; body says whether with its body.
func (l *look) append(buf []byte, body bool) []byte {
	text := func(s string) { buf = append(binary.AppendUvarint(buf, uint64(len(s))), s...) }
	o := &l.out
	var flags byte
	if l.revisit {
		flags |= flagRevisit
	}
	if o.Truncated {
		flags |= flagTruncated
	}
	if body {
		flags |= flagBody
	}
	buf = append(buf, flags)
	text(l.site)
	buf = binary.AppendVarint(buf, o.At.UnixMilli())
	buf = binary.AppendUvarint(buf, uint64(o.Status))
	text(string(o.State))
	text(string(o.Reason))
	text(o.Detail)
	text(o.FinalURL)
	text(o.Vendor)
	if o.Address.IsValid() {
		text(o.Address.String())
	} else {
		text("")
	}
	buf = binary.AppendUvarint(buf, uint64(len(o.Headers)))
	for _, h := range o.Headers {
		text(h.Name)
		text(h.Value)
	}
	text(l.digest)
	buf = binary.AppendUvarint(buf, uint64(o.Bytes))
	buf = append(buf, l.hash[:]...)
	if body {
		text(string(o.Body))
	}
	return buf
}

// lookReader reads what append wrote. Equal texts and equal bodies are one.
type lookReader struct {
	buf    []byte
	texts  map[string]string
	bodies map[watcher.Hash][]byte
	err    error
}

var errSpill = errors.New("what was spilled to disk cannot be read back")

func (r *lookReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.buf)
	if size <= 0 {
		r.err, r.buf = errSpill, nil
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *lookReader) octets(n uint64) []byte {
	if n > uint64(len(r.buf)) {
		r.err, r.buf = errSpill, nil
		return nil
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b
}

func (r *lookReader) text() string {
	b := r.octets(r.uvarint())
	if s, ok := r.texts[string(b)]; ok {
		return s
	}
	s := string(b)
	r.texts[s] = s
	return s
}

// look reads the one that buf holds.
func (r *lookReader) look(buf []byte) (l look, err error) {
	r.buf, r.err = buf, nil
	head := r.octets(1)
	if r.err != nil {
		return l, r.err
	}
	flags := head[0]
	o := &l.out
	l.revisit, o.Truncated = flags&flagRevisit != 0, flags&flagTruncated != 0
	l.site = r.text()
	ms, size := binary.Varint(r.buf)
	if size <= 0 {
		return l, errSpill
	}
	r.buf = r.buf[size:]
	o.At = time.UnixMilli(ms).UTC()
	o.Status = int(r.uvarint())
	o.State, o.Reason, o.Detail = fetch.State(r.text()), fetch.Reason(r.text()), r.text()
	o.FinalURL, o.Vendor = r.text(), r.text()
	if a := r.text(); a != "" {
		if o.Address, err = netip.ParseAddrPort(a); err != nil {
			return l, fmt.Errorf("%w: %w", errSpill, err)
		}
	}
	if n := r.uvarint(); n > 0 && r.err == nil {
		o.Headers = make([]fetch.Header, 0, min(n, 64))
		for range n {
			o.Headers = append(o.Headers, fetch.Header{Name: r.text(), Value: r.text()})
			if r.err != nil {
				return l, r.err
			}
		}
	}
	l.digest = r.text()
	o.Bytes = int64(r.uvarint())
	copy(l.hash[:], r.octets(uint64(len(l.hash))))
	if flags&flagBody != 0 {
		body := r.octets(r.uvarint())
		if _, ok := r.bodies[l.hash]; !ok && r.err == nil {
			r.bodies[l.hash] = bytes.Clone(body)
		}
	}
	return l, r.err
}
