package table

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`null`:                              nil,
		`18446744073709551615`:              uint64(math.MaxUint64),
		`-9223372036854775808`:              int64(math.MinInt64),
		`{"$float": "-0"}`:                  math.Copysign(0, -1),
		`{"$float": "+inf"}`:                math.Inf(1),
		`{"$float32": "0.1"}`:               float32(0.1),
		`{"$bytes": "00ff"}`:                []byte{0, 255},
		`{"$bytes": ""}`:                    []byte{},
		`{"$zeros": 3}`:                     []byte{0, 0, 0},
		`{"$repeat": ["ä", 3]}`:             "äää",
		`{"$many": [false, 2]}`:             []any{false, false},
		`{"$time": [-1, 1]}`:                time.Unix(-1, 1).UTC(),
		`[{"$outside": "/x"}]`:              []any{"http://here/x"},
		`{"who": {"$execution": ""}}`:       map[string]any{"who": "a/b/c"},
		`{"time": "text", "bytes": [null]}`: map[string]any{"time": "text", "bytes": []any{nil}},
	} {
		var v Value
		require.NoError(t, json.Unmarshal([]byte(text), &v), text)
		require.False(t, v.IsZero(), text)
		p := Places{Outside: "http://here", Execution: "a/b/c"}
		require.Equal(t, abi.MustMarshal(want), v.Encode(p), text)
	}
	for _, text := range []string{
		`1.5`, `{"$float": "x"}`, `{"$zeros": "3"}`, `{"$time": ["a", 1]}`, `{"$time": [1]}`, `{"$other": 1}`,
	} {
		var v Value
		require.Error(t, json.Unmarshal([]byte(text), &v), text)
	}
	require.True(t, Value{}.IsZero())
}
