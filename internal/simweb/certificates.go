package simweb

import (
	"crypto/tls"
	"sync"

	"github.com/robotswatch/robotswatch/internal/testpki"
)

// certificates signs one for each host that is asked for.
type certificates struct {
	*testpki.Authority
	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

func newCertificates() (*certificates, error) {
	authority, err := testpki.New()
	return &certificates{Authority: authority, leaves: map[string]*tls.Certificate{}}, err
}

func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return c.of(hello.ServerName) },
	}
}

func (c *certificates) of(name string) (*tls.Certificate, error) {
	if name == "" {
		name = "127.0.0.1" // addresses are not named in the handshake
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if leaf := c.leaves[name]; leaf != nil {
		return leaf, nil
	}
	leaf, err := c.Issue(testpki.Leaf{Names: []string{name}})
	if err != nil {
		return nil, err
	}
	c.leaves[name] = &leaf
	return &leaf, nil
}
