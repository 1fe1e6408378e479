// Package netpolicy decides which addresses outgoing connections may reach.
// The check is made on the connected address, after name resolution, on every
// hop: whatever a name says, loopback, private, link-local, metadata and other
// special networks are refused unless they are allowed explicitly.
//
// What is special is taken from code.dny.dev/ssrf, which follows the IANA
// special-purpose registries; this package adds the words, the forms in which
// an IPv4 address hides in an IPv6 one, and the settings.
package netpolicy

import (
	"context"
	"net"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// Policy is immutable; its zero value refuses every special network.
type Policy struct {
	// AllowPrivate (allow_private_networks) allows loopback, link-local,
	// private, shared and unique local addresses. Networks in which no server
	// can live (multicast, documentation, reserved, ...) stay refused.
	AllowPrivate bool
	// Allow (allow_networks) are allowed all the same.
	Allow []netip.Prefix
}

// RefusedError says which address was refused and why.
type RefusedError struct {
	Address netip.Addr
	Why     string // "loopback", "private (RFC 1918)", ...
}

func (e *RefusedError) Error() string {
	return "address " + e.Address.String() + " is refused: " + e.Why
}

// Check reports a *RefusedError when the address must not be connected to.
// An IPv4-mapped address counts as the IPv4 address it is; one behind NAT64
// (RFC 6052) is refused when the IPv4 address it stands for is.
func (p Policy) Check(a netip.Addr) error {
	if !a.IsValid() {
		return &RefusedError{Address: a, Why: "not an IP address"}
	}
	// A zone would hide the address from every prefix.
	plain := a.WithZone("").Unmap()
	if p.allows(plain) {
		return nil
	}
	target := plain
	if ssrf.IPv6NAT64Prefix.Contains(plain) {
		if target = behindNAT64(plain); p.allows(target) {
			return nil
		}
	}
	network, special := classify(target)
	if !special || p.AllowPrivate && network.private {
		return nil
	}
	why := network.name
	if target != plain {
		why += " behind NAT64"
	}
	return &RefusedError{Address: a, Why: why}
}

func (p Policy) allows(a netip.Addr) bool {
	for _, prefix := range p.Allow {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// behindNAT64 is the IPv4 address in the last 32 bits.
func behindNAT64(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// Dialer is d with the policy applied to each address just before it is
// connected to, before any control function that d has already.
func (p Policy) Dialer(d net.Dialer) *net.Dialer {
	control, controlContext := d.Control, d.ControlContext
	d.ControlContext = func(ctx context.Context, netw, address string, c syscall.RawConn) error {
		// What cannot be parsed (a Unix socket) is no IP address and refused.
		target, _ := netip.ParseAddrPort(address)
		if err := p.Check(target.Addr()); err != nil {
			return err
		}
		switch {
		case controlContext != nil:
			return controlContext(ctx, netw, address, c)
		case control != nil:
			return control(netw, address, c)
		}
		return nil
	}
	return &d
}
