package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/cruster/cruster/abi"
)

// addressTimeout bounds the attempt to dial one of several addresses of a host, so that a dead one does not use up the
// time of the whole call.
const addressTimeout = 5 * time.Second

// A dialer connects to granted hosts under one policy. It resolves names itself and hands literal addresses to the
// system: it dials the very address that was checked.
type dialer struct {
	policy   *Policy
	resolver Resolver
	net      net.Dialer
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", quote(address), err)
	}
	port, err := parsePort(digits)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", quote(address), err)
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	allowed := addrs[:0:0]
	for _, a := range addrs {
		if d.policy.mayDial(host, a, port) {
			allowed = append(allowed, a)
		}
	}
	if len(allowed) == 0 {
		return nil, forbiddenAddress(host, addrs, port)
	}
	var failures []error
	for i, a := range allowed {
		conn, err := d.dialOne(ctx, network, netip.AddrPortFrom(a, port), i == len(allowed)-1)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (d *dialer) dialOne(ctx context.Context, network string, to netip.AddrPort, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, addressTimeout)
		defer cancel()
	}
	return d.net.DialContext(ctx, network, to.String())
}

func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if host == localhost { // never asked of a server
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("look up %s: it has no address", host)
	}
	return addrs, nil
}

// forbiddenAddress says why a granted name cannot be called.
func forbiddenAddress(host string, addrs []netip.Addr, port uint16) *abi.Error {
	return abi.Errorf(
		abi.CodeHTTPForbidden, "%s was granted, but it resolves to %s, which is not a public address", host, addrs[0],
	).
		WithHint(
			"If that is meant, grant the address too: --allow-http %s.", netip.AddrPortFrom(effective(addrs[0]), port),
		)
}
