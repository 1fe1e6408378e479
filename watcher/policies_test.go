package watcher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/robotswatch/robotswatch/fetch"
)

// shelf keeps bodies and counts how often each is read.
type shelf struct {
	texts map[Hash][]byte
	reads map[Hash]int
}

func newShelf() *shelf { return &shelf{map[Hash][]byte{}, map[Hash]int{}} }

func (s *shelf) Body(_ context.Context, h Hash) ([]byte, error) {
	s.reads[h]++
	return s.texts[h], nil
}

func (s *shelf) put(text string) Version {
	h := Hash(sha256.Sum256([]byte(text)))
	s.texts[h] = []byte(text)
	return Version{State: fetch.Policy, Body: h}
}

// A file that many sites share is read once, however many others come
// between; what is remembered stays within its bounds.
func TestSharedPoliciesAreReadOnce(t *testing.T) {
	read := newShelf()
	var memory parsed
	get := func(v Version) {
		t.Helper()
		kept := policies{recent: &memory, bodies: read}
		in, err := kept.of(t.Context(), v)
		if err != nil || !bytes.Equal(in.Text, read.texts[v.Body]) {
			t.Fatalf("%s: %v", v.Body, err)
		}
	}
	shared := read.put("User-agent: *\nDisallow: /shared/\n")
	for i := range 2000 {
		get(shared)
		get(read.put(fmt.Sprintf("User-agent: *\nDisallow: /%d/\n%1000d", i, i)))
		if memory.octets > recentOctets {
			t.Fatalf("%d octets are remembered", memory.octets)
		}
	}
	if read.reads[shared.Body] != 1 {
		t.Errorf("the shared file was read %d times", read.reads[shared.Body])
	}
	if n := len(memory.young) + len(memory.old); n > 2*recentOctets/1000 {
		t.Errorf("%d files are remembered", n)
	}
	for _, c := range []struct{ octets, reads int }{{recentLongest, 1}, {recentLongest + 1, 2}} {
		long := read.put(fmt.Sprintf("%*d", c.octets, 1))
		get(long)
		get(long)
		if read.reads[long.Body] != c.reads {
			t.Errorf("a file of %d octets was read %d times, want %d", c.octets, read.reads[long.Body], c.reads)
		}
	}
}

func TestThePolicyOfALookNeedsNoStore(t *testing.T) {
	var memory parsed
	read := newShelf()
	v := read.put("User-agent: *\nDisallow: /found/\n")
	for range 2 { // fresh, and remembered
		kept := policies{recent: &memory}
		kept.find(v.Body, read.texts[v.Body])
		if in, err := kept.of(t.Context(), v); err != nil || !bytes.Equal(in.Text, read.texts[v.Body]) {
			t.Fatalf("%v, %v", in, err)
		}
	}
	none := policies{recent: &memory}
	if in, err := none.of(t.Context(), Version{State: fetch.Absent}); err != nil || len(in.Text) != 0 {
		t.Errorf("%v, %v", in, err)
	}
}
