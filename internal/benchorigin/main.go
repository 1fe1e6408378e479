// Command benchorigin is the other side of the benchmarks: a process that
// answers every /robots.txt on any address of this machine, so that the client
// and only the client is measured.
//
// It listens on two free ports, plain and TLS, prints one line
//
//	HTTP-PORT HTTPS-PORT
//
// writes the root certificate to -roots, and ends when its standard input
// does. TLS uses the chain that is usual on the web, with a leaf of its own for
// each name or address asked for. Answers carry an ETag, and 304 follows from
// it; -delay holds each answer back.
package main

import (
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/robotswatch/robotswatch/internal/testpki"
)

const tag = `"5f1e-1"`

const policy = "User-agent: *\nDisallow: /private/\n\nUser-agent: GPTBot\nDisallow: /\n"

func main() {
	roots := flag.String("roots", "", "file for the root certificate")
	delay := flag.Duration("delay", 0, "wait before each answer")
	flag.Parse()
	if err := run(*roots, *delay); err != nil {
		log.Fatal(err)
	}
}

func run(roots string, delay time.Duration) error {
	ca, err := testpki.NewRealistic()
	if err != nil {
		return err
	}
	if roots != "" {
		if err := os.WriteFile(roots, ca.RootPEM(), 0o644); err != nil {
			return err
		}
	}
	plain, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		return err
	}
	secure, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		return err
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, delay) })
	quiet := log.New(io.Discard, "", 0)
	go servePlain(plain, delay)
	go (&http.Server{Handler: handler, ErrorLog: quiet, TLSConfig: &tls.Config{GetCertificate: leaves(ca)}}).ServeTLS(secure, "", "")
	fmt.Println(port(plain), port(secure))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// servePlain answers one request a connection, with as little work as can be:
// the machine's time is for the client. A request is one small packet here.
func servePlain(l net.Listener, delay time.Duration) {
	unchanged := []byte("HTTP/1.1 304 Not Modified\r\nEtag: " + tag + "\r\nConnection: close\r\n\r\n")
	whole := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nEtag: %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", tag, len(policy), policy)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			var request [2048]byte
			n, err := c.Read(request[:])
			if err != nil {
				return
			}
			time.Sleep(delay)
			if bytes.Contains(request[:n], []byte("If-None-Match: "+tag)) {
				c.Write(unchanged)
			} else {
				c.Write(whole)
			}
		}()
	}
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func answer(w http.ResponseWriter, r *http.Request, delay time.Duration) {
	if delay > 0 {
		time.Sleep(delay)
	}
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, policy)
}

// leaves makes a certificate for each name when it is first asked for.
func leaves(ca *testpki.Authority) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	var known sync.Map
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := hello.ServerName
		if name == "" {
			name, _, _ = net.SplitHostPort(hello.Conn.LocalAddr().String())
		}
		if c, ok := known.Load(name); ok {
			return c.(*tls.Certificate), nil
		}
		c, err := ca.Issue(testpki.Leaf{Names: []string{name}})
		if err != nil {
			return nil, err
		}
		known.Store(name, &c)
		return &c, nil
	}
}
