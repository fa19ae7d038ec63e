package payload

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func typed(kind string) *abi.Schema { return &abi.Schema{Type: kind} }

func structOf(fields ...abi.Field) *abi.Schema {
	return &abi.Schema{Type: abi.TypeStruct, Fields: fields}
}

func TestFromJSON(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 1, 31, 12, 0, 0, 500, time.UTC)
	for _, tc := range []struct {
		name   string
		json   string
		schema *abi.Schema
		want   any
	}{
		{"Null", `null`, nil, nil},
		{"IntForFloat", `5`, typed(abi.TypeFloat), 5.0},
		{"Int", `5`, nil, 5},
		{"MaxUint64", `18446744073709551615`, nil, uint64(math.MaxUint64)},
		{"MinInt64", `-9223372036854775808`, nil, int64(math.MinInt64)},
		{"PointForInt", `5.0`, typed(abi.TypeInt), 5},
		{"ExponentForInt", `1e3`, typed(abi.TypeUint), 1000},
		{"Float32", `0.1`, &abi.Schema{Type: abi.TypeFloat, Bits: 32}, float32(0.1)},
		{"NegativeZero", `-0`, typed(abi.TypeFloat), math.Copysign(0, -1)},
		{"Bytes", `"aGk="`, typed(abi.TypeBytes), []byte("hi")},
		{"Time", `"2026-01-31T13:00:00.0000005+01:00"`, typed(abi.TypeTime), at},
		{"TimeAsString", `"2026-01-31T12:00:00Z"`, nil, "2026-01-31T12:00:00Z"},
		{"Nullable", `null`, &abi.Schema{Type: abi.TypeBytes, Nullable: true}, nil},
		{"Deep", `{"b":[1,{"c":2}],"a":[]}`, nil, map[string]any{"a": []any{}, "b": []any{1, map[string]any{"c": 2}}}},
		{
			"MapOfFloats", `{"x":1}`, &abi.Schema{Type: abi.TypeMap, Elem: typed(abi.TypeFloat)},
			map[string]any{"x": 1.0},
		},
		{
			"Struct", `{"n":1,"l":[1]}`,
			structOf(
				abi.Field{Name: "l", Schema: &abi.Schema{Type: abi.TypeList, Elem: typed(abi.TypeFloat)}},
				abi.Field{Name: "n"},
			),
			map[string]any{"l": []any{1.0}, "n": 1},
		},
		{"Surrounded", " \n7\t", nil, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := FromJSON([]byte(tc.json), tc.schema)
			require.NoError(t, err)
			want, err := abi.Canonical(abi.MustMarshal(tc.want))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestFromJSONRefuses(t *testing.T) {
	t.Parallel()

	item := structOf(abi.Field{Name: "quantity", Required: true, Schema: typed(abi.TypeInt)})
	order := structOf(abi.Field{Name: "items", Schema: &abi.Schema{Type: abi.TypeList, Elem: item}})
	for _, tc := range []struct {
		name   string
		json   string
		schema *abi.Schema
		want   string
	}{
		{"Empty", ``, nil, "ends early"},
		{"HalfLiteral", `tru`, nil, `"tru" is not JSON`},
		{"HalfLiteralInside", `{"a": nul`, nil, `"nul" is not JSON`},
		{"HalfText", `"abc`, nil, "ends early"},
		{"HalfNumber", `-`, nil, `"-" is not JSON`},
		{"HalfKey", `{"a`, nil, "ends early"},
		{"HalfArray", `[1,fal`, nil, `"fal" is not JSON`},
		{"Half", `{"a":`, nil, "ends early"},
		{"Unclosed", `[1`, nil, "ends early"},
		{"Garbage", `{a:1}`, nil, "malformed"},
		{"Trailing", `1 2`, nil, "something follows"},
		{"TrailingBrace", `{}}`, nil, "something follows"},
		{"DuplicateKey", `{"a":{"b":1,"b":2}}`, nil, `a: the key "b" occurs twice`},
		{"BadUTF8", "\"\xff\"", nil, "not valid UTF-8"},
		{"Deep", strings.Repeat("[", 100_000), nil, "nested more than"},
		{"Beyond64Bits", `18446744073709551616`, nil, "does not fit into 64 bits"},
		{"BeyondFloat", `1e400`, nil, "out of the range"},
		{"InexactFloat", `9007199254740993`, typed(abi.TypeFloat), "cannot be held exactly by a 64-bit float"},
		{
			"InexactFloat32", `16777217`, &abi.Schema{Type: abi.TypeFloat, Bits: 32},
			"cannot be held exactly by a 32-bit float",
		},
		{"Fraction", `1.5`, typed(abi.TypeInt), "expected int, got float"},
		{"TooWide", `300`, &abi.Schema{Type: abi.TypeUint, Bits: 8}, "300 is out of the range of uint8"},
		{"BadBase64", `"???"`, typed(abi.TypeBytes), "base64"},
		{"BadTime", `"yesterday"`, typed(abi.TypeTime), `got "yesterday"`},
		{"Null", `null`, typed(abi.TypeString), "expected string, got null"},
		{"Path", `{"items":[{"quantity":1},{"quantity":"x"}]}`, order, "items[1].quantity: expected int, got string"},
		{"ConversionPath", `{"items":[{"quantity":1e999}]}`, order, "items[0].quantity: 1e999 is out of the range"},
		{"Unknown", `{"itms":[]}`, order, `did you mean "items"?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := FromJSON([]byte(tc.json), tc.schema)
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
		})
	}
}

// Quotes are lost on command lines.
func TestHintOnQuotes(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"o5", "{a:1}", "{'a':1}"} {
		_, err := FromJSON([]byte(text), nil)
		require.Contains(t, abi.AsError(err).Hint, `--input '"text"'`, text)
	}
	_, err := FromJSON([]byte("[1"), nil)
	require.Equal(t, abi.CodeBadInput.Info().Hint, abi.AsError(err).Hint)
}

func TestFromJSONRefusesTooLarge(t *testing.T) {
	t.Parallel()

	_, err := FromJSON(make([]byte, MaxJSON+1), nil)
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(err))
	_, err = FromJSON([]byte(`"`+strings.Repeat("x", abi.MaxBody)+`"`), nil)
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(err))
}

func FuzzFromJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,"x",null,true]}`, `-0`, `1e400`, `"\ud800"`, `{"a":1,"a":2}`, `[[[]]]`, `9007199254740993`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		packed, err := FromJSON([]byte(text), nil)
		if err != nil {
			require.Contains(t, []abi.Code{abi.CodeBadInput, abi.CodePayloadTooLarge}, abi.CodeOf(err))
			return
		}
		canonical, err := abi.Canonical(packed)
		require.NoError(t, err)
		require.Equal(t, canonical, packed)
		back, err := ToJSON(packed)
		require.NoError(t, err)
		again, err := FromJSON(back, nil)
		require.NoError(t, err)
		require.Equal(t, packed, again, "%s came back as %s", text, back)
	})
}
