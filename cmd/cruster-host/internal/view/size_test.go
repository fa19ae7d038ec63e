package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm/binary"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
)

// A module in Go names its functions with any linker flags.
func TestSizeOfAModuleInGo(t *testing.T) {
	t.Parallel()
	s := SizeOf(harness.Module(t, "modules/examples/libraries"))
	require.NotNil(t, s)
	var names []string
	for _, p := range s.Largest {
		names = append(names, p.Name)
	}
	require.Len(t, names, shownParts)
	require.Contains(t, names, "net/http")
	require.Contains(t, names, "crypto/tls")
	require.Contains(t, s.String(), "net/http ")
	require.Contains(t, s.Hint, "ctx.HTTP()")
}

func TestSizeWithoutNames(t *testing.T) {
	t.Parallel()
	require.Nil(t, SizeOf([]byte("not a module")))
	require.Empty(t, (*ModuleSize)(nil).lines())
	s := SizeOf(wasmtest.Module{Init: []byte{}}.Assemble())
	require.Contains(t, s.String(), "; it does not name its functions")
	require.Empty(t, s.Hint, "it is small")
	require.Contains(t, sizeHint(nil, false), "CARGO_PROFILE_RELEASE_STRIP=none")
	require.Contains(t, sizeHint(map[string]bool{"database/sql": true}, true), "ctx.Tx()")
	require.Contains(t, sizeHint(nil, true), "docs/libraries.md")
}

func TestSizeForPeople(t *testing.T) {
	t.Parallel()
	s := &ModuleSize{
		Bytes:   12_100_000,
		Code:    8_000_000,
		Data:    4_000,
		Largest: []binary.Part{{Name: "net/http", Bytes: 3_100_000}, {Name: "a\nb", Bytes: 999}},
	}
	require.Equal(t, "12.1 MB (code 8.0 MB, data 4 KB): net/http 3.1 MB, a b 999 bytes", s.String())
}
