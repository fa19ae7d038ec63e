package egress

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func mustGrants(t *testing.T, grants ...string) *Policy {
	t.Helper()
	p, err := ParseGrants(grants)
	require.NoError(t, err)
	return p
}

func TestParseGrantsAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grant string
		urls  []string // allowed
		not   []string // refused by the host of the URL alone
	}{
		{"api.example.com",
			[]string{"https://api.example.com/x", "http://API.EXAMPLE.com:8080", "https://api.example.com./"},
			[]string{"https://example.com", "https://x.api.example.com", "https://api.example.com.evil.net", "https://api.example.org", "https://1.2.3.4"}},
		{"api.example.com:8443",
			[]string{"https://api.example.com:8443/"},
			[]string{"https://api.example.com/", "http://api.example.com:80"}},
		{"*.example.com",
			[]string{"https://a.example.com", "https://a.b.example.com"},
			[]string{"https://example.com", "https://badexample.com", "https://a.example.com.evil.net"}},
		{"*", []string{"https://example.com", "http://x:81"}, []string{"http://93.184.216.34/", "http://127.0.0.1"}},
		{"*:443", []string{"https://example.com"}, []string{"http://example.com"}},
		{"127.0.0.1:9000",
			[]string{"http://127.0.0.1:9000/", "http://[::ffff:127.0.0.1]:9000/"},
			[]string{"http://127.0.0.1/", "http://127.0.0.2:9000/", "http://localhost:9000/", "http://[::1]:9000"}},
		{"93.184.216.34", []string{"http://93.184.216.34:81/"}, []string{"http://93.184.216.35/", "http://example.com"}},
		{"10.0.0.0/8",
			[]string{"http://10.1.2.3:99/", "http://[64:ff9b::10.1.2.3]/"},
			[]string{"http://11.0.0.1/", "http://internal.example.com/"}},
		{"10.0.0.0/8:80", []string{"http://10.1.2.3/"}, []string{"https://10.1.2.3/"}},
		{"[::1]:80", []string{"http://[::1]/"}, []string{"https://[::1]/", "http://127.0.0.1/"}},
		{"fd00::/8", []string{"https://[fd12::1]/"}, []string{"https://[fe80::1]/"}},
		{"[fd00::/8]:443", []string{"https://[fd12::1]/"}, []string{"http://[fd12::1]/"}},
		{"localhost:9000", []string{"http://localhost:9000", "http://LocalHost:9000"}, []string{"http://localhost", "http://127.0.0.1:9000", "http://a.localhost:9000"}},
		{"xn--bcher-kva.example", []string{"https://XN--bcher-kva.example"}, []string{"https://bcher.example"}},
	} {
		t.Run(c.grant, func(t *testing.T) {
			t.Parallel()
			p := mustGrants(t, c.grant)
			for _, raw := range c.urls {
				_, to, fault := parseURL(raw)
				require.Nil(t, fault, raw)
				require.True(t, to.allowed(p), raw)
			}
			for _, raw := range c.not {
				_, to, fault := parseURL(raw)
				require.Nil(t, fault, raw)
				require.False(t, to.allowed(p), raw)
			}
		})
	}
}

func TestParseGrantsRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, grant := range []string{
		"", " ", ".", "*.", "*.*", "*.com", "a*.example.com", "example..com", "-a.example.com", "a-.example.com",
		"https://example.com", "example.com/path", "user@example.com", "example.com:", "example.com:0",
		"example.com:65536", "example.com:+80", "example.com:http", "exa mple.com", "exämple.com", "example.com\r\nHost: x",
		"127.1", "2130706433", "0x7f000001", "0x7f.1", "127.0.0.1.", "10.0.0.0/33", "10.0.0.1/8", "::ffff:10.0.0.0/104",
		"[::1", "[::1]80", "[127.0.0.1]:80", "[example.com]:80", "fe80::1%eth0", "1:2:3", "10.0.0.0/8/8",
	} {
		_, err := ParseGrants([]string{"ok.example.com", grant})
		require.Error(t, err, grant)
		require.Equal(t, abi.CodeBadDeployment, abi.CodeOf(err), grant)
		require.NotContains(t, err.Error(), "\r")
	}
}

func TestEmptyPolicyAllowsNothing(t *testing.T) {
	t.Parallel()
	for _, p := range []*Policy{nil, mustGrants(t)} {
		for _, raw := range []string{"https://example.com", "http://127.0.0.1", "http://localhost", "http://[::1]"} {
			_, to, fault := parseURL(raw)
			require.Nil(t, fault)
			require.False(t, to.allowed(p), raw)
		}
	}
}

func TestOnlyPublicAddressesAreDialled(t *testing.T) {
	t.Parallel()
	named := mustGrants(t, "example.com", "localhost")
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
	} {
		a := netip.MustParseAddr(s)
		require.False(t, named.mayDial("example.com", a, 80), s)
		if a.Zone() == "" {
			require.True(t, mustGrants(t, "example.com", effective(a).String()).mayDial("example.com", a, 80), "granted by itself: %s", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1", "::ffff:8.8.8.8"} {
		require.True(t, named.mayDial("example.com", netip.MustParseAddr(s), 443), s)
	}
	require.True(t, named.mayDial("localhost", netip.MustParseAddr("127.0.0.1"), 80))
	require.True(t, named.mayDial("localhost", netip.MustParseAddr("::1"), 80))
	require.False(t, named.mayDial("localhost", netip.MustParseAddr("10.0.0.1"), 80))
	require.False(t, mustGrants(t, "*").mayDial("localhost", netip.MustParseAddr("127.0.0.1"), 80))
	require.False(t, mustGrants(t, "localhost:81").mayDial("localhost", netip.MustParseAddr("127.0.0.1"), 80))
}
