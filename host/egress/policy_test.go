package egress

import (
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
		{
			"api.example.com",
			[]string{"https://api.example.com/x", "http://API.EXAMPLE.com:8080", "https://api.example.com./"},
			[]string{
				"https://example.com", "https://x.api.example.com", "https://api.example.com.evil.net",
				"https://api.example.org", "https://1.2.3.4",
			},
		},
		{
			"api.example.com:8443",
			[]string{"https://api.example.com:8443/"},
			[]string{"https://api.example.com/", "http://api.example.com:80"},
		},
		{
			"*.example.com",
			[]string{"https://a.example.com", "https://a.b.example.com"},
			[]string{"https://example.com", "https://badexample.com", "https://a.example.com.evil.net"},
		},
		{"*", []string{"https://example.com", "http://x:81"}, []string{"http://93.184.216.34/", "http://127.0.0.1"}},
		{"*:443", []string{"https://example.com"}, []string{"http://example.com"}},
		{
			"127.0.0.1:9000",
			[]string{"http://127.0.0.1:9000/", "http://[::ffff:127.0.0.1]:9000/"},
			[]string{"http://127.0.0.1/", "http://127.0.0.2:9000/", "http://localhost:9000/", "http://[::1]:9000"},
		},
		{
			"93.184.216.34",
			[]string{"http://93.184.216.34:81/"},
			[]string{"http://93.184.216.35/", "http://example.com"},
		},
		{
			"10.0.0.0/8",
			[]string{"http://10.1.2.3:99/", "http://[64:ff9b::10.1.2.3]/"},
			[]string{"http://11.0.0.1/", "http://internal.example.com/"},
		},
		{"10.0.0.0/8:80", []string{"http://10.1.2.3/"}, []string{"https://10.1.2.3/"}},
		{"[::1]:80", []string{"http://[::1]/"}, []string{"https://[::1]/", "http://127.0.0.1/"}},
		{"fd00::/8", []string{"https://[fd12::1]/"}, []string{"https://[fe80::1]/"}},
		{"[fd00::/8]:443", []string{"https://[fd12::1]/"}, []string{"http://[fd12::1]/"}},
		{
			"localhost:9000",
			[]string{"http://localhost:9000", "http://LocalHost:9000"},
			[]string{"http://localhost", "http://127.0.0.1:9000", "http://a.localhost:9000"},
		},
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
		"example.com:65536", "example.com:+80", "example.com:http", "exa mple.com", "exämple.com",
		"example.com\r\nHost: x",
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
