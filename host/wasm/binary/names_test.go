package binary

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func TestFunctionNames(t *testing.T) {
	t.Parallel()
	subsection := func(id byte, content []byte) []byte {
		return wasmtest.Join([]byte{id}, wasmtest.U32(len(content)), content)
	}
	names := subsection(1, wasmtest.Vector(wasmtest.Join(wasmtest.U32(2), wasmtest.String("f"))))
	locals := subsection(2, []byte{0})
	section := func(name string, content ...[]byte) []byte {
		return wasmtest.Join(wasmtest.String(name), wasmtest.Join(content...))
	}
	only := section("name", names)
	huge := wasmtest.U32(math.MaxUint32)
	for name, c := range map[string]struct{ content, want []byte }{
		"function names":            {section("name", names), only},
		"others around them":        {section("name", subsection(0, []byte{0}), names, locals), only},
		"local names":               {section("name", locals), nil},
		"no names":                  {section("name"), nil},
		"debug information":         {section(".debug_info", huge), nil},
		"without a name of its own": {nil, nil},
		"a name longer than it":     {huge, nil},
		"a size longer than it":     {section("name", []byte{1}, huge), nil},
		"more names than bytes":     {section("name", subsection(1, huge)), nil},
		"bytes behind the names":    {section("name", subsection(1, []byte{0, 0})), nil},
	} {
		require.Equal(t, c.want, functionNames(c.content, func(f uint32) uint64 { return uint64(f) }), name)
	}
}
