package fetch

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// What this machine lacks is told as that, wherever it was met: in resolving
// a name as in connecting.
func TestWantOfOurOwnIsNamed(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)},
		&net.DNSError{Err: "lookup failed", Name: "a.example", UnwrapErr: &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("socket", syscall.ENFILE)}},
		&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("sendto", syscall.ENOBUFS)},
	} {
		if reason, detail := explain(err); reason != NoResources || detail == "" {
			t.Errorf("%v: %s, %q", err, reason, detail)
		}
	}
}
