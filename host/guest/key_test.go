package guest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestDerive derives keys that need no guest.
func TestDerive(t *testing.T) {
	t.Parallel()
	d := &KeyDeriver{}
	fromRequest := &abi.WorkflowInfo{Name: "W", Key: abi.KeyFromRequest}
	input := abi.MustMarshal(map[string]any{"a": 1, "b": "x"})
	hash, err := abi.Hash(input)
	require.NoError(t, err)
	for _, c := range []struct {
		name, given, mode, want string
		code                    abi.Code
	}{
		{"of the request", "", abi.KeyDerived, hash, ""},
		{"a key that is not used", "ignored", abi.KeyDerived, hash, ""},
		{"raw", "order-7", abi.KeyRaw, "order-7", ""},
		{"hashed", "order-7", abi.KeyHashed, abi.HashString("order-7"), ""},
		{"raw and empty", "", abi.KeyRaw, "", abi.CodeBadKey},
		{"hashed and empty", "", abi.KeyHashed, "", abi.CodeBadKey},
		{"hashed and too long", strings.Repeat("k", abi.MaxKey+1), abi.KeyHashed, "", abi.CodeBadKey},
		{"unknown mode", "k", "upside-down", "", abi.CodeBadKey},
	} {
		got, err := d.Derive(t.Context(), nil, fromRequest, input, c.given, c.mode)
		require.Equal(t, c.code, abi.CodeOf(err), c.name)
		if err == nil {
			require.Equal(t, c.want, got, c.name)
		}
	}

	// The same request, whatever its encoder preferred, has the same key.
	got, err := d.Derive(t.Context(), nil, fromRequest, []byte("\x82\xa1b\xd9\x01x\xa1a\xd3\x00\x00\x00\x00\x00\x00\x00\x01"), "", abi.KeyDerived)
	require.NoError(t, err)
	require.Equal(t, hash, got)
}
