package binary

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(t, err)
	return b
}

// TestInsertChecks rewrites the body of one function, given in hex. The argument
// params is how many parameters of i32 the function has; nops puts that many
// instructions that do nothing in front of its end.
func TestInsertChecks(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/checks", func(t *testing.T, d *datadriven.TestData) string {
		params, nops := 0, 0
		d.MaybeScanArgs(t, "params", &params)
		d.MaybeScanArgs(t, "nops", &nops)
		body := fromHex(t, d.Input)
		body = wasmtest.Join(body[:len(body)-1], []byte(strings.Repeat("\x01", nops)), body[len(body)-1:])
		m := &Module{types: []Signature{{Params: strings.Repeat("\x7f", params)}}, functions: []uint32{0}}
		out, err := insertChecks(m, wasmtest.Vector(wasmtest.Join(wasmtest.U32(len(body)), body)))
		require.NoError(t, err)
		r := &reader{data: out}
		require.EqualValues(t, 1, r.u32())
		checked := r.bytes(r.u32())
		r.end()
		require.NoError(t, r.err)
		text := fmt.Sprintf("% x\n", checked)
		if nops > 0 {
			text = strings.Replace(text, strings.Repeat(" 01", nops), " …", 1)
		}
		return text
	})
}

func TestInsertChecksRefuses(t *testing.T) {
	t.Parallel()
	fill := fromHex(t, "00 20 00 20 00 20 00 fc 0b 00 0b")
	content := wasmtest.Vector(wasmtest.Join(wasmtest.U32(len(fill)), fill))
	_, err := insertChecks(&Module{}, content)
	require.ErrorContains(t, err, "function 0 has no type")
	_, err = insertChecks(&Module{functions: []uint32{3}}, content)
	require.ErrorContains(t, err, "function 0 has no type")
	_, err = insertChecks(&Module{}, []byte{0, 0})
	require.ErrorContains(t, err, "behind its last entry")
}
