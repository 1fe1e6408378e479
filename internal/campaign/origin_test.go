//go:build !race

package campaign

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
)

// origin is a benchorigin process.
type origin struct {
	http, https int
	roots       string // file of the root certificate
	in          io.Writer
	out         io.Reader
}

func startOrigin(t *testing.T, flags ...string) origin {
	t.Helper()
	o := origin{roots: filepath.Join(t.TempDir(), "roots.pem")}
	cmd := exec.Command(binary(t, "benchorigin"), append(flags, "-roots", o.roots)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	o.in, o.out = in, bufio.NewReader(out)
	if _, err := fmt.Fscan(o.out, &o.http, &o.https); err != nil {
		t.Fatal(err)
	}
	return o
}

// change gives every host another file.
func (o origin) change(t *testing.T) {
	t.Helper()
	if _, err := fmt.Fprintln(o.in, "change"); err != nil {
		t.Fatal(err)
	}
}

// busiest is the most requests that were open at once since the last call.
func (o origin) busiest(t *testing.T) (n int) {
	t.Helper()
	if _, err := fmt.Fprintln(o.in, "busiest"); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(o.out, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
