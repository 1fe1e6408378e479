package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// File writes a file that is there whole or not at all. A symbolic link leads
// to the file that is written. A device or a pipe is written to: a file in its
// place would take it away from everybody.
func File(path string, write func(w io.Writer) error) (err error) {
	mode := fs.FileMode(0o644)
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return into(path, write)
	case err == nil:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(path); err == nil { // to a file that is still to come
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			return File(target, write)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// into writes to what is there.
func into(path string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// spoolOctets is how many octets of rows wait in memory, of all days
// together.
const spoolOctets = 8 << 20

// Days writes rows of one table to a file a day, DIR/day=2026-11-30/NAME, in
// the layout that readers of partitioned data know. Rows may come in any
// order: they are spooled to disk by day first.
type Days[R any] struct {
	dir, name string
	day       func(R) time.Time
	open      func(io.Writer) Writer[R]
	spool     string
	waiting   map[string]*bytes.Buffer
	octets    int
	days      map[string]bool
}

// NewDays begins in a directory, which is made where it is missing.
func NewDays[R any](dir, name string, day func(R) time.Time, open func(io.Writer) Writer[R]) (*Days[R], error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	spool, err := os.MkdirTemp(dir, ".spool-")
	if err != nil {
		return nil, err
	}
	return &Days[R]{dir: dir, name: name, day: day, open: open, spool: spool, waiting: map[string]*bytes.Buffer{}, days: map[string]bool{}}, nil
}

// Write spools a row.
func (d *Days[R]) Write(row R) error {
	day := d.day(row).UTC().Format(time.DateOnly)
	buf := d.waiting[day]
	if buf == nil {
		buf = new(bytes.Buffer)
		d.waiting[day] = buf
	}
	was := buf.Len()
	if err := json.NewEncoder(buf).Encode(row); err != nil {
		return err
	}
	if d.octets += buf.Len() - was; d.octets < spoolOctets {
		return nil
	}
	return d.flush()
}

func (d *Days[R]) flush() error {
	for day, buf := range d.waiting {
		f, err := os.OpenFile(filepath.Join(d.spool, day), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(buf.Bytes())
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		d.days[day] = true
	}
	clear(d.waiting)
	d.octets = 0
	return nil
}

// Close writes the files of all days that have rows, each in place of the one
// that may be there.
func (d *Days[R]) Close() (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(d.spool)) }()
	if err := d.flush(); err != nil {
		return err
	}
	var days []string
	for day := range d.days {
		days = append(days, day)
	}
	slices.Sort(days)
	for _, day := range days {
		dir := filepath.Join(d.dir, "day="+day)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := File(filepath.Join(dir, d.name), func(w io.Writer) error { return d.convert(day, w) }); err != nil {
			return fmt.Errorf("rows of %s: %w", day, err)
		}
	}
	return nil
}

// Drop removes what was spooled, after an error.
func (d *Days[R]) Drop() error { return os.RemoveAll(d.spool) }

func (d *Days[R]) convert(day string, w io.Writer) error {
	f, err := os.Open(filepath.Join(d.spool, day))
	if err != nil {
		return err
	}
	defer f.Close()
	out := d.open(w)
	for dec := json.NewDecoder(f); ; {
		var row R
		if err := dec.Decode(&row); errors.Is(err, io.EOF) {
			return out.Close()
		} else if err != nil {
			return err
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
}
