package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/robotswatch/robotswatch/netpolicy"
)

// explain names why a hop failed, and says it in a sentence.
func explain(err error) (Reason, string) {
	if what := shortOf(err); what != "" {
		return NoResources, "this machine has run short of " + what
	}
	for _, f := range []func(error) (Reason, string){explainOurs, explainDNS, explainTLS, explainNet} {
		if r, detail := f(err); r != NoReason {
			return r, detail
		}
	}
	return NetworkError, err.Error()
}

// explainOurs knows the errors that this package makes.
func explainOurs(err error) (Reason, string) {
	var refused *netpolicy.RefusedError
	var bad *badAnswer
	var proxy *proxyError
	switch {
	case errors.Is(err, errBusy):
		return Busy, err.Error()
	case errors.As(err, &proxy):
		return ProxyFailed, err.Error()
	case errors.As(err, &refused):
		return AddressRefused, refused.Error()
	case errors.Is(err, errTraffic):
		return TooMuchTraffic, errTraffic.Error()
	case errors.Is(err, errHeader):
		return HeaderTooLarge, fmt.Sprintf("the headers are longer than %d octets", MaxHeaderBytes)
	case errors.Is(err, errInterim):
		return BadAnswer, errInterim.Error()
	case errors.Is(err, errTruncated):
		return TruncatedBody, errTruncated.Error()
	case errors.Is(err, errNoAnswer):
		return ConnReset, "the connection was closed without an answer"
	case errors.As(err, &bad):
		return BadAnswer, bad.Error()
	}
	return NoReason, ""
}

func explainDNS(err error) (Reason, string) {
	var dns *net.DNSError
	if !errors.As(err, &dns) {
		return NoReason, ""
	}
	switch {
	case dns.IsNotFound:
		return DNSNotFound, "the name " + dns.Name + " does not exist or has no address"
	case dns.IsTimeout:
		return DNSTimeout, "the name servers did not answer for " + dns.Name + " in time"
	}
	return DNSFailure, "the name servers could not answer for " + dns.Name + ": " + dns.Err
}

func explainTLS(err error) (Reason, string) {
	var (
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		op        *net.OpError
	)
	switch {
	case errors.As(err, &invalid):
		return explainInvalid(invalid)
	case errors.As(err, &name):
		return TLSWrongName, name.Error()
	case errors.As(err, &authority):
		if c := authority.Cert; c != nil && selfSigned(c) {
			return TLSSelfSigned, "the certificate " + subject(c) + " is signed by itself"
		}
		return TLSUnknownAuthority, "the certificate is signed by an authority that is not trusted here"
	case errors.Is(err, errNoCertificate), errors.As(err, &verify):
		return TLSBadCertificate, err.Error()
	case errors.As(err, &record):
		return TLSNotTLS, "what answers does not speak TLS: " + record.Msg
	case errors.As(err, &op) && op.Op == "remote error", errors.Is(err, errHandshake):
		if r, detail := explainNet(err); r != NoReason {
			return r, detail
		}
		return TLSHandshake, "no common way to speak TLS: " + err.Error()
	}
	return NoReason, ""
}

// selfSigned reports whether a certificate names itself as its issuer.
func selfSigned(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) }

func explainInvalid(e x509.CertificateInvalidError) (Reason, string) {
	if e.Reason != x509.Expired {
		return TLSBadCertificate, e.Error()
	}
	const day = "2006-01-02"
	// One reason of x509 for both ends; the detail tells them apart.
	if e.Cert != nil && strings.Contains(e.Detail, "is before") {
		return TLSNotYetValid, "the certificate " + subject(e.Cert) + " is valid from " + e.Cert.NotBefore.UTC().Format(day)
	}
	if e.Cert != nil {
		return TLSExpired, "the certificate " + subject(e.Cert) + " ended on " + e.Cert.NotAfter.UTC().Format(day)
	}
	return TLSExpired, e.Error()
}

// shortOf names what this machine has run short of, "" for nothing.
func shortOf(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "file descriptors"
	case errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
		return "memory for the network"
	}
	return ""
}

func explainNet(err error) (Reason, string) {
	var netErr net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &netErr) && netErr.Timeout():
		return Timeout, "no complete answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return ConnRefused, "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ConnReset, "the connection was reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return NoRoute, "there is no route to the address"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ConnReset, "the connection was closed without an answer"
	}
	return NoReason, ""
}

// subject names a certificate for people.
func subject(c *x509.Certificate) string {
	switch {
	case c.Subject.CommonName != "":
		return c.Subject.CommonName
	case len(c.DNSNames) > 0:
		return c.DNSNames[0]
	}
	return c.Subject.String()
}
