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

// readLimit is how much of a file or of standard input is read: what a
// parser with the default limit can use, and one octet more, so that it
// notices what lies beyond.
const readLimit = robots.DefaultMaxBytes + 1

// source reads a robots.txt from where a person pointed to.
func (a *app) source(ctx context.Context, name string, flags lookFlags) ([]byte, error) {
	switch {
	case name == "-":
		b, err := io.ReadAll(io.LimitReader(a.stdin, readLimit))
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return b, nil
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return a.fetchSource(ctx, name, flags)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w (a source is %s)", err, sourceHelp)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, readLimit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}
