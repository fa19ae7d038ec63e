package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Policy is the set of hosts that one deployment may call. The nil Policy and the empty one allow nothing. It is
// immutable and safe for concurrent use.
type Policy struct {
	names    []nameGrant
	prefixes []prefixGrant
	// id identifies policies that allow the same: connections are shared within one id and never beyond it.
	id string
}

// anyPort is the port of a grant that names none.
const anyPort = 0

// A nameGrant allows a host by its name.
type nameGrant struct {
	// name is lower-case without a trailing dot. With wildcard set it is the suffix behind "*", dot included; "" then
	// means every name.
	name     string
	wildcard bool
	port     uint16
}

// A prefixGrant allows addresses: as the host of a URL, and as the result of resolving a granted name even if the range
// is not public.
type prefixGrant struct {
	prefix netip.Prefix
	port   uint16
}

// maxGrants bounds how many hosts a deployment may be granted.
const maxGrants = 1000

// ParseGrants reads the grants of a deployment:
//
//	api.example.com        this host, any port
//	api.example.com:8443   this host, this port
//	*.example.com          every host below example.com, not itself
//	*                      every host with a public address
//	203.0.113.7            this address, also if it is not a public one
//	127.0.0.1:9000         this address and port
//	10.0.0.0/8             these addresses
//	[::1]:80               an IPv6 address with a port
//	localhost:9000         the name localhost, and the loopback behind it
//
// A name stands for public addresses only. To call a name that resolves to a private address, grant the name and the
// address, or its range, both. Errors are [abi.CodeBadDeployment].
func ParseGrants(grants []string) (*Policy, error) {
	p := &Policy{}
	if len(grants) > maxGrants {
		return nil, abi.Errorf(
			abi.CodeBadDeployment, "%d HTTP grants are too many, the limit is %d", len(grants), maxGrants,
		)
	}
	for _, g := range grants {
		if err := p.add(g); err != nil {
			return nil, abi.Errorf(abi.CodeBadDeployment, "HTTP grant %s: %v", quote(g), err).
				WithHint("Grant a host (api.example.com), hosts below a domain (*.example.com), an address " +
					"(127.0.0.1:9000) or a range (10.0.0.0/8).")
		}
	}
	p.id = p.identity()
	return p, nil
}

func (p *Policy) add(grant string) error {
	host, port, err := splitGrant(grant)
	if err != nil {
		return err
	}
	if prefix, ok, err := parsePrefix(host); err != nil {
		return err
	} else if ok {
		p.prefixes = append(p.prefixes, prefixGrant{prefix, port})
		return nil
	}
	if host == "*" {
		p.names = append(p.names, nameGrant{wildcard: true, port: port})
		return nil
	}
	rest, wildcard := strings.CutPrefix(host, "*.")
	name, err := normalName(rest)
	if err != nil {
		return err
	}
	if wildcard {
		if !strings.Contains(name, ".") {
			return fmt.Errorf("a wildcard needs a domain of two labels at least")
		}
		name = "." + name
	}
	p.names = append(p.names, nameGrant{name, wildcard, port})
	return nil
}

// splitGrant cuts a port off. The rest is a name, an address or a range.
func splitGrant(grant string) (host string, port uint16, err error) {
	switch {
	case grant == "":
		return "", 0, fmt.Errorf("it is empty")
	case strings.Contains(grant, "://"):
		return "", 0, fmt.Errorf("name a host without its scheme")
	case strings.HasPrefix(grant, "["):
		inner, rest, ok := strings.Cut(grant[1:], "]")
		if !ok {
			return "", 0, fmt.Errorf("a bracket is not closed")
		}
		if !strings.Contains(inner, ":") {
			return "", 0, fmt.Errorf("brackets are for IPv6 addresses")
		}
		if rest == "" {
			return inner, anyPort, nil
		}
		digits, ok := strings.CutPrefix(rest, ":")
		if !ok {
			return "", 0, fmt.Errorf("only a port may follow the bracket")
		}
		port, err = parsePort(digits)
		return inner, port, err
	case strings.Count(grant, ":") > 1: // an IPv6 address or range without brackets
		return grant, anyPort, nil
	}
	host, digits, ok := strings.Cut(grant, ":")
	if !ok {
		return host, anyPort, nil
	}
	port, err = parsePort(digits)
	return host, port, err
}

