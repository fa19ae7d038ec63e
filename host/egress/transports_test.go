package egress

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestConnectionsAreNotSharedBetweenPolicies(t *testing.T) {
	t.Parallel()
	dns := &answers{names: map[string][]string{"private.example.com": {"127.0.0.1"}}}
	b := setup(t, Config{Resolver: dns}, hello)
	req := abi.HTTPRequest{URL: "http://private.example.com:" + b.port}
	_, fault := b.client.Do(t.Context(), mustGrants(t, "private.example.com", "127.0.0.1"), req)
	require.Nil(t, fault)
	_, fault = b.client.Do(t.Context(), mustGrants(t, "private.example.com"), req)
	requireCode(t, abi.CodeHTTPForbidden, fault)
	require.EqualValues(t, 1, b.hits.Load())
}

func TestTransportsAreBounded(t *testing.T) {
	t.Parallel()
	c := NewClient(Config{})
	first := c.transports.of(mustGrants(t, "host0.example.com"))
	require.Same(t, first, c.transports.of(mustGrants(t, "host0.example.com")))
	for i := range maxTransports {
		c.transports.of(mustGrants(t, fmt.Sprintf("host%d.example.com", i+1)))
	}
	require.Equal(t, maxTransports, c.transports.recent.Len())
	require.NotSame(t, first, c.transports.of(mustGrants(t, "host0.example.com")))
}
