package store

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitSilence makes a TCP connection fail when what was sent is not received
// within postgresSilence; the system's own patience is a quarter of an hour.
func limitSilence(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(postgresSilence.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
