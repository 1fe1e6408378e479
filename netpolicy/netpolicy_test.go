package netpolicy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"code.dny.dev/ssrf"
	"pgregory.net/rapid"
)

// forbidden addresses, each with a part of the reason and whether
// AllowPrivate lets it through.
var forbidden = []struct {
	address string
	why     string
	private bool
}{
	{"127.0.0.1", "loopback", true},
	{"127.255.255.254", "loopback", true},
	{"::1", "loopback", true},
	{"::ffff:127.0.0.1", "loopback", true},
	{"::ffff:7f00:1", "loopback", true},
	{"::ffff:127.0.0.1%eth0", "loopback", true},
	{"64:ff9b::127.0.0.1", "loopback behind NAT64", true},
	{"169.254.1.1", "link-local", true},
	{"fe80::1", "link-local", true},
	{"fe80::1%eth0", "link-local", true},
	{"febf:ffff::1", "link-local", true},
	{"169.254.169.254", "cloud metadata", true},
	{"::ffff:169.254.169.254", "cloud metadata", true},
	{"64:ff9b::169.254.169.254", "cloud metadata (link-local) behind NAT64", true},
	{"fd00:ec2::254", "unique local", true},
	{"168.63.129.16", "cloud metadata", false},
	{"100.100.100.200", "carrier-grade NAT", true},
	{"192.0.0.192", "special-purpose", false},
	{"10.0.0.0", "RFC 1918", true},
	{"10.255.255.255", "RFC 1918", true},
	{"172.16.0.1", "RFC 1918", true},
	{"172.31.255.255", "RFC 1918", true},
	{"192.168.0.1", "RFC 1918", true},
	{"::ffff:192.168.0.1", "RFC 1918", true},
	{"64:ff9b::10.0.0.1", "RFC 1918", true},
	{"64:ff9b::c0a8:1", "RFC 1918", true},
	{"100.64.0.1", "RFC 6598", true},
	{"100.127.255.255", "RFC 6598", true},
	{"fc00::1", "RFC 4193", true},
	{"fdff:ffff::1", "RFC 4193", true},
	{"fec0::1", "site-local", true},
	{"0.0.0.0", "unspecified", false},
	{"0.1.2.3", "unspecified", false},
	{"::", "unspecified", false},
	{"::ffff:0.0.0.0", "unspecified", false},
	{"255.255.255.255", "broadcast", false},
	{"224.0.0.1", "multicast", false},
	{"239.255.255.250", "multicast", false},
	{"ff02::1", "multicast", false},
	{"ff0e::1", "multicast", false},
	{"240.0.0.1", "reserved", false},
	{"192.0.2.1", "documentation", false},
	{"198.51.100.1", "documentation", false},
	{"203.0.113.1", "documentation", false},
	{"2001:db8::1", "documentation", false},
	{"3fff::1", "documentation", false},
	{"198.18.0.1", "benchmarking", false},
	{"198.19.255.255", "benchmarking", false},
	{"2001:2::1", "benchmarking", false},
	{"::127.0.0.1", "IPv4-compatible", false},
	{"::ffff:0:127.0.0.1", "IPv4-translated", false},
	{"2002:7f00:1::", "6to4", false},
	{"2002:c0a8:1::1", "6to4", false},
	{"192.88.99.1", "6to4 relay", false},
	{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo", false},
	{"64:ff9b:1::127.0.0.1", "local NAT64", false},
	{"192.0.0.8", "special-purpose", false},
	{"192.31.196.1", "special-purpose", false},
	{"192.52.193.1", "special-purpose", false},
	{"192.175.48.1", "special-purpose", false},
	{"2620:4f:8000::1", "special-purpose", false},
	{"2001:10::1", "special-purpose", false},
	{"100::1", "discard", false},
	{"5f00::1", "segment routing", false},
	{"4000::1", "outside of global unicast", false},
}

func TestForbiddenAddressesAreRefused(t *testing.T) {
	for _, tt := range forbidden {
		t.Run(tt.address, func(t *testing.T) {
			a := netip.MustParseAddr(tt.address)
			err := Policy{}.Check(a)
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refused.Address != a || !strings.Contains(refused.Why, tt.why) {
				t.Errorf("refused %s because it is %q, want %q", refused.Address, refused.Why, tt.why)
			}
			if err := (Policy{AllowPrivate: true}).Check(a); (err == nil) != tt.private {
				t.Errorf("with AllowPrivate: %v, want allowed %v", err, tt.private)
			}
		})
	}
}

func TestPublicAddressesAreAllowed(t *testing.T) {
	for _, s := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
		"198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1",
	} {
		if err := (Policy{}).Check(netip.MustParseAddr(s)); err != nil {
			t.Error(err)
		}
	}
}

