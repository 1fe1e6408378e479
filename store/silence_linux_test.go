package store

import (
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel gives up a server that vanished when it was told to, both while
// something waits to be received and while nothing is said.
func TestConnectionsToPostgreSQLNoticeSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := postgresDialer(time.Second).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (v int) {
		t.Helper()
		var failed error
		if err := raw.Control(func(fd uintptr) { v, failed = unix.GetsockoptInt(int(fd), level, name) }); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		return v
	}
	if ms := option(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); ms != int(postgresSilence.Milliseconds()) {
		t.Errorf("what was sent may wait %d ms, want %v", ms, postgresSilence)
	}
	idle, interval, count := option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE), option(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL), option(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	if on := option(unix.SOL_SOCKET, unix.SO_KEEPALIVE); on == 0 || time.Duration(idle+interval*count)*time.Second != postgresSilence {
		t.Errorf("keepalive %d, first after %d s, then %d every %d s: want %v in all", on, idle, count, interval, postgresSilence)
	}
	l, err = net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if conn, err := postgresDialer(time.Second).DialContext(t.Context(), "unix", l.Addr().String()); err != nil {
		t.Errorf("a socket in the file system: %v", err)
	} else {
		conn.Close()
	}
}