// parsePrefix reads an address or a range; ok is false for a name.
func parsePrefix(s string) (prefix netip.Prefix, ok bool, err error) {
	if strings.Contains(s, "/") {
		prefix, err = netip.ParsePrefix(s)
		if err != nil {
			return prefix, false, fmt.Errorf("it is neither a host nor a range of addresses")
		}
		if prefix.Addr().Is4In6() {
			return prefix, false, fmt.Errorf("write the range in its IPv4 form")
		}
		if prefix.Masked() != prefix {
			return prefix, false, fmt.Errorf("the range has bits behind its length; did you mean %v?", prefix.Masked())
		}
		return prefix, true, nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		if strings.Contains(s, ":") {
			return prefix, false, fmt.Errorf("it is not an IPv6 address")
		}
		return prefix, false, nil
	}
	if addr.Zone() != "" {
		return prefix, false, fmt.Errorf("addresses with a zone cannot be granted")
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), true, nil
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("the port is not a number from 1 to 65535")
	}
	return uint16(n), nil
}

// normalName checks the form of a DNS name and brings it into lower case. A name that ends in a number is refused: some
// resolvers take 127.1 or 0x7f000001 for addresses, and an address must be written as one.
func normalName(s string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	if name == "" || len(name) > 253 {
		return "", fmt.Errorf("a host name has 1 to 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "", fmt.Errorf("%s is not a host name", quote(s))
		}
		for _, c := range []byte(label) {
			if !isAlphanumeric(c) && c != '-' && c != '_' {
				return "", fmt.Errorf("%s is not a host name; write an international one in its xn-- form", quote(s))
			}
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", fmt.Errorf("%s is neither a host name nor a complete address", quote(s))
	}
	return name, nil
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// quote shows a string of the guest's in a message: printable, and not long.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strconv.QuoteToASCII(s)
}

// GrantID is the same for grants that allow the same, however they are spelt.
func GrantID(grant string) string {
	p, err := ParseGrants([]string{grant})
	if err != nil {
		return grant
	}
	return p.id
}

// identity lists the grants in the order given: equal lists are equal policies.
func (p *Policy) identity() string {
	var b strings.Builder
	for _, n := range p.names {
		fmt.Fprintf(&b, "%s %t %d\n", n.name, n.wildcard, n.port)
	}
	for _, r := range p.prefixes {
		fmt.Fprintf(&b, "%s %d\n", r.prefix, r.port)
	}
	return b.String()
}

// allowsName tells whether the host of a URL, a name in its normal form, was granted.
func (p *Policy) allowsName(name string, port uint16) bool {
	if p == nil {
		return false
	}
	for _, g := range p.names {
		if g.names(name, port) || g.wildcard && g.fits(port) && strings.HasSuffix(name, g.name) {
			return true
		}
	}
	return false
}

func (g nameGrant) fits(port uint16) bool { return g.port == anyPort || g.port == port }

// names tells whether the grant spells out this very name.
func (g nameGrant) names(name string, port uint16) bool {
	return g.name == name && !g.wildcard && g.fits(port)
}

// allowsAddr tells whether an address was granted by itself.
func (p *Policy) allowsAddr(addr netip.Addr, port uint16) bool {
	if p == nil {
		return false
	}
	addr = addr.Unmap()
	for _, g := range p.prefixes {
		if (g.port == anyPort || g.port == port) && g.prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// mayDial decides on the address that is about to be dialled for a granted host.
func (p *Policy) mayDial(name string, addr netip.Addr, port uint16) bool {
	if addr.Zone() != "" {
		return false
	}
	target := effective(addr)
	if isPublic(target) || p.allowsAddr(target, port) {
		return true
	}
	// A wildcard does not reach loopback: that needs a grant of its own.
	return name == localhost && target.IsLoopback() &&
		slices.ContainsFunc(p.names, func(g nameGrant) bool { return g.names(localhost, port) })
}

// localhost is the one name with a fixed meaning: granting it, spelt out, grants loopback.
const localhost = "localhost"
