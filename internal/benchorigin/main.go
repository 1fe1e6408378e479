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
// it; -delay holds each answer back. The line "change" on standard input changes
// every file, and from then on no two hosts have the same; the line "busiest"
// is answered with the most requests that were open at once since the last one.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robotswatch/robotswatch/internal/testpki"
)

// origin is what all hosts serve.
type origin struct {
	version atomic.Int64 // from 1
	delay   time.Duration

	mu            sync.Mutex
	open, busiest int // requests
}

// enter counts a request until it is answered.
func (o *origin) enter() (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open++
	o.busiest = max(o.busiest, o.open)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.open--
	}
}

// sinceLast gives the most requests that were open at once since the last call.
func (o *origin) sinceLast() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.busiest
	o.busiest = o.open
	return n
}

func (o *origin) tag() string { return fmt.Sprintf(`"5f1e-%d"`, o.version.Load()) }

// policy of a host is of the usual size. The first version is the same
// everywhere; each later one is the host's own and treats another crawler
// differently.
func (o *origin) policy(host string) string {
	v := int(o.version.Load())
	var b strings.Builder
	b.WriteString("User-agent: *\nDisallow: /private/\n")
	for i := range 12 {
		fmt.Fprintf(&b, "Disallow: /section-%d/*?sort=\nAllow: /section-%d/index.html$\n", i, i)
	}
	if v > 1 {
		fmt.Fprintf(&b, "Disallow: /drafts-of-%s/\n", host)
	}
	blocked := []string{"GPTBot", "CCBot", "ClaudeBot", "PerplexityBot"}
	for i, agent := range blocked {
		if i != v%len(blocked) {
			fmt.Fprintf(&b, "\nUser-agent: %s\nDisallow: /\n", agent)
		}
	}
	return b.String()
}

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
	o := &origin{delay: delay}
	o.version.Store(1)
	quiet := log.New(io.Discard, "", 0)
	go o.servePlain(plain)
	go (&http.Server{Handler: http.HandlerFunc(o.answer), ErrorLog: quiet, TLSConfig: &tls.Config{GetCertificate: leaves(ca)}}).ServeTLS(secure, "", "")
	fmt.Println(port(plain), port(secure))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "change":
			o.version.Add(1)
		case "busiest":
			fmt.Println(o.sinceLast())
		default:
			return fmt.Errorf("%q on standard input; it takes change and busiest", lines.Text())
		}
	}
	return lines.Err()
}

// servePlain answers one request a connection, with as little work as can be:
// the machine's time is for the client. A request is one small packet here.
func (o *origin) servePlain(l net.Listener) {
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
			defer o.enter()()
			time.Sleep(o.delay)
			tag := o.tag()
			if bytes.Contains(request[:n], []byte("If-None-Match: "+tag)) {
				fmt.Fprintf(c, "HTTP/1.1 304 Not Modified\r\nEtag: %s\r\nConnection: close\r\n\r\n", tag)
				return
			}
			policy := o.policy(c.LocalAddr().(*net.TCPAddr).IP.String())
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nEtag: %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
				tag, len(policy), policy)
		}()
	}
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func (o *origin) answer(w http.ResponseWriter, r *http.Request) {
	defer o.enter()()
	time.Sleep(o.delay)
	tag := o.tag()
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, o.policy(r.Host))
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
