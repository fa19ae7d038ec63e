package binary

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNumbersAreReadAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u, s := rapid.Uint32().Draw(t, "u32"), rapid.Int32().Draw(t, "s32")
		r := &reader{data: appendS32(appendU32(nil, uint64(u)), s)}
		require.Equal(t, u, r.u32())
		got, ok := r.s32()
		require.True(t, ok)
		require.Equal(t, s, got)
		r.end()
		require.NoError(t, r.err)
	})
}

func TestAppendS32IsShortest(t *testing.T) {
	t.Parallel()
	for v, want := range map[int32][]byte{
		0: {0}, 63: {63}, 64: {0xc0, 0}, -1: {0x7f}, -64: {0x40}, -65: {0xbf, 0x7f},
		maxPlainRange: {0x80, 0x20},
		math.MaxInt32: {0xff, 0xff, 0xff, 0xff, 0x07},
		math.MinInt32: {0x80, 0x80, 0x80, 0x80, 0x78},
	} {
		require.Equal(t, want, appendS32(nil, v), v)
	}
}
