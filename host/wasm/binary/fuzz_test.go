package binary

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// FuzzRewrite parses anything. A parsed module can be validated and rewritten or is refused with a
// code; a rewritten one can be parsed again and has the same imports, exports and memory, and the
// fuel counter.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(header))
	f.Add(wasmtest.Forking())
	f.Add(wasmtest.Module{Init: []byte{}, StartFunction: true, Table: wasmtest.Vector([]byte{0x70, 0, 1})}.Assemble())
	f.Add(wasmtest.Join(
		wasmtest.Module{}.Assemble(),
		wasmtest.Section(11, wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 1, 'a'}, []byte{0, 0x41, 1, 0x0b, 1, 'b'})),
	))
	f.Add(
		wasmtest.Module{
			Start: wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), []byte{0x20, 0, 0xfc, 11, 0}),
		}.Assemble(),
	)
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := Parse(content)
		if err != nil {
			require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err))
			return
		}
		sizes, parts := m.Sizes(), 0
		for _, p := range sizes.Parts {
			parts += p.Bytes
		}
		require.LessOrEqual(t, parts, sizes.Code)
		if err := m.Validate(Rules{}); err != nil {
			require.NotEmpty(t, abi.CodeOf(err), err)
		}
		out, err := m.Rewrite()
		if err != nil {
			require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err))
			return
		}
		again, err := Parse(out)
		require.NoError(t, err)
		require.True(t, slices.Equal(m.imports, again.imports[:len(m.imports)]))
		require.Equal(t, m.memories, again.memories)
		require.Len(t, again.tables, len(m.tables))
		requireSameExports(t, m, again)
		template, err := m.MakeTemplate(out)
		if err != nil {
			return
		}
		taken, err := Parse(template.Content)
		require.NoError(t, err)
		require.Equal(t, again.imports, taken.imports)
		require.Equal(t, again.exports, taken.exports[:len(again.exports)])
	})
}

// requireSameExports compares names, kinds and types of a module's exports before and after
// rewriting: the fuel counter is added, and names that are ours are not passed on.
func requireSameExports(t *testing.T, before, after *Module) {
	t.Helper()
	kept := after.exports
	if before.hasCode {
		last := kept[len(kept)-1]
		require.Equal(t, exportEntry{FuelExport, externGlobal, before.fuelIndexes().global}, last)
		kept = kept[:len(kept)-1]
	}
	for _, e := range before.exports {
		if strings.HasPrefix(e.name, reservedExports) {
			continue
		}
		require.Equal(t, e.name, kept[0].name)
		require.Equal(t, e.kind, kept[0].kind)
		if e.kind == externFunction {
			want, known := before.functionSignature(e.index)
			got, still := after.functionSignature(kept[0].index)
			require.Equal(t, want, got)
			require.Equal(t, known, still)
		} else {
			require.Equal(t, e.index, kept[0].index)
		}
		kept = kept[1:]
	}
	require.Empty(t, kept)
}
