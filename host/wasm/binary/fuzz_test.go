package binary

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// FuzzRewrite parses anything. What can be parsed can be validated and rewritten
// or is refused with a code; what was rewritten can be parsed again and has the
// same imports, exports and memory.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(header))
	f.Add(wasmtest.Forking())
	f.Add(wasmtest.Module{Init: []byte{}, StartFunction: true, Table: wasmtest.Vector([]byte{0x70, 0, 1})}.Assemble())
	f.Add(wasmtest.Join(wasmtest.Module{}.Assemble(), wasmtest.Section(11, wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 1, 'a'}, []byte{0, 0x41, 1, 0x0b, 1, 'b'}))))
	f.Add(wasmtest.Module{Start: wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), []byte{0x20, 0, 0xfc, 11, 0})}.Assemble())
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := Parse(content)
		if err != nil {
			require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err))
			return
		}
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
		require.Equal(t, m.imports, again.imports)
		require.Equal(t, m.exports, again.exports)
		require.Equal(t, m.memories, again.memories)
		require.Len(t, again.tables, len(m.tables))
		template, err := MakeTemplate(out)
		if err != nil {
			return
		}
		taken, err := Parse(template.Content)
		require.NoError(t, err)
		require.Equal(t, m.imports, taken.imports)
		require.Equal(t, m.exports, taken.exports[:len(m.exports)])
	})
}
