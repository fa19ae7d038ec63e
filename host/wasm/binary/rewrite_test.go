package binary

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// section finds the content of a section of a binary.
func sectionOf(t testing.TB, content []byte, id byte) []byte {
	t.Helper()
	m, err := Parse(content)
	require.NoError(t, err)
	for _, s := range m.sections {
		if s.id == id {
			return s.content
		}
	}
	return nil
}

func TestRewriteChangesOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	plain := wasmtest.Module{
		Pages: 3, Imports: []wasmtest.Import{wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp)},
	}.Assemble()
	for _, id := range []byte{sectionMemory, sectionCode} {
		require.Equal(t, sectionOf(t, plain, id), sectionOf(t, rewrite(t, plain), id), "its functions are leaves")
	}
	debug := wasmtest.Section(0, wasmtest.String(".debug_info"))
	require.Equal(t, rewrite(t, plain), rewrite(t, wasmtest.Join(plain, debug)), "custom sections are dropped")

	empty := []byte(header)
	require.Equal(t, empty, rewrite(t, empty), "nothing to meter")

	grows := wasmtest.Module{Table: wasmtest.Vector([]byte{0x70, 0, 1})}.Assemble()
	m, err := Parse(rewrite(t, grows))
	require.NoError(t, err)
	require.Equal(t, []table{{typeFuncref, limits{1, maxTableEntries, true}}}, m.tables)

	data := wasmtest.Section(11, wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 1, 'a'}, []byte{0, 0x41, 1, 0x0b, 1, 'b'}))
	merged := wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 2, 'a', 'b'})
	require.Equal(t, merged, sectionOf(t, rewrite(t, wasmtest.Join(plain, data)), sectionData), "segments are merged")
}

// TestFuelIsAdded looks at the additions to a module. The numbers of its functions change wherever
// they are named.
func TestFuelIsAdded(t *testing.T) {
	t.Parallel()
	names := wasmtest.Join(
		wasmtest.String("name"), []byte{1, 4}, wasmtest.Vector(wasmtest.Join([]byte{3}, wasmtest.String("f"))),
	)
	before := wasmtest.Join(wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp)},
		Init:    []byte{}, StartFunction: true,
		Table:    wasmtest.Vector([]byte{typeFuncref, 0, 9}),
		Globals:  wasmtest.Vector(global(typeFuncref, 0, opRefFunc, 0), global(typeFuncref, 0, opRefFunc, 3)),
		Elements: wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 3, 0, 1, 2}, []byte{4, 0x41, 0, 0x0b, 1, 0xd2, 4, 0x0b}),
		Start:    wasmtest.Join(wasmtest.Endless, wasmtest.Call(0), []byte{0x20, 0}, wasmtest.Call(5)),
	}.Assemble(), wasmtest.Section(0, names))
	after := rewrite(t, before)
	m, err := Parse(after)
	require.NoError(t, err)
	was, err := Parse(before)
	require.NoError(t, err)

	require.Equal(t, importEntry{FuelModule, FuelFunction, externFunction, uint32(len(was.types))}, m.imports[1])
	require.Equal(t, append(was.types, ownTypes...), m.types)
	require.EqualValues(t, 3, m.globals)
	requireSameExports(t, was, m)
	require.Equal(t, []byte{7}, sectionOf(t, after, sectionStart))
	require.Equal(t, wasmtest.Vector(
		global(typeFuncref, 0, opRefFunc, 0), global(typeFuncref, 0, opRefFunc, 4), global(typeI64, 1, opI64Const, 0),
	), sectionOf(t, after, sectionGlobal))
	require.Equal(
		t, wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 3, 0, 2, 3}, []byte{4, 0x41, 0, 0x0b, 1, 0xd2, 5, 0x0b}),
		sectionOf(t, after, sectionElement),
	)
	require.Equal(
		t,
		wasmtest.Join(
			wasmtest.String("name"), []byte{1, 4}, wasmtest.Vector(wasmtest.Join([]byte{4}, wasmtest.String("f"))),
		),
		sectionOf(t, after, sectionCustom),
	)
	require.Contains(
		t, string(sectionOf(t, after, sectionCode)),
		string(wasmtest.Join(wasmtest.Call(0), []byte{0x20, 0}, wasmtest.Call(6))),
	)
}

// TestNamesOfOurs: an upload that exports something under a name of ours, or names something that it does not have and
// that would be ours, does not get at it.
func TestNamesOfOurs(t *testing.T) {
	t.Parallel()
	export := func(name string, kind, index byte) []byte {
		m, err := Parse(wasmtest.Module{Globals: wasmtest.Vector(global(typeI64, 1, opI64Const, 0))}.Assemble())
		require.NoError(t, err)
		return m.assembleTemplate([]exportEntry{{name, kind, uint32(index)}})
	}
	again, err := Parse(rewrite(t, export(FuelExport, externGlobal, 0)))
	require.NoError(t, err)
	require.Equal(t, exportEntry{FuelExport, externGlobal, 1}, again.exports[len(again.exports)-1])
	require.Len(t, again.exports, 6, "the four functions, the memory and ours")

	offset := func(global byte) []byte { return wasmtest.Vector([]byte{0, 0x23, global, 0x0b, 1, 'a'}) }
	table := wasmtest.Vector([]byte{typeFuncref, 0, 4})
	for says, content := range map[string][]byte{
		"exports the global 1, and has 1":   export("mine", externGlobal, 1),
		"exports the function 5, and has 5": export("mine", externFunction, 5),
		"names the global 0, and has 0":     wasmtest.Module{DataSection: offset(0)}.Assemble(),
		"names the function 5, and there are 5": wasmtest.Module{
			Table: table, Elements: wasmtest.Vector([]byte{0, 0x41, 0, 0x0b, 1, 5}),
		}.Assemble(),
		"names the global 0, and it has 0": wasmtest.Module{
			Start: []byte{0x42, 1, 0x24, 0, 0x41, 1},
		}.Assemble(),
		"names the function 5, and it has 5": wasmtest.Module{Start: wasmtest.Call(5)}.Assemble(),
		"the instruction 0x12 is unknown":    wasmtest.Module{Start: []byte{0x12, 0}}.Assemble(),
		"the instruction 0xfe is unknown":    wasmtest.Module{Start: []byte{0xfe, 0}}.Assemble(),
		"it names the type 10, and has 10":   wasmtest.Module{Mistype: abi.ExportABI}.Assemble(),
		"it names the function 99, and there are ": wasmtest.Join(
			[]byte(header), wasmtest.Module{}.Assemble()[8:], wasmtest.Section(sectionStart, []byte{99}),
		),
	} {
		if says == "it names the type 10, and has 10" {
			m, err := Parse(content)
			require.NoError(t, err)
			m.functions[0] = 10
			_, err = m.Rewrite()
			require.ErrorContains(t, err, says)
			continue
		}
		m, err := Parse(content)
		require.NoError(t, err)
		_, err = m.Rewrite()
		require.ErrorContains(t, err, says)
		require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err))
	}
}

func rewrite(t testing.TB, content []byte) []byte {
	t.Helper()
	m, err := Parse(content)
	require.NoError(t, err)
	out, err := m.Rewrite()
	require.NoError(t, err)
	return out
}
