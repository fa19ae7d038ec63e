package symbolize

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzGoProgram: a table of functions is the guest's, and may say anything.
func FuzzGoProgram(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0}, uint64(1), uint64(1), uint64(8), "main.f")
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<40), ^uint64(0), ^uint64(0), ^uint64(0), "")
	f.Add(goTableOf(3, "main.f")[len(goTable):], uint64(0), uint64(0), uint64(0), "main.last")
	f.Fuzz(func(t *testing.T, content []byte, function, behind, pointer uint64, name string) {
		p, ok := findGoProgram(append([]byte(goTable), content...))
		if !ok {
			return
		}
		if found, ok := p.find([]string{"$1", name}); ok {
			require.Less(t, found, p.count)
			require.Contains(t, []string{"$1", name}, plainName(p.name(found)))
		}
		calls := p.stack(goCall{function: function % p.count, behind: behind}, pointer)
		if call, pointer, ok := p.waiting(pointer); ok {
			calls = p.stack(call, pointer)
		}
		require.LessOrEqual(t, len(calls), maxGoFrames)
		for _, c := range calls {
			require.LessOrEqual(t, len(p.name(c.function)), MaxText)
			require.LessOrEqual(t, len(p.frames(c)), maxInlined+1)
		}
	})
}

// goTableOf is a table of so many functions. The last is main.last, all before it share a name.
func goTableOf(count uint64, name string) []byte {
	return goTableNamed([]string{name, "main.last"}, count, func(f uint64) uint64 {
		if f == count-1 {
			return 1
		}
		return 0
	})
}

// goTableNamed is a table of so many functions that have these names, and no lines.
func goTableNamed(names []string, count uint64, nameOf func(function uint64) uint64) []byte {
	const header = 8 + 8*8
	all := strings.Join(names, "\x00") + "\x00"
	table := []byte(goTable)
	for _, word := range []uint64{count, 0, 0, header, 0, 0, 0, header + uint64(len(all))} {
		table = binary.LittleEndian.AppendUint64(table, word)
	}
	table = append(table, all...)
	for f := range count {
		table = binary.LittleEndian.AppendUint64(table, (8*count+recordEnd*nameOf(f))<<32)
	}
	at := uint64(0)
	for _, name := range names {
		table = append(binary.LittleEndian.AppendUint64(table, at<<32), make([]byte, recordEnd-8)...)
		at += uint64(len(name)) + 1
	}
	return table
}

// TestTheAuthorsFunctionIsShownBehindLibraries: the first function of the package main, though more calls than are
// shown belong to others.
func TestTheAuthorsFunctionIsShownBehindLibraries(t *testing.T) {
	t.Parallel()
	names := []string{"json.a", "json.b", "runtime.c", "json.d", "json.e", "json.f", "json.g", "main.work", "main.run"}
	p, ok := findGoProgram(goTableNamed(names, uint64(len(names)), func(f uint64) uint64 { return f }))
	require.True(t, ok)
	calls := make([]goCall, len(names))
	for n := range calls {
		calls[n].function = uint64(n)
	}
	require.Equal(t, []string{"json.a", "json.b", "json.d", "json.e", "main.work"}, p.authorFrames(calls))
	require.Equal(t, []string{"json.e", "json.f", "json.g", "main.work", "main.run"}, p.authorFrames(calls[4:]))
	require.Equal(t, []string{"json.a", "json.b", "json.d", "json.e", "json.f"}, p.authorFrames(calls[:6]))
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
	long := strings.Repeat("n", MaxText)
	_, ok = find(long, "main.last")
	require.False(t, ok, "it gave up")
	found, ok = find(long, "env.refuel", long)
	require.True(t, ok, "it is found before that")
	require.Zero(t, found)
}
