// Package pipes is for tests of servers whose time is the test's: connections
// in memory, on which nobody waits but those who talk.
package pipes

import "net"

// Listener gives a server the connections that are sent on it.
type Listener chan net.Conn

// Dial connects, and gives the client's end.
func (l Listener) Dial() net.Conn {
	client, server := net.Pipe()
	l <- server
	return client
}

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, open := <-l
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close implements net.Listener.
func (l Listener) Close() error { close(l); return nil }

// Addr implements net.Listener.
func (l Listener) Addr() net.Addr { return &net.TCPAddr{} }
