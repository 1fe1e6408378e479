package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/robotswatch/robotswatch/fetch"
)

// Capture is one answer of one site as an archive has it.
type Capture struct {
	fetch.Capture
	Digest  string // of the payload, as the archive names it; "" unknown
	Revisit bool   // the payload is the one with this digest, captured another time
	Where   string // file and place in it, for people
}

// Bad is something in the input that could not be used.
type Bad struct {
	Where string // file and line, or file and octet
	What  string // what is wrong
}

func (b Bad) String() string { return b.Where + ": " + b.What }

// Source is a stream of captures.
type Source interface {
	// Size is what there is to read in octets, 0 when that is not known.
	Size() int64
	// Read gives each capture to emit, whose error ends it, and each thing
	// that is not one to bad. read is told of octets as they are read.
	Read(ctx context.Context, emit func(Capture) error, bad func(Bad), read func(octets int)) error
}

// parser reads one opened file.
type parser func(ctx context.Context, name string, r *bufio.Reader, emit func(Capture) error, bad func(Bad)) error

// files is a Source made of files, with one parser for all.
type files struct {
	names []string
	size  int64
	stdin io.Reader
	parse parser
}

// Stdin is the name that stands for the standard input.
const Stdin = "-"

// findFiles lists the files under names: files are taken as they are, of
// directories those with one of the extensions.
func findFiles(names []string, stdin io.Reader, parse parser, extensions ...string) (*files, error) {
	f := &files{stdin: stdin, parse: parse}
	for _, name := range names {
		if name == Stdin {
			f.names = append(f.names, name)
			continue
		}
		explicit := name
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if path != explicit && !slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(path, e) }) {
				return nil
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if info.Mode().IsRegular() {
				f.size += info.Size()
			}
			f.names = append(f.names, path)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(f.names) == 0 {
		return nil, fmt.Errorf("no file to read in %s: want names that end in %s", strings.Join(names, ", "), strings.Join(extensions, ", "))
	}
	if slices.Contains(f.names, Stdin) {
		f.size = 0
	}
	return f, nil
}

// Size implements Source.
func (f *files) Size() int64 { return f.size }

// Read implements Source.
func (f *files) Read(ctx context.Context, emit func(Capture) error, bad func(Bad), read func(int)) error {
	for _, name := range f.names {
		if err := f.readFile(ctx, name, emit, bad, read); err != nil {
			return err
		}
	}
	return nil
}

// readBuffer is how much of a file is read at once, in octets.
const readBuffer = 256 << 10

func (f *files) readFile(ctx context.Context, name string, emit func(Capture) error, bad func(Bad), read func(int)) error {
	in, shown := f.stdin, "standard input"
	if name != Stdin {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in, shown = file, name
	}
	r := bufio.NewReaderSize(counted{in, read}, readBuffer)
	if how := packedOtherwise(r); how != "" {
		bad(Bad{shown, "it is packed with " + how + ", which is not read: unpack it first, into a file or into standard input (-)"})
		return nil
	}
	err := f.parse(ctx, shown, r, emit, bad)
	var broken *brokenError
	if errors.As(err, &broken) {
		bad(Bad{shown, "the rest cannot be read: " + broken.Error()})
		return nil
	}
	return err
}

// brokenError is that the octets of a file end or break where they must not.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// counted tells how much is read.
type counted struct {
	r    io.Reader
	read func(int)
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read(n)
	return n, err
}

// packedOtherwise names the way in which a stream is packed that nobody here
// reads, "" for none.
func packedOtherwise(r *bufio.Reader) string {
	head, _ := r.Peek(4) // what is wrong comes up again
	for magic, name := range map[string]string{"\xfd7zX": "xz", "BZh": "bzip2", "PK\x03\x04": "zip"} {
		if strings.HasPrefix(string(head), magic) {
			return name
		}
	}
	return ""
}

// unpacked gives the content of a stream that may be packed with gzip or zstd,
// which is seen from its first octets.
func unpacked(r *bufio.Reader) (_ *bufio.Reader, release func(), err error) {
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case isGzip(head):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, &brokenError{err}
		}
		return bufio.NewReaderSize(z, readBuffer), func() {}, nil
	case string(head) == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, &brokenError{err}
		}
		return bufio.NewReaderSize(z, readBuffer), z.Close, nil
	}
	return r, func() {}, nil
}

func isGzip(head []byte) bool { return len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b }
