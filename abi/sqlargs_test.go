package abi

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDecodeSQLArgs(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 5)
	got, err := DecodeSQLArgs(MustMarshal([]any{
		nil, true, 1, -1, int8(-128), int16(300), int32(-70_000), int64(math.MinInt64), uint8(255), uint16(65_535),
		uint32(math.MaxUint32), uint64(math.MaxUint64),
		float32(1.5), 2.5, "text",
		[]byte{1},
		at,
	}))
	require.Nil(t, err)
	want := []any{
		nil, true, int64(1), int64(-1), int64(-128), int64(300), int64(-70_000), int64(math.MinInt64), int64(255),
		int64(65_535), int64(math.MaxUint32), uint64(math.MaxUint64),
		1.5, 2.5, "text",
		[]byte{1},
	}
	require.Equal(t, want, got[:len(want)])
	require.True(t, at.Equal(got[len(want)].(time.Time)))

	for _, none := range [][]byte{nil, {}, MustMarshal([]any{})} {
		got, err := DecodeSQLArgs(none)
		require.Nil(t, err)
		require.Empty(t, got)
	}
}

func TestDecodeArgsRefuses(t *testing.T) {
	t.Parallel()
	for name, encoded := range map[string][]byte{
		"garbage":           {0xc1},
		"a map":             {0x80},
		"a number":          {0x01},
		"a list in a list":  MustMarshal([]any{1, []any{2}}),
		"a map in a list":   MustMarshal([]any{map[string]any{"a": 1}}),
		"an extension":      {0x91, 0xd4, 0x05, 0x00},
		"a lying length":    {0xdd, 0xff, 0xff, 0xff, 0xff},
		"two lists":         {0x90, 0x90},
		"too many":          MustMarshal(make([]any, MaxSQLArgs+1)),
		"a bad timestamp":   {0x91, 0xd4, 0xff, 0x00},
		"cut off":           {0x92, 0x01},
		"a string cut off":  {0x91, 0xa5, 'a'},
		"too large a value": MustMarshal([]any{make([]byte, MaxBody)}),
	} {
		_, err := DecodeSQLArgs(encoded)
		require.NotNil(t, err, name)
		require.Equal(t, CodeSQLArgument, err.Code, name)
	}
}
