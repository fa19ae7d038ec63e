package guest

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// sqlValues are values of every kind and of every length on the wire.
func sqlValues() []any {
	long := strings.Repeat("long", maxScalar)
	return []any{
		nil, true, false, 0, 1, -1, 127, 128, -32, -33, 255, 256, 65_535, 65_536, math.MaxInt32, math.MinInt32,
		int64(math.MaxInt64), int64(math.MinInt64),
		int8(-5), int16(300), int32(-70_000), uint8(200), uint16(65_535), uint32(math.MaxUint32), uint64(math.MaxInt64),
		uint64(math.MaxUint64),
		1.5, 0.0, math.Inf(-1), float32(2.5), "", "text", "ä\x00🚀", "\xff", strings.Repeat("x", 31),
		strings.Repeat("x", 32), strings.Repeat("x", 300), long,
		[]byte{},
		[]byte(nil),
		[]byte{1, 2},
		[]byte(long), time.Unix(1_700_000_000, 5).UTC(),
		[]any{1, "a"},
		map[string]any{"b": 1, "a": nil},
	}
}

// TestSQLAgreesWithABI compares the bodies of SQL with the bodies of abi's codec.
func TestSQLAgreesWithABI(t *testing.T) {
	t.Parallel()
	all := sqlValues()
	lists := [][]any{nil, {}, all, make([]any, 40)}
	for _, v := range all {
		lists = append(lists, []any{v}, []any{1, v, "x"})
	}
	for _, args := range lists {
		given := args
		if given == nil {
			given = []any{}
		}
		encoded, err := Encode("the arguments of the statement", given)
		require.NoError(t, err)
		got, err := EncodeSQL("SELECT $1", args)
		require.NoError(t, err)
		require.Equal(t, abi.MustMarshal(abi.SQL{Args: encoded, Query: "SELECT $1"}), got)
	}
	for _, reply := range []abi.ExecReply{{}, {RowsAffected: 1}, {RowsAffected: math.MaxInt64}} {
		got, err := DecodeExecReply(abi.MustMarshal(&reply))
		require.NoError(t, err)
		require.Equal(t, reply, got)
	}
	for _, reply := range []abi.QueryReply{
		{},
		{Columns: []string{}, Rows: [][]any{}},
		{Columns: []string{"a", "b"}, Rows: [][]any{{1, nil}, nil, {}}},
		{Columns: []string{"a"}, Rows: [][]any{all}},
	} {
		data := abi.MustMarshal(&reply)
		var want abi.QueryReply
		require.NoError(t, abi.Unmarshal(data, &want))
		got, err := DecodeQueryReply(data)
		require.NoError(t, err)
		require.Equal(t, want, got)
		for n := range len(data) - 1 {
			if n > 100 && n%997 != 0 {
				continue // a long one
			}
			_, err := DecodeQueryReply(data[:n])
			require.Error(t, err, "it ends early, after %d bytes", n)
		}
	}
	_, err := EncodeSQL("SELECT $1", []any{make(chan int)})
	require.ErrorContains(t, err, "the arguments of the statement")
	_, err = EncodeSQL("SELECT $1", []any{strings.Repeat("x", abi.MaxPayload)})
	require.ErrorContains(t, err, "the arguments of the statement")
}

// FuzzSQLReply reads answers that are none.
func FuzzSQLReply(f *testing.F) {
	f.Add(abi.MustMarshal(&abi.QueryReply{Columns: []string{"a"}, Rows: [][]any{{1, "x", nil}}}))
	f.Add(abi.MustMarshal(&abi.ExecReply{RowsAffected: 1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = DecodeExecReply(data)
		got, err := DecodeQueryReply(data)
		if err != nil {
			return
		}
		var want abi.QueryReply
		if abi.Unmarshal(data, &want) == nil {
			require.Equal(t, want, got)
		}
	})
}
