package binary

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	rules := Rules{Functions: map[string]Signature{"cruster.sleep": {Params: "\x7f\x7f", Results: "\x7f"}}}
	type module = wasmtest.Module
	imports := func(module, name string, typ byte) wasmtest.Module {
		return wasmtest.Module{Imports: []wasmtest.Import{{Module: module, Name: name, Type: typ}}}
	}
	raw := func(name string, desc ...byte) wasmtest.Module {
		return wasmtest.Module{RawImports: [][]byte{wasmtest.Join(wasmtest.String("env"), wasmtest.String(name), desc)}}
	}
	type refusal struct {
		module module
		code   abi.Code
		says   string
	}
	cases := map[string]refusal{
		"unknown module": {
			imports("env", "abort", wasmtest.TypeVoid), abi.CodeUnknownImport,
			"env.abort, which this host does not offer",
		},
		"unknown function": {
			imports("cruster", "teleport", wasmtest.TypeOp), abi.CodeUnknownImport, "cruster.teleport",
		},
		"wrong type": {
			imports("cruster", "sleep", wasmtest.TypeStrange), abi.CodeUnknownImport,
			"cruster.sleep as (i64), but it is (i32, i32) → i32",
		},
		"import without a type": {imports("cruster", "sleep", 99), abi.CodeNotWasm, "has no type"},
		"hostile name": {
			imports("env\x1b[31m", strings.Repeat("x", 500), wasmtest.TypeVoid), abi.CodeUnknownImport, `env\x1b`,
		},
		"imported memory": {raw("memory", 2, 0, 1), abi.CodeUnknownImport, "memory env.memory"},
		"imported table":  {raw("table", 1, 0x70, 0, 1), abi.CodeUnknownImport, "table env.table"},
		"imported global": {raw("global", 3, 0x7f, 0), abi.CodeUnknownImport, "global env.global"},
		"huge table": {
			module{Table: wasmtest.Vector(wasmtest.Join([]byte{0x70, 0}, wasmtest.U32(1<<20)))},
			abi.CodeModuleMemory,
			"1048576 entries",
		},
		"many tables": {
			module{Table: append([]byte{17}, bytes.Repeat([]byte{0x70, 0, 1}, 17)...)},
			abi.CodeModuleMemory,
			"17 tables",
		},
		"no memory": {module{Omit: abi.ExportMemory}, abi.CodeMissingExport, "memory"},
	}
	for _, export := range []string{abi.ExportABI, abi.ExportDescribe, abi.ExportStart, abi.ExportResume} {
		cases["no "+export] = refusal{
			module{Omit: export}, abi.CodeMissingExport, "does not export the function " + export,
		}
		cases["wrong type of "+export] = refusal{module{Mistype: export}, abi.CodeMissingExport, export + " as ()"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Parse(c.module.Assemble())
			require.NoError(t, err)
			err = m.Validate(rules)
			require.Equal(t, c.code, abi.CodeOf(err), err)
			require.ErrorContains(t, err, c.says)
			require.Less(t, len(err.Error()), 600)
		})
	}
}

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	rules := Rules{Functions: map[string]Signature{"cruster.sleep": {Params: "\x7f\x7f", Results: "\x7f"}}}
	for name, module := range map[string]wasmtest.Module{
		"the least":         {},
		"an initialisation": {Init: []byte{}},
		"both":              {Init: []byte{}, Main: true},
		"an import":         {Imports: []wasmtest.Import{wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp)}},
		"a table":           {Table: wasmtest.Vector([]byte{0x70, 0, 1})},
	} {
		m, err := Parse(module.Assemble())
		require.NoError(t, err, name)
		require.NoError(t, m.Validate(rules), name)
	}
}

// A program begins with its _start, which no host calls; of a library the host calls _initialize, if it has one.
func TestCheckLibrary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		module  wasmtest.Module
		refused bool
	}{
		"the least":    {wasmtest.Module{}, false},
		"a library":    {wasmtest.Module{Init: []byte{}}, false},
		"both":         {wasmtest.Module{Init: []byte{}, Main: true}, false},
		"a program":    {wasmtest.Module{Main: true}, true},
		"no SDK in it": {wasmtest.Module{Main: true, Omit: abi.ExportABI}, true},
	} {
		m, err := Parse(c.module.Assemble())
		require.NoError(t, err, name)
		err = m.CheckLibrary()
		if !c.refused {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, abi.CodeMissingExport, abi.CodeOf(err), name)
		require.ErrorContains(t, err, "the module is a program, not a library", name)
		require.Contains(t, abi.AsError(err).Hint, "-buildmode=c-shared", name)
	}
}

func TestCheckMemory(t *testing.T) {
	t.Parallel()
	m, err := Parse(wasmtest.Module{Pages: 17}.Assemble())
	require.NoError(t, err)
	require.EqualValues(t, 17<<16, m.MemoryFromTheStart())
	require.NoError(t, m.CheckMemory(17<<16))
	err = m.CheckMemory(17<<16 - 1)
	require.Equal(t, abi.CodeModuleMemory, abi.CodeOf(err))
	require.ErrorContains(t, err, "1088 KiB of memory from the start, and this host allows 1024 KiB")
}
