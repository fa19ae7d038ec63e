package binary

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func TestPartOf(t *testing.T) {
	t.Parallel()
	for function, want := range map[string]string{
		"main.main":                         "main",
		"net/http.(*Transport).roundTrip":   "net/http",
		"github.com/a/b.c/d.F":              "github.com/a/b.c/d",
		"slices.SortFunc[go.shape.[]a/b.T]": "slices",
		"type:.eq.crypto/tls.state":         "crypto/tls",
		"go:buildid":                        otherPart,
		"memcpy":                            otherPart,
		"":                                  otherPart,
		"core::fmt::write::h0123456789":     "core",
		"<alloc::string::String as core::fmt::Write>::write_str": "alloc",
		"<&mut T as x::Y>::z":                                                otherPart,
		"cruster[0a1b]::guest::run":                                          "cruster",
		"_ZN4core3fmt5write17h0123456789abcdefE":                             "core",
		"_ZN70_$LT$serde_json..Value$u20$as$u20$core..fmt..Display$GT$3fmtE": otherPart, // its length is wrong
		"_ZN27_$LT$serde_json..Value$GT$3fmtE":                               "serde_json",
		"_ZN":                                                                otherPart,
		"_ZN99999999999999999999999999999999core":                            otherPart,
	} {
		require.Equal(t, want, partOf(function), function)
	}
}

// named is a module with a name section: its import, and some of its functions.
func named(t *testing.T, names ...[]byte) *Module {
	t.Helper()
	section := wasmtest.Join(wasmtest.String("name"), []byte{1}, wasmtest.String(string(wasmtest.Vector(names...))))
	m, err := Parse(wasmtest.Join(wasmtest.Module{Init: []byte{}}.Assemble(), wasmtest.Section(0, section)))
	require.NoError(t, err)
	return m
}

func TestSizesByTheNameSection(t *testing.T) {
	t.Parallel()
	m := named(t)
	require.Nil(t, m.Sizes().Parts, "it names no function")
	imported := 0
	for _, imp := range m.imports {
		if imp.kind == externFunction {
			imported++
		}
	}
	name := func(index int, text string) []byte { return wasmtest.Join(wasmtest.U32(index), wasmtest.String(text)) }
	s := named(t, name(imported, "net/http.Get"), name(imported+1, "core::fmt::write"), name(1_000_000, "none")).Sizes()
	require.Positive(t, s.Code)
	found := map[string]bool{}
	total := 0
	for _, p := range s.Parts {
		found[p.Name] = true
		total += p.Bytes
	}
	require.True(t, found["net/http"] && found["core"], "%v", s.Parts)
	require.LessOrEqual(t, total, s.Code)
}

// goTableOf is Go's table of functions with the names, as the linker lays it out: runs of zeros are left out.
func goTableOf(names ...string) []dataSegment {
	const header = 72
	var text []byte
	var offsets []uint32
	for _, n := range names {
		offsets = append(offsets, uint32(len(text)))
		text = append(append(text, n...), 0)
	}
	table := append([]byte(goTable), make([]byte, header-len(goTable))...)
	word := func(i int, v uint64) { binary.LittleEndian.PutUint64(table[8+8*i:], v) }
	word(0, uint64(len(names)))
	word(3, header)
	word(7, uint64(header+len(text)))
	functions := make([]byte, 8*len(names)+8*len(names))
	for i, at := range offsets {
		binary.LittleEndian.PutUint32(functions[8*i:], uint32(0x1000+i))
		binary.LittleEndian.PutUint32(functions[8*i+4:], uint32(8*len(names)+8*i))
		binary.LittleEndian.PutUint32(functions[8*len(names)+8*i+4:], at)
	}
	table = append(append(table, text...), functions...)
	const base = 4096
	split := 8 + 3*8 // the third word of the header is zero
	return []dataSegment{{base, table[:split-8]}, {base + uint64(split), table[split:]}}
}

func TestGoFunctions(t *testing.T) {
	t.Parallel()
	table := goTableOf("main.main", "net/http.Get")
	require.Equal(t, []string{"main.main", "net/http.Get"}, goFunctions(table, 2))
	require.Nil(t, goFunctions(table, 3), "it is the table of another program")
	require.Nil(t, goFunctions(nil, 2))
	// A table that ends early has other names; nothing else happens.
	require.Len(t, goFunctions([]dataSegment{table[0], {table[1].offset, table[1].bytes[:70]}}, 2), 2)
}

// FuzzGoFunctions reads tables that lie about where things are.
func FuzzGoFunctions(f *testing.F) {
	table := goTableOf("main.main", "net/http.Get")
	f.Add(uint64(4096), table[0].bytes, table[1].bytes, 2)
	f.Fuzz(func(t *testing.T, at uint64, first, second []byte, functions int) {
		at %= 1 << 32
		functions = max(0, min(functions, 1000))
		segments := []dataSegment{{at, first}, {at + uint64(len(first)) + 8, second}}
		if names := goFunctions(segments, functions); names != nil {
			require.Len(t, names, functions)
		}
	})
}
