package egress

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestPrivateAddressGrantedBesideTheName(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"private.example.com": {"127.0.0.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	policy := mustGrants(t, "private.example.com", "127.0.0.0/8")
	resp, fault := b.client.Do(t.Context(), policy, abi.HTTPRequest{URL: "http://private.example.com:" + b.port})
	require.Nil(t, fault)
	require.Equal(t, "hello", string(resp.Body))
}

func TestLocalhostGrant(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"localhost": {"192.0.2.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	_, fault := b.client.Do(t.Context(), mustGrants(t, "localhost:"+b.port), abi.HTTPRequest{
		URL: "http://localhost:" + b.port,
	})
	require.Nil(t, fault)
	require.Zero(t, dns.asked, "what localhost means is not asked of a name server")
}

// The owner of a granted name can point it at the host's own network at any time. The dialled address
// counts.
func TestRebindingGainsNothing(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"evil.example.com": {"127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	policy := mustGrants(t, "evil.example.com")
	for range 3 {
		_, fault := b.client.Do(t.Context(), policy, abi.HTTPRequest{URL: "http://evil.example.com:" + b.port})
		requireCode(t, abi.CodeHTTPForbidden, fault)
	}
	require.Zero(t, b.hits.Load())

	// A mixed answer: only the allowed address is tried.
	dns.names["mixed.example.com"] = []string{"169.254.169.254 127.0.0.1"}
	_, fault := b.client.Do(t.Context(), mustGrants(t, "mixed.example.com", "127.0.0.1"), abi.HTTPRequest{
		URL: "http://mixed.example.com:" + b.port,
	})
	require.Nil(t, fault)
	require.EqualValues(t, 1, b.hits.Load())
}

// One lookup serves both the check and the dial.
func TestTheCheckedAddressIsTheDialledOne(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"twice.example.com": {"127.0.0.1", "192.0.2.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	_, fault := b.client.Do(t.Context(), mustGrants(t, "twice.example.com", "127.0.0.1"), abi.HTTPRequest{
		URL: "http://twice.example.com:" + b.port,
	})
	require.Nil(t, fault)
	require.Equal(t, 1, dns.asked)
}
