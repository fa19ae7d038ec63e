package egress

import "net/netip"

// special lists the ranges that are not hosts on the public internet. The two single addresses among them serve a
// cloud's credentials to any caller.
var special = parsePrefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers (CGNAT)
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's platform service
	"169.254.0.0/16",   // link-local, the metadata services among them
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
	"2001::/23",        // protocol assignments, Teredo
	"2001:db8::/32",    // documentation
	"3fff::/20",        // documentation
)

// globalUnicast is where all public IPv6 addresses lie: loopback, unspecified, unique local, link-local, multicast and
// the rest are outside.
var globalUnicast = netip.MustParsePrefix("2000::/3")

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	compatible = netip.MustParsePrefix("::/96")
)

func parsePrefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// effective is the address that packets to addr end at: the IPv4 address inside an IPv6 one for the forms that networks
// translate.
func effective(addr netip.Addr) netip.Addr {
	if addr.Is4In6() {
		return addr.Unmap()
	}
	b := addr.As16()
	switch {
	case !addr.Is6():
		return addr
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case compatible.Contains(addr) && !addr.IsUnspecified() && addr != netip.IPv6Loopback():
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return addr
}

// isPublic tells whether an address, in its effective form, is an ordinary host on the public internet.
func isPublic(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Is6() && !globalUnicast.Contains(addr) {
		return false
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
