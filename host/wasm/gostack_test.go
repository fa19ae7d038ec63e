package wasm

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzGoProgram: a table of functions is the guest's, and may say anything.
func FuzzGoProgram(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0}, uint64(1), uint64(8), "main.f")
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<40), ^uint64(0), ^uint64(0), "")
	f.Add(goTableOf(3, "main.f")[len(goTable):], uint64(0), uint64(0), "main.last")
	f.Fuzz(func(t *testing.T, content []byte, function, pointer uint64, name string) {
		p, ok := findGoProgram(append([]byte(goTable), content...))
		if !ok {
			return
		}
		if found, ok := p.find([]string{"$1", name}); ok {
			require.Less(t, found, p.count)
			require.Contains(t, []string{"$1", name}, plainName(p.name(found)))
		}
		calls := p.stack(function%p.count, pointer)
		require.LessOrEqual(t, len(calls), maxGoFrames)
		for _, c := range calls {
			require.LessOrEqual(t, len(p.name(c.function)), maxGoText)
			_ = p.position(c)
		}
	})
}

// goTableOf is a table of so many functions. The last is main.last, all before it share a name.
func goTableOf(count uint64, name string) []byte {
	const header = 8 + 8*8
	names := uint64(header)
	functions := names + uint64(len(name)) + 1 + uint64(len("main.last")) + 1
	table := []byte(goTable)
	for _, word := range []uint64{count, 0, 0, names, 0, 0, 0, functions} {
		table = binary.LittleEndian.AppendUint64(table, word)
	}
	table = append(table, name+"\x00main.last\x00"...)
	for f := range count {
		record := 8 * count
		if f == count-1 {
			record += 8
		}
		table = binary.LittleEndian.AppendUint64(table, record<<32)
	}
	for _, name := range []uint64{0, uint64(len(name)) + 1} {
		table = binary.LittleEndian.AppendUint64(table, name<<32)
	}
	return table
}

// TestFunctionsAreFoundByNameWithABound: the table of a large program is read to its end, once for all
// names; one whose names are all as long as can be is not.
func TestFunctionsAreFoundByNameWithABound(t *testing.T) {
	t.Parallel()
	find := func(name string, wanted ...string) (uint64, bool) {
		p, ok := findGoProgram(goTableOf(maxGoFunctions, name))
		require.True(t, ok)
		return p.find(wanted)
	}
	usual := strings.Repeat("n", 60)
	found, ok := find(usual, "env.refuel", "main.last", usual)
	require.True(t, ok)
	require.EqualValues(t, maxGoFunctions-1, found, "the innermost of those that there are")
	_, ok = find(usual, "env.refuel", "main.absent")
	require.False(t, ok)
	long := strings.Repeat("n", maxGoText)
	_, ok = find(long, "main.last")
	require.False(t, ok, "it gave up")
	found, ok = find(long, "env.refuel", long)
	require.True(t, ok, "it is found before that")
	require.Zero(t, found)
}
