package binary

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestElementSegments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data  []byte
		count uint32
		says  string
	}{
		"active":             {[]byte{0, 0x41, 0, 0x0b, 2, 5, 6}, 2, ""},
		"passive":            {[]byte{1, 0, 1, 5}, 1, ""},
		"active in a table":  {[]byte{2, 7, 0x41, 0, 0x0b, 0, 1, 5}, 1, ""},
		"declared":           {[]byte{3, 0, 1, 5}, 1, ""},
		"of expressions":     {[]byte{4, 0x41, 0, 0x0b, 1, 0xd2, 5, 0x0b}, 1, ""},
		"passive, of a type": {[]byte{5, 0x70, 1, 0xd0, 0x70, 0x0b}, 1, ""},
		"unknown form":       {[]byte{8}, 0, "unknown form 0x8"},
		"too many":           {[]byte{1, 0, 4, 1, 2, 3, 4}, 0, "more than"},
		"unknown expression": {[]byte{0, 0x10, 0, 0x0b, 0}, 0, "instruction 0x10"},
	} {
		r := &reader{data: c.data}
		require.Equal(t, c.count, r.elementSegment(3, nil), name)
		if c.says == "" {
			r.end()
			require.NoError(t, r.err, name)
		} else {
			require.ErrorContains(t, r.err, c.says, name)
		}
	}
}

func TestDataSegmentsAreSkipped(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"active":           {0, 0x41, 0, 0x0b, 2, 'a', 'b'},
		"passive":          {1, 1, 'a'},
		"of a memory":      {2, 0, 0x41, 0, 0x0b, 0},
		"offset by global": {0, 0x23, 0, 0x0b, 0},
	} {
		r := &reader{data: data}
		r.dataSegment()
		r.end()
		require.NoError(t, r.err, name)
	}
	r := &reader{data: []byte{3}}
	r.dataSegment()
	require.ErrorContains(t, r.err, "unknown form 0x3")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	require.Equal(t, limits{min: 5}, (&reader{data: []byte{0, 5}}).limits())
	require.Equal(t, limits{5, 6, true}, (&reader{data: []byte{1, 5, 6}}).limits())
	r := &reader{data: []byte{3, 5, 6}}
	r.limits()
	require.ErrorContains(t, r.err, "unknown form 0x3")
}
