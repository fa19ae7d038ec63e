package binary

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func TestRewriteChangesOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	unchanged := wasmtest.Module{Pages: 3, Imports: []wasmtest.Import{wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp)}}.Assemble()
	require.Equal(t, unchanged, rewrite(t, unchanged))

	debug := wasmtest.Section(0, wasmtest.String(".debug_info"))
	require.Equal(t, unchanged, rewrite(t, wasmtest.Join(unchanged, debug)), "custom sections are dropped")

	grows := wasmtest.Module{Table: wasmtest.Vector([]byte{0x70, 0, 1})}.Assemble()
	m, err := Parse(rewrite(t, grows))
	require.NoError(t, err)
	require.Equal(t, []table{{typeFuncref, limits{1, maxTableEntries, true}}}, m.tables)

	calls := wasmtest.Forking()
	require.Greater(t, len(rewrite(t, calls)), len(calls), "checks are inserted")

	data := wasmtest.Section(11, wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 1, 'a'}, []byte{0, 0x41, 1, 0x0b, 1, 'b'}))
	merged := wasmtest.Section(11, wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 2, 'a', 'b'}))
	require.Equal(t, wasmtest.Join(unchanged, merged), rewrite(t, wasmtest.Join(unchanged, data)), "segments are merged")
}

func rewrite(t testing.TB, content []byte) []byte {
	t.Helper()
	m, err := Parse(content)
	require.NoError(t, err)
	out, err := m.Rewrite()
	require.NoError(t, err)
	return out
}
