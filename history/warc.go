package history

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/robotswatch/robotswatch/fetch"
)

// WARC reads web archives (ISO 28500, versions 1.0 and 1.1), plain or packed
// with gzip, record by record or whole. It takes the response and revisit
// records of …/robots.txt, which is also how Common Crawl lays out its
// robotstxt subset; other records are passed over.
func WARC(names []string, stdin io.Reader) (Source, error) {
	return findFiles(names, stdin, readWARC, ".warc", ".warc.gz")
}

const (
	maxWARCHeader = 64 << 10 // octets of a record's header, and of the HTTP header in it
	maxWARCBody   = 8 << 20  // octets of a payload that are read; a robots.txt is cut sooner
)

// errWARC is that a record is not one; reading goes on at the next.
type errWARC struct{ what string }

func (e errWARC) Error() string { return e.what }

func readWARC(ctx context.Context, name string, r *bufio.Reader, emit func(Capture) error, bad func(Bad)) error {
	head, err := r.Peek(2)
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return nil
	}
	w := &warcReader{ctx: ctx, name: name, emit: emit, bad: bad}
	if isGzip(head) {
		return w.members(r)
	}
	return w.records(r, true)
}

type warcReader struct {
	ctx  context.Context
	name string
	n    int // records so far
	emit func(Capture) error
	bad  func(Bad)
}

func (w *warcReader) report(what string) {
	w.bad(Bad{fmt.Sprintf("%s, record %d", w.name, w.n), what})
}

// members reads gzip members one by one, so that a broken one costs its own
// records only.
func (w *warcReader) members(r *bufio.Reader) error {
	var z gzip.Reader
	var content *bufio.Reader
	for {
		head, err := r.Peek(2)
		if errors.Is(err, io.EOF) && len(head) == 0 {
			return nil
		}
		if !isGzip(head) {
			err = errors.New("it does not begin as one")
		} else {
			err = z.Reset(r)
		}
		if err == nil {
			z.Multistream(false)
			if content == nil {
				content = bufio.NewReaderSize(&z, 64<<10)
			} else {
				content.Reset(&z)
			}
			err = w.records(content, false)
			if errors.As(err, new(errWARC)) {
				w.report(err.Error())
				err = nil
			}
			if err == nil {
				_, err = io.Copy(io.Discard, content)
			}
		}
		var own *ownError
		switch {
		case errors.As(err, &own):
			return own.error
		case err != nil:
			w.report("its gzip member is broken: " + err.Error())
			if err := nextMember(r); err != nil {
				return nil // nothing follows
			}
		}
	}
}

// ownError is not about the input: it ends the reading.
type ownError struct{ error }

// nextMember skips to what looks like the beginning of a gzip member.
func nextMember(r *bufio.Reader) error {
	for {
		head, err := r.Peek(3)
		if err != nil {
			return err
		}
		if isGzip(head) && head[2] == 8 {
			return nil
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
	}
}

// records reads records until the end of r. plain: errors are reported here,
// and reading goes on at the next line that begins a record.
func (w *warcReader) records(r *bufio.Reader, plain bool) error {
	for {
		if err := w.ctx.Err(); err != nil {
			return &ownError{err}
		}
		err := w.record(r)
		var own *ownError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
		case errors.As(err, &own) && plain:
			return own.error
		case !plain:
			return err
		default:
			w.report(err.Error())
			if err := nextVersion(r); err != nil {
				return nil
			}
		}
	}
}

// nextVersion skips to a line that begins a record.
func nextVersion(r *bufio.Reader) error {
	for start := true; ; {
		if head, err := r.Peek(len(versionMark)); err != nil {
			return err
		} else if start && string(head) == versionMark {
			return nil
		}
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		start = bytes.HasSuffix(line, []byte("\n"))
	}
}

const versionMark = "WARC/1."

// record reads one record; io.EOF when there is none.
func (w *warcReader) record(r *bufio.Reader) error {
	line, err := blankLines(r)
	if err != nil {
		return err
	}
	w.n++
	if !strings.HasPrefix(line, versionMark) {
		return errWARC{fmt.Sprintf("want a line WARC/1.0 or WARC/1.1, not %.40q", line)}
	}
	h, err := readFields(r)
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || size < 0 {
		return errWARC{fmt.Sprintf("Content-Length %q is not a length", h.Get("Content-Length"))}
	}
	block := io.LimitedReader{R: r, N: size}
	c, use, err := readCapture(h, &block)
	if err == nil || errors.As(err, new(errWARC)) {
		if _, e := io.Copy(io.Discard, &block); e != nil {
			return e
		}
		if block.N > 0 {
			return errWARC{fmt.Sprintf("the block ends %d octets early", block.N)}
		}
	}
	if err != nil {
		if errors.As(err, new(errWARC)) {
			w.report(err.Error())
			return nil
		}
		return err
	}
	if use {
		c.Where = fmt.Sprintf("%s, record %d", w.name, w.n)
		if err := w.emit(c); err != nil {
			return &ownError{err}
		}
	}
	return nil
}

