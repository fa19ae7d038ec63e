package payload

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestToJSON(t *testing.T) {
	t.Parallel()

	for _, tc := range []struct {
		name  string
		value any
		want  string
	}{
		{"Nil", nil, `null`},
		{"BigInt", int64(9007199254740993), `9007199254740993`},
		{"BigUint", uint64(math.MaxUint64), `18446744073709551615`},
		{"Float", 5.0, `5.0`},
		{"Float32", float32(0.1), `0.1`},
		{"Tiny", 1e-300, `1e-300`},
		{"NaN", math.NaN(), `"NaN"`},
		{"Inf", math.Inf(1), `"Inf"`},
		{"MinusInf", math.Inf(-1), `"-Inf"`},
		{"Bytes", []byte("hi"), `"aGk="`},
		{"Time", time.Date(2026, 1, 31, 12, 0, 0, 5, time.UTC), `"2026-01-31T12:00:00.000000005Z"`},
		{"IntKeys", map[int]string{-1: "a"}, `{"-1":"a"}`},
		{"NoHTMLEscapes", "<a&b>", `"<a&b>"`},
		{"BadUTF8", "a\xff", `"a\ufffd"`},
		{"Nested", []any{true, map[string]any{"b": nil, "a": "\n"}}, `[true,{"a":"\n","b":null}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := ToJSON(abi.MustMarshal(tc.value))
			require.NoError(t, err)
			require.Equal(t, tc.want, string(got))
			require.True(t, json.Valid(got))
		})
	}
}

func TestToJSONExtension(t *testing.T) {
	t.Parallel()

	got, err := ToJSON([]byte{0xd4, 5, 1})
	require.NoError(t, err)
	//nolint:testifylint // the text itself: no space, keys in order
	require.Equal(t, `{"$extension":5,"data":"AQ=="}`, string(got))
}

func TestToJSONRefuses(t *testing.T) {
	t.Parallel()

	for name, data := range map[string][]byte{
		"Empty":     {},
		"NoType":    {0xc1},
		"Collision": {0x82, 1, 0xc0, 0xa1, '1', 0xc0},
		"ListKey":   {0x81, 0x90, 0xc0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ToJSON(data)
			require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
		})
	}
}

func FuzzToJSON(f *testing.F) {
	f.Add([]byte{0x81, 0xa1, 'a', 0xd7, 0xff, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0xc4, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := ToJSON(data)
		if err == nil {
			require.True(t, json.Valid(text), "%s", text)
		}
	})
}
