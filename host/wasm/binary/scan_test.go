package binary

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestScanFunction scans the body of a function in hex: its locals and its instructions. It prints
// the changes: where regions begin, with their costs, and ! if there is a check, with its report of
// its place in a Go function. Function 0 is imported, 1 is a leaf that costs 7, 2 is none. The
// argument adds puts that many additions in front of the last end.
func TestScanFunction(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/scan", func(t *testing.T, d *datadriven.TestData) string {
		adds := 0
		d.MaybeScanArgs(t, "adds", &adds)
		body := fromHex(t, d.Input)
		body = wasmtest.Join(body[:len(body)-1], bytes.Repeat([]byte{0x6a}, adds), body[len(body)-1:])
		fuel := fuelIndexes{imported: 1, refuel: 1, global: 1, types: 1, end: 3}
		ours := &helpers{fuel: fuel, first: 4, segments: []uint32{800, 1 << 20, 1 << 20}, numbers: map[helper]uint64{}}
		ctx := &codeContext{fuel: fuel, leaves: []uint64{7, notLeaf}, helpers: ours}
		cost, leaf := leafCost(body)
		f, err := scanFunction(body, ctx, leaf)
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		var text strings.Builder
		fmt.Fprintf(&text, "locals=%d code=%d branches=%d", f.locals, f.code, f.branches)
		if leaf {
			fmt.Fprintf(&text, " leaf=%d", cost)
		}
		for _, e := range f.edits {
			switch {
			case e.region == nil && e.nan == noLanes:
				fmt.Fprintf(&text, " %d-%d:% x", e.at, e.end, e.replace)
			case e.region == nil:
				fmt.Fprintf(&text, " %d:NaN", e.at)
			case e.region.check:
				fmt.Fprintf(&text, " %d:%d!%s", e.at, e.region.cost, told(e.region))
			case e.region.cost > 0:
				fmt.Fprintf(&text, " %d:%d", e.at, e.region.cost)
			}
		}
		return text.String() + "\n"
	})
}

// told returns a check's report of its place to the host.
func told(g *region) string {
	switch {
	case g.jumps:
		return "local0"
	case g.block < unknownBlock:
		place := PlaceOf(g.block)
		return map[bool]string{false: "at", true: "after"}[place.After] + fmt.Sprint(place.Behind-1)
	case g.block != unknownBlock:
		return fmt.Sprintf("block%d", g.block)
	}
	return ""
}

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(t, err)
	return b
}

// TestFunctionsThatTakeLongToCompile: the engine's work grows with the square of these functions' counts.
func TestFunctionsThatTakeLongToCompile(t *testing.T) {
	t.Parallel()
	branch := []byte{0x20, 0, 0x04, 0x40, 0x0b} // if end
	fill := wasmtest.Join(wasmtest.I32Const(0), wasmtest.I32Const(1), wasmtest.I32Const(1), []byte{0xfc, 11, 0})
	table := wasmtest.Join([]byte{0x20, 0, 0x0e}, wasmtest.U32(30_000), make([]byte, 30_001))
	for name, c := range map[string]struct {
		module wasmtest.Module
		says   string
	}{
		"branches": {
			wasmtest.Module{Start: bytes.Repeat(branch, 60_000)}, "60000 branches, and 10000 are allowed",
		},
		"loops": {
			wasmtest.Module{Start: bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 60_000)}, "60000 branches",
		},
		"a table of branches": {wasmtest.Module{Start: table}, "30001 branches"},
		"ranges":              {wasmtest.Module{Start: bytes.Repeat(fill, 60_000)}, "240000 branches"},
		"branches and locals": {wasmtest.Module{Locals: 40_000, Start: bytes.Repeat(branch, 5000)}, "branch too much"},
		"a function too large": {
			wasmtest.Module{Start: bytes.Repeat([]byte{0x01}, 2<<20)}, "2097154 bytes, and 1048576 are allowed",
		},
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
