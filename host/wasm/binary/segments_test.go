package binary

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// load writes the segments of a data section into zeroed memory, as an engine does.
func load(t require.TestingT, content []byte, memory []byte) (segments int) {
	read, ok := readSegments(content)
	require.True(t, ok)
	for _, s := range read {
		copy(memory[s.offset:s.end()], s.bytes)
	}
	return len(read)
}

func TestMergedSegmentsLoadTheSameMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var content []byte
		n, at := rapid.IntRange(0, 20).Draw(t, "segments"), 0
		for range n {
			at += rapid.SampledFrom([]int{0, 1, 8, 100, maxSegmentGap, maxSegmentGap + 1}).Draw(t, "gap")
			data := rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "data")
			content = append(content, 0, 0x41)
			content = appendS32(content, int32(at))
			content = append(content, 0x0b)
			content = appendU32(content, uint64(len(data)))
			content = append(content, data...)
			at += len(data)
		}
		content = append(appendU32(nil, uint64(n)), content...)
		merged := mergeSegments(&Module{}, content)

		want, got := make([]byte, 1<<18), make([]byte, 1<<18)
		before := load(t, content, want)
		after := load(t, merged, got)
		require.True(t, bytes.Equal(want, got))
		require.LessOrEqual(t, after, before)
	})
}

func TestSegmentsThatAreLeftAlone(t *testing.T) {
	t.Parallel()
	neighbours := []byte{2, 0, 0x41, 0, 0x0b, 1, 'a', 0, 0x41, 8, 0x0b, 1, 'b'}
	merged := mergeSegments(&Module{}, neighbours)
	require.Equal(t, []byte{1, 0, 0x41, 0, 0x0b, 9, 'a', 0, 0, 0, 0, 0, 0, 0, 'b'}, merged)

	swapped := []byte{2, 0, 0x41, 8, 0x0b, 1, 'b', 0, 0x41, 0, 0x0b, 1, 'a'}
	require.Equal(t, merged, mergeSegments(&Module{}, swapped))

	counted := &Module{sections: []section{{id: sectionDataCount}}}
	for name, c := range map[string]struct {
		module  *Module
		content []byte
	}{
		"instructions may name segments": {counted, neighbours},
		"overlap":                        {&Module{}, []byte{2, 0, 0x41, 1, 0x0b, 1, 'a', 0, 0x41, 1, 0x0b, 1, 'b'}},
		"passive":                        {&Module{}, []byte{1, 1, 1, 'a'}},
		"offset from a global":           {&Module{}, []byte{1, 0, 0x23, 0, 0x0b, 1, 'a'}},
		"other memory":                   {&Module{}, []byte{1, 2, 0, 0x41, 0, 0x0b, 1, 'a'}},
		"truncated":                      {&Module{}, neighbours[:len(neighbours)-1]},
		"more behind":                    {&Module{}, append(bytes.Clone(neighbours), 0)},
		"end of the address space":       {&Module{}, []byte{1, 0, 0x41, 0x7f, 0x0b, 2, 'a', 'b'}},
		"offset too long":                {&Module{}, []byte{1, 0, 0x41, 0xff, 0xff, 0xff, 0xff, 0x1f, 0x0b, 0}},
	} {
		require.Equal(t, c.content, mergeSegments(c.module, c.content), name)
	}
}
