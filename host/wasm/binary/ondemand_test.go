package binary

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// A table as Go's linker makes it: nothing below 4096, and many functions; here with an empty
// entry behind them.
const (
	goLead    = 4096
	goEntries = minOnDemand + 1
)

func tableOf(entries int) []byte {
	return wasmtest.Vector(wasmtest.Join([]byte{typeFuncref, 1}, wasmtest.U32(entries), wasmtest.U32(entries)))
}

func segmentAt(offset int32, functions ...byte) []byte {
	return wasmtest.Join([]byte{0}, wasmtest.I32Const(offset), []byte{opEnd}, wasmtest.U32(len(functions)), functions)
}

func goModule() wasmtest.Module {
	self := wasmtest.Self(0)
	return wasmtest.Module{
		Table: tableOf(goLead + goEntries + 1), Extra: []byte{opLocalGet, 0},
		Start: []byte{opLocalGet, 0, opLocalGet, 0, opCallIndirect, wasmtest.TypeTurn, 0},
		Elements: wasmtest.Vector(
			segmentAt(goLead+1, bytes.Repeat([]byte{self}, goEntries-1)...), segmentAt(goLead, self),
		),
	}
}

func TestTableOnDemand(t *testing.T) {
	t.Parallel()
	before, err := Parse(goModule().Assemble())
	require.NoError(t, err)
	self := uint32(wasmtest.Self(0))
	entries := repeated(self, goEntries)
	require.Equal(t, &onDemand{lead: goLead, entries: entries, named: entries}, before.tableOnDemand(uint64(self)+1))

	after := rewrite(t, goModule().Assemble())
	m, err := Parse(after)
	require.NoError(t, err)
	require.Equal(t, []table{{typeFuncref, limits{goEntries + 1, goEntries + 1, true}}}, m.tables, "without the lead")
	require.EqualValues(t, goEntries, m.elements)
	require.Equal(t, []byte{1, 3}, sectionOf(t, after, sectionElement)[:2], "they are declared only")
	require.Len(t, m.functions, len(before.functions)+1+3, "one to find the chunk, and three chunks")
	require.Contains(t, string(sectionOf(t, after, sectionCode)),
		string(wasmtest.Join(wasmtest.I32Const(goLead), []byte{
			opI32Sub, opLocalTee, 1, opTableGet, 0, opRefIsNull, opIf, noBlockType, opLocalGet, 1, opCall,
		})))
	_, err = before.MakeTemplate(after)
	require.NoError(t, err, "the state of its instances is still within reach")
}

func repeated(v uint32, n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// TestTableOnDemandHasGaps: of two functions for an entry the later one counts, and where there is
// none, none is put.
func TestTableOnDemandHasGaps(t *testing.T) {
	t.Parallel()
	content := wasmtest.Vector(segmentAt(5, 1, 2), segmentAt(3, 7), segmentAt(6, 3), segmentAt(9))
	require.Equal(
		t, &onDemand{lead: 3, entries: []uint32{7, noFunction, 1, 3}, named: []uint32{1, 2, 7, 3}},
		readEntries(content, 9, 8),
	)
	require.Nil(t, readEntries(content, 9, 7), "a function does not exist")
	require.Nil(t, readEntries(content, 8, 8), "a segment is outside")
	require.Nil(t, readEntries(content[:len(content)-1], 9, 8), "it is cut off")
	require.Nil(t, readEntries(wasmtest.Vector(segmentAt(3)), 9, 8), "there is no function")
}

// TestTablesThatAreFilledAtOnce: where a guest or another could notice, a table stays as it is.
func TestTablesThatAreFilledAtOnce(t *testing.T) {
	t.Parallel()
	self := wasmtest.Self(0)
	many := bytes.Repeat([]byte{self}, goEntries)
	module := func(change func(*wasmtest.Module)) []byte {
		m := goModule()
		change(&m)
		return m.Assemble()
	}
	code := func(instructions ...byte) []byte {
		return module(func(m *wasmtest.Module) { m.Resume = wasmtest.Join(instructions, wasmtest.I32Const(1)) })
	}
	elements := func(segments ...[]byte) []byte {
		return module(func(m *wasmtest.Module) { m.Elements = wasmtest.Vector(segments...) })
	}
	tables := func(section []byte) []byte { return module(func(m *wasmtest.Module) { m.Table = section }) }
	for name, content := range map[string][]byte{
		"table.get":  code(opI32Const, 0, opTableGet, 0, opDrop),
		"table.set":  code(opI32Const, 0, opRefNull, typeFuncref, opTableSet, 0),
		"table.size": code(opMisc, 16, 0, opDrop),
		"table.grow": code(opRefNull, typeFuncref, opI32Const, 1, opMisc, miscTableGrow, 0, opDrop),
		"table.fill": code(opI32Const, 0, opRefNull, typeFuncref, opI32Const, 1, opMisc, miscTableFill, 0),
		"table.copy": code(opI32Const, 0, opI32Const, 0, opI32Const, 0, opMisc, miscTableCopy, 0, 0),
		"many calls": code(bytes.Repeat(
			[]byte{opLocalGet, 0, opLocalGet, 0, opCallIndirect, wasmtest.TypeTurn, 0, opDrop}, maxBranches+1,
		)...),
		"few functions":     elements(segmentAt(goLead, many[:minOnDemand-1]...)),
		"a passive segment": elements(segmentAt(goLead, many...), []byte{1, 0, 1, self}),
		"expressions": elements(segmentAt(goLead, many...), []byte{
			4, opI32Const, 0, opEnd, 1, opRefFunc, self, opEnd,
		}),
		"a computed place": module(func(m *wasmtest.Module) {
			m.Globals = wasmtest.Vector(global(typeI32, 0, opI32Const, 1))
			m.Elements = wasmtest.Vector(wasmtest.Join([]byte{0, opGlobalGet, 0, opEnd}, wasmtest.U32(goEntries), many))
		}),
		"beyond the table": elements(segmentAt(goLead+2, many...)),
		"a negative place": elements(segmentAt(-1, many...)),
		"references of hosts": tables(wasmtest.Vector(wasmtest.Join(
			[]byte{typeExternref, 0}, wasmtest.U32(goLead+goEntries),
		))),
		"another table": tables(wasmtest.Vector(tableOf(9999)[1:], []byte{typeFuncref, 0, 1})),
		"no table":      tables(wasmtest.Vector()),
		"a maximum too low": tables(wasmtest.Vector(wasmtest.Join(
			[]byte{typeFuncref, 1}, wasmtest.U32(9999), []byte{1},
		))),
		"an export": exporting(t, goModule().Assemble(), exportEntry{"t", externTable, 0}),
	} {
		m, err := Parse(content)
		require.NoError(t, err, name)
		require.Nil(t, m.tableOnDemand(uint64(self)+1), name)
		after, err := m.Rewrite()
		require.NoError(t, err, name)
		again, err := Parse(after)
		require.NoError(t, err, name)
		require.Equal(t, m.elements, again.elements, name)
		require.Len(t, again.tables, len(m.tables), name)
		for i, table := range again.tables {
			require.Equal(t, m.tables[i].min, table.min, name)
		}
	}
}

// exporting returns the module with another export.
func exporting(t *testing.T, content []byte, e exportEntry) []byte {
	t.Helper()
	m, err := Parse(content)
	require.NoError(t, err)
	out := []byte(header)
	for _, s := range m.sections {
		if s.id == sectionExport {
			s.content = addExports(s.content, []exportEntry{e})
		}
		out = append(out, wasmtest.Section(s.id, s.content)...)
	}
	return out
}
