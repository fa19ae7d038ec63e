package binary

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func global(typ, mutable byte, init ...byte) []byte {
	return wasmtest.Join([]byte{typ, mutable}, init, []byte{0x0b})
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	module := wasmtest.Module{
		Init: []byte{}, StartFunction: true, Data: []byte("hello"),
		Globals: wasmtest.Vector(
			global(typeI32, 1, 0x41, 7), global(typeI64, 0, 0x42, 8), global(typeF64, 1, 0x44, 0, 0, 0, 0, 0, 0, 0, 0),
		),
	}.Assemble()
	before, err := Parse(module)
	require.NoError(t, err)
	template, err := before.MakeTemplate(module)
	require.NoError(t, err)
	require.Equal(t, []string{"cruster:global:0", "cruster:global:2"}, template.Globals)
	require.Equal(t, []Segment{{0, []byte("hello")}}, template.Segments)
	require.True(t, template.HasStart)

	after, err := Parse(template.Content)
	require.NoError(t, err)
	require.Equal(t, append(before.exports,
		exportEntry{"cruster:global:0", externGlobal, 0}, exportEntry{"cruster:global:2", externGlobal, 2},
		exportEntry{StartExport, externFunction, 5},
	), after.exports)
	for _, s := range after.sections {
		require.NotContains(t, []byte{sectionData, sectionDataCount, sectionStart}, s.id)
	}
}

// TestFuelIsNoState: a global that is exported as fuel is set before every call.
func TestFuelIsNoState(t *testing.T) {
	t.Parallel()
	module := wasmtest.Module{
		Globals: wasmtest.Vector(global(typeI64, 1, 0x42, 0), global(typeI32, 1, 0x41, 0)),
	}.Assemble()
	m, err := Parse(module)
	require.NoError(t, err)
	fueled := m.assembleTemplate([]exportEntry{{FuelExport, externGlobal, 0}})
	template, err := m.MakeTemplate(fueled)
	require.NoError(t, err)
	require.Equal(t, []string{"cruster:global:1"}, template.Globals)
}

func TestModulesWithoutTemplate(t *testing.T) {
	t.Parallel()
	table := wasmtest.Vector([]byte{typeFuncref, 0, 4})
	start := func(code ...byte) []byte { return wasmtest.Join(code, wasmtest.I32Const(1)) }
	three := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(0), wasmtest.I32Const(0))
	null := []byte{0xd0, typeFuncref}
	fill := wasmtest.Join(wasmtest.I32Const(0), null, wasmtest.I32Const(0), []byte{0xfc, 17, 0})
	vector := append([]byte{0xfd, 0x0c}, make([]byte, 16)...)
	many := make([][]byte, maxTemplateGlobals+1)
	for i := range many {
		many[i] = global(typeI32, 1, 0x41, 0)
	}
	for name, c := range map[string]struct {
		module wasmtest.Module
		says   string
	}{
		"table.set": {
			wasmtest.Module{Table: table, Start: start(wasmtest.Join(wasmtest.I32Const(0), null, []byte{0x26, 0})...)},
			"changes tables",
		},
		"table.grow": {
			wasmtest.Module{
				Table: table, Start: start(wasmtest.Join(null, wasmtest.I32Const(0), []byte{0xfc, 15, 0, 0x1a})...),
			},
			"changes tables",
		},
		"table.fill": {wasmtest.Module{Table: table, Start: start(fill...)}, "changes tables"},
		"table.copy": {
			wasmtest.Module{Table: table, Start: start(wasmtest.Join(three, []byte{0xfc, 14, 0, 0})...)},
			"changes tables",
		},
		"table.init": {
			wasmtest.Module{Table: table, Start: start(wasmtest.Join(three, []byte{0xfc, 12, 0, 0})...)},
			"changes tables",
		},
		"elem.drop": {wasmtest.Module{Table: table, Start: start(0xfc, 13, 0)}, "changes tables"},
		"memory.init": {
			wasmtest.Module{Start: start(wasmtest.Join(three, []byte{0xfc, 8, 0, 0})...)}, "passive data",
		},
		"data.drop": {wasmtest.Module{Start: start(0xfc, 9, 0)}, "passive data"},
		"a vector":  {wasmtest.Module{Globals: wasmtest.Vector(global(typeV128, 1, vector...))}, "type v128"},
		"a reference": {
			wasmtest.Module{Globals: wasmtest.Vector(global(typeFuncref, 1, null...))}, "type funcref",
		},
		"many globals": {wasmtest.Module{Globals: wasmtest.Vector(many...)}, "more than 1000"},
		"far data": {
			wasmtest.Module{DataSection: wasmtest.Vector([]byte{0, 0x41, 0x7f, 0x0b, 1, 'a'})}, "outside of the memory",
		},
		"computed offset": {
			wasmtest.Module{DataSection: wasmtest.Vector([]byte{0, 0x23, 0, 0x0b, 1, 'a'})}, "no constant offset",
		},
		"miscounted data": {
			wasmtest.Module{DataCount: []byte{2}, DataSection: wasmtest.Vector([]byte{1, 1, 'a'})}, "counts 2",
		},
		"its own names":     {wasmtest.Module{Globals: wasmtest.Vector()}, "exports something as cruster:start"},
		"no start function": {wasmtest.Module{Globals: wasmtest.Vector()}, "start function is none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := c.module.Assemble()
			m, err := Parse(content)
			require.NoError(t, err)
			switch name {
			case "its own names":
				content = m.assembleTemplate([]exportEntry{{StartExport, externFunction, 0}})
			case "no start function":
				content = wasmtest.Join(content[:8], wasmtest.Section(sectionStart, []byte{99}), content[8:])
			}
			_, err = m.MakeTemplate(content)
			require.ErrorContains(t, err, c.says)
		})
	}
}
