package wasm

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lay writes the segments of a data section into zeroed memory, as an engine
// does.
func lay(t require.TestingT, content []byte, memory []byte) (segments int) {
	read, ok := readSegments(content)
	require.True(t, ok)
	for _, s := range read {
		copy(memory[s.offset:s.end()], s.bytes)
	}
	return len(read)
}

func TestMergedSegmentsLayTheSameMemory(t *testing.T) {
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
			content = binary.AppendUvarint(content, uint64(len(data)))
			content = append(content, data...)
			at += len(data)
		}
		content = append(binary.AppendUvarint(nil, uint64(n)), content...)
		merged := mergeSegments(&layout{}, content)

		want, got := make([]byte, 1<<18), make([]byte, 1<<18)
		before := lay(t, content, want)
		after := lay(t, merged, got)
		require.True(t, bytes.Equal(want, got))
		require.LessOrEqual(t, after, before)
	})
}

func TestSegmentsThatAreLeftAlone(t *testing.T) {
	t.Parallel()
	neighbours := []byte{2, 0, 0x41, 0, 0x0b, 1, 'a', 0, 0x41, 8, 0x0b, 1, 'b'}
	merged := mergeSegments(&layout{}, neighbours)
	require.Equal(t, []byte{1, 0, 0x41, 0, 0x0b, 9, 'a', 0, 0, 0, 0, 0, 0, 0, 'b'}, merged)

	swapped := []byte{2, 0, 0x41, 8, 0x0b, 1, 'b', 0, 0x41, 0, 0x0b, 1, 'a'}
	require.Equal(t, merged, mergeSegments(&layout{}, swapped))

	counted := &layout{sections: []section{{id: sectionDataCount}}}
	for name, c := range map[string]struct {
		layout  *layout
		content []byte
	}{
		"instructions may name segments": {counted, neighbours},
		"overlap":                        {&layout{}, []byte{2, 0, 0x41, 1, 0x0b, 1, 'a', 0, 0x41, 1, 0x0b, 1, 'b'}},
		"passive":                        {&layout{}, []byte{1, 1, 1, 'a'}},
		"offset from a global":           {&layout{}, []byte{1, 0, 0x23, 0, 0x0b, 1, 'a'}},
		"other memory":                   {&layout{}, []byte{1, 2, 0, 0x41, 0, 0x0b, 1, 'a'}},
		"truncated":                      {&layout{}, neighbours[:len(neighbours)-1]},
		"more behind":                    {&layout{}, append(bytes.Clone(neighbours), 0)},
		"end of the address space":       {&layout{}, []byte{1, 0, 0x41, 0x7f, 0x0b, 2, 'a', 'b'}},
		"offset too long":                {&layout{}, []byte{1, 0, 0x41, 0xff, 0xff, 0xff, 0xff, 0x1f, 0x0b, 0}},
	} {
		require.Equal(t, c.content, mergeSegments(c.layout, c.content), name)
	}
}
