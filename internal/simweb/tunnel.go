package simweb

import (
	"io"
	"net"
	"net/http"
	"sync"
)

// tunnels is a listener whose connections come in through CONNECT.
type tunnels struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newTunnels(addr net.Addr) *tunnels {
	return &tunnels{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// connect hands the connection of a CONNECT request over.
func (t *tunnels) connect(rw http.ResponseWriter) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		http.Error(rw, "CONNECT needs HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		conn.Close()
		return
	}
	select {
	case t.conns <- conn:
	case <-t.closed:
		conn.Close()
	}
}

func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case conn := <-t.conns:
		return conn, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

func (t *tunnels) Addr() net.Addr { return t.addr }