// blankLines gives the first line that is not blank.
func blankLines(r *bufio.Reader) (string, error) {
	for {
		line, err := r.ReadSlice('\n')
		text := strings.TrimRight(string(line), "\r\n")
		if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
			return "", err
		}
		if text != "" {
			return text, nil
		}
	}
}

// readFields reads the lines "Name: value" up to a blank one, in WARC and in
// HTTP; lines that are no field are passed over.
func readFields(r *bufio.Reader) (http.Header, error) {
	h := http.Header{}
	last := ""
	for size := 0; ; {
		line, err := r.ReadSlice('\n')
		size += len(line)
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case err != nil && !errors.Is(err, io.EOF) || size > maxWARCHeader:
			return nil, errWARC{"its header is too long"}
		case text == "":
			return h, nil
		case (text[0] == ' ' || text[0] == '\t') && last != "":
			values := h[last]
			values[len(values)-1] += " " + strings.TrimSpace(text)
		default:
			if name, value, ok := strings.Cut(text, ":"); ok {
				last = http.CanonicalHeaderKey(strings.TrimSpace(name))
				h[last] = append(h[last], strings.TrimSpace(value))
			}
		}
		if err != nil {
			return h, nil
		}
	}
}

// readCapture makes a capture of a record, if it is one of a robots.txt.
func readCapture(h http.Header, block io.Reader) (c Capture, use bool, err error) {
	kind := h.Get("Warc-Type")
	silent := kind == "metadata" && h.Get(fieldState) != "" // of ours: nothing was answered
	if kind != "response" && kind != "revisit" && !silent {
		return c, false, nil
	}
	target := strings.Trim(h.Get("Warc-Target-Uri"), "<>")
	u, err := url.Parse(target)
	if err != nil {
		return c, false, errWARC{fmt.Sprintf("WARC-Target-URI %.80q is not a URL", target)}
	}
	if u.EscapedPath() != "/robots.txt" || u.Scheme != "http" && u.Scheme != "https" {
		return c, false, nil
	}
	c.Origin = u.Scheme + "://" + u.Host
	if c.At, err = time.Parse(time.RFC3339Nano, h.Get("Warc-Date")); err != nil {
		return c, false, errWARC{fmt.Sprintf("WARC-Date %q is not a time", h.Get("Warc-Date"))}
	}
	c.Digest = h.Get("Warc-Payload-Digest")
	if a, err := netip.ParseAddr(h.Get("Warc-Ip-Address")); err == nil {
		c.Address = netip.AddrPortFrom(a, portOf(u))
	}
	c.State, c.Reason = fetch.State(h.Get(fieldState)), fetch.Reason(h.Get(fieldReason))
	c.Detail, c.FinalURL = h.Get(fieldDetail), h.Get(fieldFinalURL)
	switch {
	case kind == "revisit":
		return c, true, revisit(&c, h, block)
	case silent:
		return c, true, nil
	}
	return c, true, response(&c, h.Get("Warc-Truncated"), block)
}

func portOf(u *url.URL) uint16 {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return uint16(n)
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

// response reads an HTTP answer as it was sent.
func response(c *Capture, truncated string, block io.Reader) error {
	r := bufio.NewReaderSize(block, 16<<10)
	if err := httpHead(c, r); err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(r, maxWARCBody))
	if err != nil {
		return err
	}
	c.Body = body
	if strings.EqualFold(c.Header.Get("Transfer-Encoding"), "chunked") {
		// Some archives keep the header and not the chunks.
		if plain, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body))); err == nil {
			c.Body = plain
		}
	}
	switch {
	case truncated == "":
	case truncated == "length":
		c.Cut = true
	default:
		c.Body, c.Error = nil, string(fetch.TruncatedBody)
	}
	return nil
}

func httpHead(c *Capture, r *bufio.Reader) error {
	line, err := blankLines(r)
	if err != nil {
		return errWARC{"its HTTP answer is empty"}
	}
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if c.Status, err = strconv.Atoi(code); err != nil || !strings.HasPrefix(version, "HTTP/") || c.Status < 100 {
		return errWARC{fmt.Sprintf("want the status line of an HTTP answer, not %.40q", line)}
	}
	c.Header, err = readFields(r)
	return err
}

// revisit reads a record that says that what was answered is known already.
func revisit(c *Capture, h http.Header, block io.Reader) error {
	c.Revisit = true
	if c.Digest == "" {
		return errWARC{"a revisit without WARC-Payload-Digest: what it refers to cannot be found"}
	}
	r := bufio.NewReader(block)
	if _, err := r.Peek(1); err != nil {
		return nil // the answer's own header was not kept
	}
	return httpHead(c, r)
}
