package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/robotswatch/robotswatch/robots"
)

// sourceHelp describes SOURCE in the help of the commands that take one.
const sourceHelp = `a file, "-" for standard input, or an http(s) URL`

// readLimit is how much of a file or of standard input is read: what is used
// of it, and one octet more, which tells that something lies beyond.
const readLimit = robots.DefaultMaxBytes + 1

// checkFormat checks --format of commands that answer as text or JSON.
func checkFormat(format string) error {
	if format != "text" && format != "json" {
		return fmt.Errorf("--format %q: allowed are text and json", format)
	}
	return nil
}

// sourceText is what was read of a source.
type sourceText struct {
	text []byte
	more bool // it goes on beyond the limit; text ends with the last whole line
}

// source reads a robots.txt from where a person pointed to, and says on
// stderr when it is not all used.
func (a *app) source(ctx context.Context, name string, flags lookFlags) ([]byte, error) {
	s, err := a.readSource(ctx, name, flags)
	if s.more {
		fmt.Fprintf(a.stderr, "robotswatch: %s: only the first %d octets are read\n", name, robots.DefaultMaxBytes)
	}
	return s.text, err
}

func (a *app) readSource(ctx context.Context, name string, flags lookFlags) (sourceText, error) {
	switch {
	case name == "-":
		s, err := readText(a.stdin)
		if err != nil {
			return s, fmt.Errorf("standard input: %w", err)
		}
		return s, nil
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return a.fetchSource(ctx, name, flags)
	}
	f, err := os.Open(name)
	if err != nil {
		return sourceText{}, fmt.Errorf("%w (a source is %s)", err, sourceHelp)
	}
	defer f.Close()
	s, err := readText(f)
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func readText(r io.Reader) (sourceText, error) {
	b, err := io.ReadAll(io.LimitReader(r, readLimit))
	if err != nil {
		return sourceText{}, err
	}
	text, more := robots.Cut(b, robots.DefaultMaxBytes)
	return sourceText{text, more}, nil
}
