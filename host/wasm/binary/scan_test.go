package binary

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestScanFunction scans the body of a function in hex: its locals and its
// instructions.
func TestScanFunction(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/scan", func(t *testing.T, d *datadriven.TestData) string {
		f, err := scanFunction(fromHex(t, d.Input))
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		var guards strings.Builder
		for _, g := range f.guards {
			kind := "table"
			if g.memory {
				kind = "memory"
			}
			fmt.Fprintf(&guards, " %s@%d", kind, g.at)
		}
		return fmt.Sprintf("locals=%d code=%d branches=%d ranges=%d checked=%t calls=%t guards:%s\n",
			f.locals, f.code, f.branches, f.ranges, f.checked, f.calls, guards.String())
	})
}

// TestFunctionsThatTakeLongToCompile: the engine's work grows with the square of
// what these have many of.
func TestFunctionsThatTakeLongToCompile(t *testing.T) {
	t.Parallel()
	branch := []byte{0x20, 0, 0x04, 0x40, 0x0b} // if end
	fill := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.I32Const(1), []byte{0xfc, 11, 0})
	table := wasmtest.Join([]byte{0x20, 0, 0x0e}, wasmtest.U32(30_000), make([]byte, 30_001))
	for name, c := range map[string]struct {
		module wasmtest.Module
		says   string
	}{
		"branches":             {wasmtest.Module{Start: bytes.Repeat(branch, 60_000)}, "60000 branches, and 10000 are allowed"},
		"loops":                {wasmtest.Module{Start: bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 60_000)}, "60000 branches"},
		"a table of branches":  {wasmtest.Module{Start: table}, "30001 branches"},
		"ranges":               {wasmtest.Module{Start: bytes.Repeat(fill, 60_000)}, "240000 branches"},
		"branches and locals":  {wasmtest.Module{Locals: 40_000, Start: bytes.Repeat(branch, 5000)}, "branch too much"},
		"a function too large": {wasmtest.Module{Start: bytes.Repeat([]byte{0x01}, 2<<20)}, "2097154 bytes, and 1048576 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Parse(c.module.Assemble())
			require.NoError(t, err)
			_, err = m.Rewrite()
			require.Equal(t, abi.CodeNotWasm, abi.CodeOf(err))
			require.ErrorContains(t, err, c.says)
		})
	}
}
