package simweb

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority signs a certificate for each host that is asked for, with one key
// for all of them and an intermediate, as the real web has it.
type authority struct {
	pool         *x509.CertPool
	intermediate *x509.Certificate
	signer       crypto.Signer
	leafKey      crypto.Signer

	mu     sync.Mutex
	serial int64
	leaves map[string]*tls.Certificate
}

func newAuthority() (*authority, error) {
	a := &authority{pool: x509.NewCertPool(), leaves: map[string]*tls.Certificate{}}
	rootKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if a.signer, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader); err != nil {
		return nil, err
	}
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	root, err := a.sign(ca("Simulated Root"), nil, rootKey.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	a.pool.AddCert(root)
	a.intermediate, err = a.sign(ca("Simulated Intermediate"), root, a.signer.Public(), rootKey)
	return a, err
}

func ca(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

// sign completes a template; without a parent it is its own.
func (a *authority) sign(template, parent *x509.Certificate, key crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(90 * 24 * time.Hour)
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (a *authority) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return a.leaf(hello.ServerName) },
	}
}

func (a *authority) leaf(name string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[name]; c != nil {
		return c, nil
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if name == "" {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} // addresses are not named in the handshake
	} else {
		template.DNSNames = []string{name}
	}
	cert, err := a.sign(template, a.intermediate, a.leafKey.Public(), a.signer)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{cert.Raw, a.intermediate.Raw}, PrivateKey: a.leafKey, Leaf: cert}
	a.leaves[name] = c
	return c, nil
}
