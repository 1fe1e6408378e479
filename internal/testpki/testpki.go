// Package testpki makes certificate chains for tests and benchmarks: an
// authority of its own, with an intermediate, and leaves good and bad.
package testpki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Authority signs leaves by way of one intermediate.
type Authority struct {
	Root         *x509.Certificate
	Intermediate *x509.Certificate
	key          crypto.Signer // of the intermediate
	leafKey      *ecdsa.PrivateKey
}

// New makes an authority out of P-256 keys: quick.
func New() (*Authority, error) {
	root, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return build(root, elliptic.P256())
}

// NewRealistic makes the chain that is usual on the web: an RSA-4096 root and
// a P-384 intermediate. It takes seconds.
func NewRealistic() (*Authority, error) {
	root, err := rsa.GenerateKey(rand.Reader, 4096)
	if err != nil {
		return nil, err
	}
	return build(root, elliptic.P384())
}

func build(rootKey crypto.Signer, middle elliptic.Curve) (*Authority, error) {
	now := time.Now()
	ca := x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: "Test Root", Organization: []string{"Tests"}},
		NotBefore:    now.Add(-10 * 365 * 24 * time.Hour),
		NotAfter:     now.Add(10 * 365 * 24 * time.Hour),
		IsCA:         true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	root, err := sign(&ca, &ca, rootKey.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(middle, rand.Reader)
	if err != nil {
		return nil, err
	}
	ca.SerialNumber = serial()
	ca.Subject.CommonName = "Test Intermediate"
	ca.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	ca.MaxPathLenZero = true
	intermediate, err := sign(&ca, root, key.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Authority{Root: root, Intermediate: intermediate, key: key, leafKey: leafKey}, nil
}

// Roots is a pool with the root alone.
func (a *Authority) Roots() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Root)
	return p
}

// RootPEM is the root as a PEM block.
func (a *Authority) RootPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Root.Raw})
}

// Leaf says what a certificate is to be like; the zero value of each field is
// a usual, good one.
type Leaf struct {
	Names      []string // host names and IP addresses
	NotBefore  time.Time
	NotAfter   time.Time
	SelfSigned bool
}

// Issue makes a leaf with its chain. Leaves share one key: making keys would
// be most of the time otherwise.
func (a *Authority) Issue(l Leaf) (tls.Certificate, error) {
	now := time.Now()
	if l.NotBefore.IsZero() {
		l.NotBefore = now.Add(-24 * time.Hour)
	}
	if l.NotAfter.IsZero() {
		l.NotAfter = now.Add(89 * 24 * time.Hour)
	}
	t := x509.Certificate{
		SerialNumber: serial(),
		NotBefore:    l.NotBefore, NotAfter: l.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		OCSPServer:  []string{"http://ocsp.invalid"}, IssuingCertificateURL: []string{"http://ca.invalid/i.crt"},
		BasicConstraintsValid: true,
	}
	for _, n := range l.Names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	if len(l.Names) > 0 {
		t.Subject.CommonName = l.Names[0]
	}
	if l.SelfSigned {
		cert, err := sign(&t, &t, a.leafKey.Public(), a.leafKey)
		if err != nil {
			return tls.Certificate{}, err
		}
		return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: a.leafKey, Leaf: cert}, nil
	}
	cert, err := sign(&t, a.Intermediate, a.leafKey.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{cert.Raw, a.Intermediate.Raw}, PrivateKey: a.leafKey, Leaf: cert}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", template.Subject, err)
	}
	return x509.ParseCertificate(der)
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the system's randomness is gone
	}
	return n
}
