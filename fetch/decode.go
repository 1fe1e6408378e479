package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/robotswatch/robotswatch/robots"
)

const (
	// bombRatio: a body that has become too long while a hundredth of that was
	// read is an attack. Real files pack 3 to 20 to one.
	bombRatio = 100
	// maxZstdWindow is what HTTP allows (RFC 9659).
	maxZstdWindow = 8 << 20
)

// decoders unpack bodies that have been received whole, so that a decoder is
// only held while it computes. As many as there are processors are enough, and
// bound the memory that hostile window sizes can claim.
type decoders struct{ free chan *decoder }

type decoder struct {
	gzip   gzip.Reader
	brotli *brotli.Reader
	zstd   *zstd.Decoder
	buf    []byte // of the last result
}

func newDecoders() decoders {
	d := decoders{free: make(chan *decoder, runtime.GOMAXPROCS(0))}
	for range cap(d.free) {
		d.free <- nil // made on first use
	}
	return d
}

// decoded is a body without its content encoding.
type decoded struct {
	data  []byte // at most max octets; valid until the decoder is used again
	lines []byte // data without a line that the limit cuts
	more  bool   // the body goes on
	bomb  bool
	plain bool // the octets are those that were received
}

// with hands the decoded body to use. Unless it is plain, its octets are gone
// when use returns. The error says what is wrong with the encoding;
// io.ErrUnexpectedEOF inside means that the packed body is incomplete.
func (d decoders) with(h http.Header, raw []byte, max int64, use func(decoded)) error {
	coding := contentCoding(h, raw)
	if coding == "" {
		body := cut(raw, max)
		body.plain = true
		use(body)
		return nil
	}
	dec := <-d.free
	if dec == nil {
		dec = new(decoder)
	}
	defer func() {
		if cap(dec.buf) > maxPooledBody {
			dec = nil // so are its windows: rare, let them go
		}
		d.free <- dec
	}()
	in := bytes.NewReader(raw)
	r, err := dec.reader(coding, in)
	if err == nil {
		dec.buf, err = readUpTo(r, dec.buf[:0], max+1)
	}
	body := cut(dec.buf, max)
	incomplete := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	switch {
	case body.more:
		body.bomb = (in.Size()-int64(in.Len()))*bombRatio < max
	case incomplete && int64(len(raw)) > max:
		body.more = true // we cut it ourselves
		body.lines, _ = robots.Cut(body.data, len(body.data)-1)
	case incomplete:
		return fmt.Errorf("the %s encoding: %w", coding, io.ErrUnexpectedEOF)
	case err != nil:
		return fmt.Errorf("the %s encoding is broken: %w", coding, err)
	}
	use(body)
	return nil
}

func cut(b []byte, limit int64) decoded {
	lines, more := robots.Cut(b, int(limit))
	return decoded{data: b[:min(int64(len(b)), limit)], lines: lines, more: more}
}

// shortReads keeps brotli from reading far ahead, so that what was read tells
// how well the body is packed.
type shortReads struct{ r io.Reader }

func (s shortReads) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 512)]) }

// reader starts decoding.
func (d *decoder) reader(coding string, in *bytes.Reader) (io.Reader, error) {
	switch coding {
	case "gzip":
		return &d.gzip, d.gzip.Reset(in)
	case "br":
		if d.brotli == nil {
			d.brotli = brotli.NewReader(nil)
		}
		return d.brotli, d.brotli.Reset(shortReads{in})
	default: // zstd
		if d.zstd == nil {
			var err error
			d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
			if err != nil {
				return nil, err
			}
		}
		return d.zstd, d.zstd.Reset(in)
	}
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// contentCoding is the coding that really was applied: "gzip", "br", "zstd" or
// "". Some servers name a coding and send plain text, which gzip and zstd show
// by the missing magic number and brotli by its own words.
func contentCoding(h http.Header, raw []byte) string {
	v := h.Get("Content-Encoding")
	if v == "" || len(raw) == 0 {
		return ""
	}
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "gzip", "x-gzip":
		if bytes.HasPrefix(raw, gzipMagic) {
			return "gzip"
		}
	case "zstd":
		if bytes.HasPrefix(raw, zstdMagic) {
			return "zstd"
		}
	case "br":
		if !hasDirective(raw) {
			return "br"
		}
	}
	return ""
}
