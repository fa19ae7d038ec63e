package wasm

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzGoProgram: a table of functions is the guest's, and may say anything.
func FuzzGoProgram(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0}, uint64(1), uint64(8))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<40), ^uint64(0), ^uint64(0))
	f.Fuzz(func(t *testing.T, content []byte, function, pointer uint64) {
		p, ok := findGoProgram(append([]byte(goTable), content...))
		if !ok {
			return
		}
		calls := p.stack(function%p.count, pointer)
		require.LessOrEqual(t, len(calls), maxGoFrames)
		for _, c := range calls {
			require.LessOrEqual(t, len(p.name(c.function)), maxGoText)
			_ = p.position(c)
		}
	})
}

func TestNamesOfRustFunctions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"_ZN6orders5count17h0123456789abcdefE":                                        "orders::count",
		"_ZN6orders6Orders7execute28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE": "orders::Orders::execute::_{{closure}}",
		"_ZN99nothing": "_ZN99nothing",
		"_ZN":          "",
		"main":         "main",
	} {
		require.Equal(t, want, demangled(name))
	}
	backtrace := ".$5()\n\t._ZN6orders5count17h0123456789abcdefE(i32) i32\n\t._ZN4core3fmt5write17h0123456789abcdefE()\n\t.cruster_resume(i32) i32"
	require.Equal(t, []string{"orders::count"}, namedFrames(functionsOf(backtrace)))
}
