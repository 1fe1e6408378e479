package history

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/robotswatch/robotswatch/watcher"
)

const (
	// One partition is in memory at a time. With as many as these for each
	// octet that there is to read, packed input included, it takes a few dozen
	// MiB.
	minPartitions   = 16
	maxPartitions   = 512
	partitionOctets = 4 << 20 // of input for one partition
	spillBuffer     = 16 << 10
	// spillBodies is how many bodies are remembered as written; beyond it some
	// are written again.
	spillBodies = 400_000
)

// spill keeps looks on disk, each site's in one of the partitions. A body that
// many looks share is written to a partition once.
type spill struct {
	dir     string
	files   []*os.File
	writers []*bufio.Writer
	written map[bodyIn]struct{}
	buf     []byte
	looks   int64
}

// bodyIn is a body in a partition.
type bodyIn struct {
	hash      [16]byte
	partition uint16
}

// newSpill makes a directory in parent ("" is the system's) for size octets
// of input, 0 when that is not known.
func newSpill(parent string, size int64) (_ *spill, err error) {
	n := int(min(max(size/partitionOctets, minPartitions), maxPartitions))
	if size == 0 {
		n = maxPartitions / 4
	}
	s := &spill{written: make(map[bodyIn]struct{})}
	if s.dir, err = os.MkdirTemp(parent, "robotswatch-backfill-"); err != nil {
		return nil, err
	}
	for i := range n {
		f, err := os.OpenFile(filepath.Join(s.dir, strconv.Itoa(i)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.files = append(s.files, f)
		s.writers = append(s.writers, bufio.NewWriterSize(f, spillBuffer))
	}
	return s, nil
}

func (s *spill) close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

func (s *spill) add(l *look) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(l.site)) // never fails
	p := int(h.Sum32() % uint32(len(s.files)))
	body := false
	if l.out.Body != nil {
		key := bodyIn{[16]byte(l.hash[:16]), uint16(p)}
		if _, ok := s.written[key]; !ok {
			if len(s.written) >= spillBodies {
				clear(s.written)
			}
			s.written[key] = struct{}{}
			body = true
		}
	}
	s.buf = l.append(s.buf[:0], body)
	s.looks++
	w := s.writers[p]
	if _, err := w.Write(binary.AppendUvarint(nil, uint64(len(s.buf)))); err != nil {
		return err
	}
	_, err := w.Write(s.buf)
	return err
}

// siteLooks are the looks of one site in order.
type siteLooks struct {
	site  string
	looks []look
}

// each gives partition after partition, its sites in order of their names.
func (s *spill) each(ctx context.Context, fn func([]siteLooks) error) error {
	s.written = nil
	for i := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		sites, err := s.load(i)
		if err == nil {
			err = fn(sites)
		}
		if err != nil {
			return err
		}
		if err := s.files[i].Truncate(0); err != nil {
			return err
		}
	}
	return nil
}

func (s *spill) load(i int) ([]siteLooks, error) {
	if err := s.writers[i].Flush(); err != nil {
		return nil, err
	}
	s.writers[i] = nil
	if _, err := s.files[i].Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(s.files[i], readBuffer)
	in := lookReader{texts: make(map[string]string), bodies: make(map[watcher.Hash][]byte)}
	var all []look
	var buf []byte
	for {
		n, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			buf = slices.Grow(buf[:0], int(n))[:n]
			_, err = io.ReadFull(r, buf)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSpill, err)
		}
		l, err := in.look(buf)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	for i := range all {
		if l := &all[i]; !l.hash.IsZero() {
			l.out.Body = in.bodies[l.hash]
		}
	}
	return bySite(all), nil
}

// bySite groups looks; the groups share the memory of all.
func bySite(all []look) []siteLooks {
	slices.SortStableFunc(all, func(a, b look) int {
		if a.site != b.site {
			if a.site < b.site {
				return -1
			}
			return 1
		}
		return a.compare(&b)
	})
	var sites []siteLooks
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].site == all[from].site {
			to++
		}
		sites = append(sites, siteLooks{all[from].site, all[from:to]})
		from = to
	}
	return sites
}
