package netpolicy

import (
	"net/netip"

	"code.dny.dev/ssrf"
)

// network is a special network in words.
type network struct {
	name    string
	private bool // a server of one's own may well live there
}

// classify names the special network that an address lies in. The address
// has no zone and is not IPv4-mapped.
func classify(a netip.Addr) (network, bool) {
	for _, n := range named {
		if n.prefix.Contains(a) {
			return n.network, true
		}
	}
	if a.Is4() {
		return network{name: "special-purpose network"}, within(ssrf.IPv4DeniedPrefixes, a)
	}
	if !ssrf.IPv6GlobalUnicast.Contains(a) {
		return network{name: "outside of global unicast"}, true
	}
	return network{name: "special-purpose network"}, within(ssrf.IPv6DeniedPrefixes, a)
}

func within(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// named networks, narrower ones first.
var named = []struct {
	prefix netip.Prefix
	network
}{
	{netip.MustParsePrefix("127.0.0.0/8"), network{"loopback", true}},
	{netip.MustParsePrefix("::1/128"), network{"loopback", true}},
	{netip.MustParsePrefix("169.254.169.254/32"), network{"cloud metadata (link-local)", true}},
	{netip.MustParsePrefix("169.254.0.0/16"), network{"link-local", true}},
	{netip.MustParsePrefix("fe80::/10"), network{"link-local", true}},
	{netip.MustParsePrefix("10.0.0.0/8"), network{"private (RFC 1918)", true}},
	{netip.MustParsePrefix("172.16.0.0/12"), network{"private (RFC 1918)", true}},
	{netip.MustParsePrefix("192.168.0.0/16"), network{"private (RFC 1918)", true}},
	{netip.MustParsePrefix("100.64.0.0/10"), network{"shared by carrier-grade NAT (RFC 6598)", true}},
	{netip.MustParsePrefix("fc00::/7"), network{"unique local (RFC 4193)", true}},
	{netip.MustParsePrefix("fec0::/10"), network{"site-local (RFC 3879)", true}},

	// An ordinary address by the registries, but the platform's own on Azure.
	{netip.MustParsePrefix("168.63.129.16/32"), network{"cloud metadata", false}},
	{netip.MustParsePrefix("0.0.0.0/8"), network{"unspecified", false}},
	{netip.MustParsePrefix("::/128"), network{"unspecified", false}},
	{netip.MustParsePrefix("::/96"), network{"IPv4-compatible (RFC 4291)", false}},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), network{"IPv4-translated (RFC 2765)", false}},
	{netip.MustParsePrefix("64:ff9b:1::/48"), network{"local NAT64 (RFC 8215)", false}},
	{netip.MustParsePrefix("2002::/16"), network{"6to4 (RFC 3056)", false}},
	{netip.MustParsePrefix("192.88.99.0/24"), network{"6to4 relay (RFC 7526)", false}},
	{netip.MustParsePrefix("2001::/32"), network{"Teredo (RFC 4380)", false}},
	{netip.MustParsePrefix("255.255.255.255/32"), network{"broadcast", false}},
	{netip.MustParsePrefix("240.0.0.0/4"), network{"reserved (RFC 1112)", false}},
	{netip.MustParsePrefix("224.0.0.0/4"), network{"multicast", false}},
	{netip.MustParsePrefix("ff00::/8"), network{"multicast", false}},
	{netip.MustParsePrefix("192.0.2.0/24"), network{"documentation (RFC 5737)", false}},
	{netip.MustParsePrefix("198.51.100.0/24"), network{"documentation (RFC 5737)", false}},
	{netip.MustParsePrefix("203.0.113.0/24"), network{"documentation (RFC 5737)", false}},
	{netip.MustParsePrefix("2001:db8::/32"), network{"documentation (RFC 3849)", false}},
	{netip.MustParsePrefix("3fff::/20"), network{"documentation (RFC 9637)", false}},
	{netip.MustParsePrefix("198.18.0.0/15"), network{"benchmarking (RFC 2544)", false}},
	{netip.MustParsePrefix("2001:2::/48"), network{"benchmarking (RFC 5180)", false}},
	{netip.MustParsePrefix("100::/64"), network{"discard only (RFC 6666)", false}},
	{netip.MustParsePrefix("5f00::/16"), network{"segment routing (RFC 9602)", false}},
}
