package guest

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
)

// somePlain are values of all plain types, and of some that are not plain.
var somePlain = rapid.OneOf(
	rapid.Int64().AsAny(), rapid.Int().AsAny(), rapid.Int32().AsAny(), rapid.Uint32().AsAny(), rapid.Uint64().AsAny(),
	rapid.Float64().AsAny(), rapid.Bool().AsAny(), someText.AsAny(),
	rapid.SampledFrom([]any{
		int64(math.MinInt64), int64(math.MaxInt64), int64(-32), int64(-33), int64(-128), int64(-129), int64(-32768),
		int64(-32769),
		int64(127), int64(128), int64(255), int64(256), int64(65535), int64(65536), int64(math.MaxUint32),
		int64(math.MaxUint32 + 1),
		uint64(math.MaxUint64), math.NaN(), math.Copysign(0, -1), math.Inf(1), "", int8(3),
		[]byte{1},
		float32(1), nil,
	}),
)

func TestAppendScalarAgreesWithABI(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := somePlain.Draw(t, "v")
		got, ok := AppendScalar([]byte{7}, v)
		if !ok {
			require.Equal(t, []byte{7}, got)
			return
		}
		want, err := abi.MarshalCanonical(v)
		require.NoError(t, err)
		require.Equal(t, append([]byte{7}, want...), got)
	})
}

// Decoding agrees with abi's codec; input refused there is not decoded.
func TestDecodeScalarAgreesWithABI(t *testing.T) {
	t.Parallel()
	some := rapid.OneOf(
		rapid.Map(somePlain, func(v any) []byte { return abi.MustMarshal(v) }),
		rapid.Custom(func(t *rapid.T) []byte {
			return append([]byte{rapid.Byte().Draw(t, "head")}, rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "rest")...)
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		data := some.Draw(t, "data")
		for _, plain := range []any{int64(0), 0, int32(0), uint32(0), uint64(0), 0.0, "", false, int8(0), []byte(nil)} {
			got, want := reflect.New(reflect.TypeOf(plain)), reflect.New(reflect.TypeOf(plain))
			if !DecodeScalar(data, got.Interface()) {
				require.True(t, got.Elem().IsZero(), "nothing is written before all of it fits")
				continue
			}
			require.NoError(t, abi.Unmarshal(data, want.Interface()), "%x as %T", data, plain)
			if f, ok := want.Elem().Interface().(float64); ok {
				require.Equal(t, math.Float64bits(f), math.Float64bits(got.Elem().Float()))
				continue
			}
			require.Equal(t, want.Elem().Interface(), got.Elem().Interface(), "%x", data)
		}
	})
}

// A text that was decoded does not change with the bytes it came from.
func TestDecodeScalarCopiesText(t *testing.T) {
	t.Parallel()
	data := abi.MustMarshal("text")
	var text string
	require.True(t, DecodeScalar(data, &text))
	data[1] = 'X'
	require.Equal(t, "text", text)
}