func TestAllowedNetworksAreExceptions(t *testing.T) {
	p := Policy{Allow: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fd12::/16"), netip.MustParsePrefix("192.0.2.0/24")}}
	tests := map[string]bool{
		"10.20.0.0": true, "10.20.255.255": true, "10.19.255.255": false, "10.21.0.0": false,
		"::ffff:10.20.1.1": true, "64:ff9b::10.20.1.1": true, "64:ff9b::10.21.0.0": false,
		"fd12::1": true, "fd12::1%eth0": true, "fd13::1": false, "192.0.2.7": true, "127.0.0.1": false,
	}
	for s, want := range tests {
		if err := p.Check(netip.MustParseAddr(s)); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", s, err, want)
		}
	}
}

func TestNoAddressIsRefused(t *testing.T) {
	err := Policy{AllowPrivate: true}.Check(netip.Addr{})
	if err == nil || err.Error() != "address invalid IP is refused: not an IP address" {
		t.Errorf("got %v", err)
	}
}

// The table of names must never allow what the library refuses.
func TestNothingTheLibraryRefusesIsAllowed(t *testing.T) {
	guard := ssrf.New(ssrf.WithAllowedV6Prefixes(ssrf.IPv6NAT64Prefix))
	rapid.Check(t, func(t *rapid.T) {
		var a netip.Addr
		if rapid.Bool().Draw(t, "four") {
			a = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "octets")))
		} else {
			a = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "octets"))).Unmap()
		}
		if guard.SafeAddr(a) != nil && (Policy{}).Check(a) == nil {
			t.Fatalf("%s is allowed", a)
		}
	})
}

func TestDialerChecksTheConnectedAddress(t *testing.T) {
	reached := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())

	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"} {
		_, err := client(Policy{}).Get("http://" + host + ":" + port)
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want a refusal", host, err)
		}
	}
	if reached {
		t.Error("the server was reached")
	}

	resp, err := client(Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !reached {
		t.Error("the server was not reached although its network is allowed")
	}
}

func TestDialerChecksEveryRedirect(t *testing.T) {
	inner := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the inner server was reached") }))
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatalf("a second loopback address: %v", err)
	}
	inner.Listener.Close()
	inner.Listener = l
	inner.Start()
	defer inner.Close()
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusFound))
	defer outer.Close()

	_, err = client(Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}).Get(outer.URL)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Address != netip.MustParseAddr("127.0.0.2") {
		t.Errorf("got %v, want a refusal of 127.0.0.2", err)
	}
}

func TestDialerKeepsTheControlItWasGiven(t *testing.T) {
	stop := errors.New("stop")
	for name, d := range map[string]net.Dialer{
		"Control":        {Control: func(string, string, syscall.RawConn) error { return stop }},
		"ControlContext": {ControlContext: func(context.Context, string, string, syscall.RawConn) error { return stop }},
	} {
		if _, err := (Policy{AllowPrivate: true}).Dialer(d).Dial("tcp", "127.0.0.1:9"); !errors.Is(err, stop) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDialerRefusesUnixSockets(t *testing.T) {
	_, err := Policy{AllowPrivate: true}.Dialer(net.Dialer{}).Dial("unix", t.TempDir()+"/s")
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func client(p Policy) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.Dialer(net.Dialer{}).DialContext, DisableKeepAlives: true}}
}
