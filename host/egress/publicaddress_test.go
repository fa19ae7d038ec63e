package egress

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyPublicAddressesAreDialled(t *testing.T) {
	t.Parallel()
	named := mustGrants(t, "example.com", "localhost")
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
		"168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::127.0.0.1",
		"64:ff9b::a9fe:a9fe",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
	} {
		a := netip.MustParseAddr(s)
		require.False(t, named.mayDial("example.com", a, 80), s)
		if a.Zone() == "" {
			require.True(
				t, mustGrants(t, "example.com", effective(a).String()).mayDial("example.com", a, 80),
				"granted by itself: %s", s,
			)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8",
		"2002:808:808::1", "::ffff:8.8.8.8",
	} {
		require.True(t, named.mayDial("example.com", netip.MustParseAddr(s), 443), s)
	}
	require.True(t, named.mayDial("localhost", netip.MustParseAddr("127.0.0.1"), 80))
	require.True(t, named.mayDial("localhost", netip.MustParseAddr("::1"), 80))
	require.False(t, named.mayDial("localhost", netip.MustParseAddr("10.0.0.1"), 80))
	require.False(t, mustGrants(t, "*").mayDial("localhost", netip.MustParseAddr("127.0.0.1"), 80))
	require.False(t, mustGrants(t, "localhost:81").mayDial("localhost", netip.MustParseAddr("127.0.0.1"), 80))
}

func TestEffectiveAddress(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{
		"8.8.8.8":            "8.8.8.8",
		"::ffff:8.8.8.8":     "8.8.8.8",
		"64:ff9b::8.8.8.8":   "8.8.8.8",
		"2002:808:808::1":    "8.8.8.8",
		"::127.0.0.1":        "127.0.0.1",
		"::1":                "::1",
		"::":                 "::",
		"2606:4700::1111":    "2606:4700::1111",
		"64:ff9b:1::8.8.8.8": "64:ff9b:1::808:808",
	} {
		require.Equal(t, netip.MustParseAddr(to), effective(netip.MustParseAddr(from)), from)
	}
	require.False(t, isPublic(netip.Addr{}))
}
