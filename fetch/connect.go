package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// errBusy: no turn at the address in time.
var errBusy = errors.New("no turn at the address in time")

// connect opens a connection to the hop's host. The addresses are resolved
// here, checked, and connected to as they are, so that a name cannot say one
// thing when it is checked and another when it is used. release gives back the
// turn at the address; it is never nil when err is.
func (l *look) connect(ctx context.Context, h hop) (conn net.Conn, release func(), err error) {
	c := l.client
	if c.set.Proxy != nil {
		conn, err = l.connectProxy(ctx, h)
		return conn, func() {}, err
	}
	addrs, err := l.resolve(ctx, h)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range addrs {
		if err = l.turn(ctx, a); err != nil {
			return nil, nil, err
		}
		to := netip.AddrPortFrom(a, h.port)
		conn, err = l.dial(ctx, to, len(addrs)-i)
		if err == nil {
			l.out.Address = to
			return conn, func() { c.limit.release(a) }, nil
		}
		c.limit.release(a)
		if ctx.Err() != nil || !time.Now().Before(l.deadline) {
			break
		}
	}
	return nil, nil, err
}

// dial tries one address, with a fair share of the time that is left when
// others remain to be tried.
func (l *look) dial(ctx context.Context, to netip.AddrPort, remaining int) (net.Conn, error) {
	until := l.deadline
	if remaining > 1 {
		until = time.Now().Add(time.Until(l.deadline) / time.Duration(remaining))
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	conn, err := l.client.dialer.DialTCP(ctx, "tcp", netip.AddrPort{}, to)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// turn waits for a place at the address. The wait is our own doing, so that
// the site's deadline moves on by as much.
func (l *look) turn(ctx context.Context, a netip.Addr) error {
	start := time.Now()
	err := l.client.limit.acquire(ctx, a, l.client.set.Timeout-l.waited)
	waited := time.Since(start)
	l.waited += waited
	l.deadline = l.deadline.Add(waited)
	if err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	return nil
}

// resolve gives the addresses to try, at least one, all allowed.
func (l *look) resolve(ctx context.Context, h hop) ([]netip.Addr, error) {
	found := []netip.Addr{h.addr}
	if !h.addr.IsValid() {
		ctx, cancel := context.WithDeadline(ctx, l.deadline)
		defer cancel()
		var err error
		found, err = l.client.set.Resolver.LookupNetIP(ctx, "ip", h.host)
		if err != nil {
			return nil, err
		}
	}
	var refused error
	allowed := make([]netip.Addr, 0, MaxAttempts)
	for _, a := range interleave(found) {
		if err := l.client.set.Policy.Check(a); err != nil {
			refused = err
			continue
		}
		if len(allowed) < MaxAttempts {
			allowed = append(allowed, a)
		}
	}
	if len(allowed) > 0 {
		return allowed, nil
	}
	if refused != nil {
		return nil, fmt.Errorf("%s: %w", h.host, refused)
	}
	return nil, &net.DNSError{Err: "no address", Name: h.host, IsNotFound: true}
}

// interleave unmaps the addresses and moves the first of the other family to
// the second place, so that a broken family costs one attempt.
func interleave(found []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, len(found))
	for i, a := range found {
		out[i] = a.Unmap()
	}
	for i := 1; i < len(out); i++ {
		if out[i].Is4() != out[0].Is4() {
			other := out[i]
			copy(out[2:i+1], out[1:i])
			out[1] = other
			break
		}
	}
	return out
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("port %q is not between 1 and 65535", s)
	}
	return uint16(n), nil
}
