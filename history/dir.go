package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Dir reads a tree of files, each the robots.txt of a host at a time, both of
// which its name says: example.com/2024-05-01.txt,
// 2024-05-01/example.com/robots.txt, example.com_20240501T120000Z.txt,
// http_example.com_8080-2024-05-01.txt. Times are UTC.
func Dir(root string) (Source, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", root)
	}
	return dir(root), nil
}

type dir string

// Size implements Source.
func (dir) Size() int64 { return 0 }

// maxDirFile is how much of a file is read, in octets; a robots.txt is cut
// sooner.
const maxDirFile = 8 << 20

// Read implements Source.
func (d dir) Read(ctx context.Context, emit func(Capture) error, bad func(Bad), read func(int)) error {
	return filepath.WalkDir(string(d), func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			bad(Bad{path, err.Error()})
			return nil
		case strings.HasPrefix(e.Name(), ".") && path != string(d):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		c := Capture{Where: path}
		relative, err := filepath.Rel(string(d), path)
		if err == nil {
			c.Origin, c.At, err = readName(filepath.ToSlash(relative))
		}
		if err == nil {
			c.Body, err = readStart(path, maxDirFile)
		}
		if err != nil {
			bad(Bad{path, err.Error()})
			return nil
		}
		read(len(c.Body))
		c.Status = 200
		return emit(c)
	})
}

func readStart(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

var (
	nameDate = regexp.MustCompile(`(?:^|[/_.@-])((?:19|20)\d{2})-?(\d{2})-?(\d{2})(?:[T_-]?(\d{2})[:-]?(\d{2})[:-]?(\d{2})Z?)?(?:$|[/_.@-])`)
	nameHost = regexp.MustCompile(`^(?:(https?)(?:_|:?__?|-))?((?:[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9])?\.)+[A-Za-z0-9-]*[A-Za-z0-9]|localhost)(?:[_:+](\d{1,5}))?$`)
)

// readName finds host and time in the path of a file.
func readName(path string) (origin string, at time.Time, err error) {
	for _, end := range []string{"/robots.txt", ".robots.txt", "_robots.txt", ".txt", ".robots"} {
		if short, ok := strings.CutSuffix(path, end); ok {
			path = short
			break
		}
	}
	m := nameDate.FindStringSubmatchIndex(path)
	if m == nil {
		return "", at, errors.New("its name has no date: want HOST/2024-05-01.txt or the like")
	}
	digits := ""
	for i := 1; i <= 6; i++ {
		if m[2*i] < 0 {
			digits += "00"
		} else {
			digits += path[m[2*i]:m[2*i+1]]
		}
	}
	if at, err = time.Parse("20060102150405", digits); err != nil {
		return "", at, fmt.Errorf("its name has a date that does not exist: %s", path[m[2]:m[7]])
	}
	for part := range strings.SplitSeq(path[:m[0]]+"/"+path[m[1]:], "/") {
		h := nameHost.FindStringSubmatch(strings.Trim(part, "_-@."))
		if h == nil {
			continue
		}
		scheme := h[1]
		if scheme == "" {
			scheme = "https"
		}
		origin = scheme + "://" + h[2]
		if h[3] != "" {
			origin += ":" + h[3]
		}
		return origin, at, nil
	}
	return "", at, errors.New("its name has no host: want HOST/2024-05-01.txt or the like")
}
