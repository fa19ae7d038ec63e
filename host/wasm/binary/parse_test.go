package binary

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	m, err := Parse(wasmtest.Module{
		Imports: []wasmtest.Import{
			wasmtest.WASI("fd_write", wasmtest.TypeFour), wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp),
			wasmtest.Cruster(abi.OpSleep, wasmtest.TypeOp),
		},
		Table: wasmtest.Vector([]byte{0x70, 1, 2, 3}, []byte{0x6f, 0, 4}),
		Pages: 7,
	}.Assemble())
	require.NoError(t, err)
	require.Equal(t, []string{"cruster.sleep", "wasi_snapshot_preview1.fd_write"}, m.ImportNames())
	require.Equal(t, []table{{typeFuncref, limits{2, 3, true}}, {typeExternref, limits{min: 4}}}, m.tables)
	require.Equal(t, []limits{{min: 7}}, m.memories)

	s, ok := m.functionSignature(1)
	require.True(t, ok)
	require.Equal(t, "(i32, i32) → i32", s.String(), "an imported function")
	s, ok = m.functionSignature(4)
	require.True(t, ok)
	require.Equal(t, "()", s.String(), "a function of the module: cruster_describe")
	_, ok = m.functionSignature(8)
	require.False(t, ok)
	_, ok = m.functionSignature(math.MaxUint32)
	require.False(t, ok)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	valid := wasmtest.Module{}.Assemble()
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"nothing":                   {nil, "header"},
		"text":                      {[]byte("#!/bin/sh\necho hello"), "header"},
		"component":                 {[]byte("\x00asm\x0d\x00\x01\x00"), "header"},
		"garbage behind the header": {[]byte(header + "garbage\xff\x00\x1b["), "section"},
		"truncated":                 {valid[:len(valid)-3], "ends too early"},
		"a section twice":           {wasmtest.Join(valid, wasmtest.Section(3, []byte{0})), "section 3 occurs twice"},
		"unknown section":           {[]byte(header + "\x0d\x00"), "section 13 is unknown"},
		"more than its entries": {
			wasmtest.Join([]byte(header), wasmtest.Section(3, []byte{1, 0, 0})), "1 bytes behind its last entry",
		},
		"kind of import": {
			wasmtest.Module{
				RawImports: [][]byte{wasmtest.Join(wasmtest.String("env"), wasmtest.String("x"), []byte{4})},
			}.Assemble(),
			"unknown kind 4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(c.content)
			require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestParseRefusesEveryPrefix(t *testing.T) {
	t.Parallel()
	valid := wasmtest.Module{Init: []byte{}, StartFunction: true}.Assemble()
	rules := Rules{}
	for n := range valid {
		m, err := Parse(valid[:n])
		if err == nil {
			// The cut is between two sections.
			err = m.Validate(rules)
			if err == nil {
				continue // the code section is missing: the engine refuses that
			}
		}
		require.Contains(t, []abi.Code{abi.CodeNotWasm, abi.CodeMissingExport}, abi.CodeOf(err), "cut at %d", n)
	}
	m, err := Parse(valid)
	require.NoError(t, err)
	require.NoError(t, m.Validate(rules))
}

// TestClaimsAreComparedWithTheBytes parses modules of a few bytes that claim to contain billions of things, for which
// the engine would make room.
func TestClaimsAreComparedWithTheBytes(t *testing.T) {
	t.Parallel()
	huge := wasmtest.U32(math.MaxUint32)
	body := func(locals ...[]byte) []byte {
		b := wasmtest.Join(wasmtest.Vector(locals...), []byte{0x0b})
		return wasmtest.Section(10, wasmtest.Vector(wasmtest.Join(wasmtest.U32(len(b)), b)))
	}
	claims := map[string][]byte{
		"section size":     wasmtest.Join([]byte{1}, huge),
		"parameters":       wasmtest.Section(1, wasmtest.Vector(wasmtest.Join([]byte{0x60}, huge))),
		"results":          wasmtest.Section(1, wasmtest.Vector(wasmtest.Join([]byte{0x60, 0}, huge))),
		"module name":      wasmtest.Section(2, wasmtest.Vector(huge)),
		"export name":      wasmtest.Section(7, wasmtest.Vector(huge)),
		"elements":         wasmtest.Section(9, wasmtest.Vector(wasmtest.Join([]byte{0, 0x41, 0, 0x0b}, huge))),
		"elements by type": wasmtest.Section(9, wasmtest.Vector(wasmtest.Join([]byte{5, 0x70}, huge))),
		"data":             wasmtest.Section(11, wasmtest.Vector(wasmtest.Join([]byte{0, 0x41, 0, 0x0b}, huge))),
		"passive data":     wasmtest.Section(11, wasmtest.Vector(wasmtest.Join([]byte{1}, huge))),
		"function size":    wasmtest.Section(10, wasmtest.Vector(huge)),
		"locals":           body(wasmtest.Join(huge, []byte{0x7e})),
		"locals in all groups": body(
			wasmtest.Join(wasmtest.U32(30_000), []byte{0x7e}), wasmtest.Join(wasmtest.U32(30_000), []byte{0x7e}),
		),
		"unknown section": wasmtest.Section(13, huge),
	}
	for id := byte(1); id <= 11; id++ {
		if id == 8 {
			continue // the start section is a single index
		}
		claims[fmt.Sprintf("entries of section %d", id)] = wasmtest.Section(id, huge)
		claims[fmt.Sprintf("a million entries of section %d", id)] = wasmtest.Section(
			id, wasmtest.Join(wasmtest.U32(1_000_000), make([]byte, 100)),
		)
	}
	for name, claim := range claims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Parse(wasmtest.Join([]byte(header), claim))
			if err == nil {
				_, err = m.Rewrite()
			}
			require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err), "%v", err)
			require.Less(t, len(err.Error()), 200)
		})
	}
}
