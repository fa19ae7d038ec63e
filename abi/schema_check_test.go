package abi

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// orderSchema is the schema of a request that has a field of every type.
func orderSchema() *Schema {
	return &Schema{Type: TypeStruct, Fields: []Field{
		{Name: "at", Schema: &Schema{Type: TypeTime}},
		{Name: "blob", Schema: &Schema{Type: TypeBytes, Nullable: true}},
		{Name: "extra"},
		{Name: "items", Required: true, Schema: &Schema{Type: TypeList, Elem: &Schema{Type: TypeStruct, Fields: []Field{
			{Name: "quantity", Required: true, Schema: &Schema{Type: TypeInt, Bits: 8}},
			{Name: "sku", Schema: &Schema{Type: TypeString}},
		}}}},
		{Name: "limits", Schema: &Schema{Type: TypeMap, Elem: &Schema{Type: TypeUint, Bits: 16}}},
		{Name: "order_id", Required: true, Schema: &Schema{Type: TypeString}},
		{Name: "paid", Schema: &Schema{Type: TypeBool}},
		{Name: "price", Schema: &Schema{Type: TypeFloat}},
		{Name: "ratio", Schema: &Schema{Type: TypeFloat, Bits: 32}},
		{Name: "wishes", Schema: &Schema{Type: TypeList, Elem: &Schema{Type: TypeBool, Nullable: true}}},
	}}
}

func TestSchemaCheck(t *testing.T) {
	t.Parallel()

	type m = map[string]any
	base := func(more m) m {
		order := m{"order_id": "42", "items": []any{}}
		maps.Copy(order, more)
		return order
	}
	for _, tc := range []struct {
		name  string
		value any
		want  string // part of the message; empty means that the value fits
	}{
		{"Whole", base(m{
			"at": time.Now(), "blob": []byte{1}, "extra": []any{m{"a": 1}, nil, 1.5}, "paid": true, "price": 2.5,
			"items": []any{m{"quantity": -128, "sku": "x"}}, "limits": m{"a": 65535}, "ratio": float32(0.5),
		}), ""},
		{"NullWhereNullable", base(m{"blob": nil}), ""},
		{"NullWhereNot", base(m{"paid": nil}), "paid: expected bool, got null"},
		{"NullForAListOfNullables", base(m{"wishes": nil}), "wishes: expected list of (bool or null), got null"},
		{"NotAStruct", "text", "expected struct, got string"},
		{"Missing", m{"items": []any{}}, `the field "order_id" is missing`},
		{"MissingDeep", base(m{"items": []any{m{"sku": "x"}}}), `items[0]: the field "quantity" is missing`},
		{"Misspelt", base(m{"pric": 1.5}), `unknown field "pric"; did you mean "price"?`},
		{"Unknown", base(m{"customer_name": 1}), `unknown field "customer_name"; known are at, blob,`},
		{
			"WrongType", base(m{"items": []any{m{"quantity": 1}, m{"quantity": 1}, m{"quantity": "x"}}}),
			"items[2].quantity: expected int8, got string",
		},
		{"TooWide", base(m{"items": []any{m{"quantity": 128}}}), "items[0].quantity: 128 is out of the range of int8"},
		{"TooNegative", base(m{"items": []any{m{"quantity": -129}}}), "-129 is out of the range of int8"},
		{"NegativeUint", base(m{"limits": m{"a": -1}}), `limits["a"]: -1 is out of the range of uint16`},
		{"WideUint", base(m{"limits": m{"a": 65536}}), `limits["a"]: 65536 is out of the range of uint16`},
		{"IntForFloat", base(m{"price": 1}), "price: expected float, got int"},
		{"WideFloat", base(m{"ratio": 0.5}), "ratio: expected a 32-bit float"},
		{"BytesForString", base(m{"order_id": []byte("42")}), "order_id: expected string, got bytes"},
		{"BadUTF8", base(m{"order_id": "\xff"}), "order_id: the string is not valid UTF-8"},
		{"IntKeys", base(m{"limits": map[int]int{1: 1}}), "limits: expected keys that are strings, got int"},
		{"StringForTime", base(m{"at": "2026-01-01T00:00:00Z"}), "at: expected time, got string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := orderSchema().Check(MustMarshal(tc.value))
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, CodeBadInput, CodeOf(err))
		})
	}
}

func TestSchemaCheckIntegerBounds(t *testing.T) {
	t.Parallel()

	signed, unsigned := &Schema{Type: TypeInt}, &Schema{Type: TypeUint}
	require.NoError(t, signed.Check(MustMarshal(int64(math.MinInt64))))
	require.NoError(t, signed.Check(MustMarshal(int64(math.MaxInt64))))
	require.ErrorContains(t, signed.Check(MustMarshal(uint64(math.MaxInt64)+1)), "out of the range of int64")
	require.NoError(t, unsigned.Check(MustMarshal(uint64(math.MaxUint64))))
	require.ErrorContains(t, unsigned.Check(MustMarshal(-1)), "out of the range of uint64")
}

func TestSchemaCheckNilSchemaTakesAll(t *testing.T) {
	t.Parallel()

	var s *Schema
	require.NoError(t, s.Check(MustMarshal(map[string]any{"a": []any{1, "x", nil}})))
	require.Equal(t, CodeBadInput, CodeOf(s.Check([]byte{0xc1})), "malformed msgpack is refused even without a schema")
	require.Equal(t, CodeBadInput, CodeOf(s.Check(nil)))
}

func TestSchemaCheckMessageIsBounded(t *testing.T) {
	t.Parallel()

	s := &Schema{Type: TypeStruct, Fields: []Field{{Name: "a"}}}
	err := s.Check(MustMarshal(map[string]any{strings.Repeat("x", 1<<20): 1}))
	require.Error(t, err)
	require.Less(t, len(err.Error()), 1000)
}

func TestSchemaValidate(t *testing.T) {
	t.Parallel()

	deep := &Schema{Type: TypeString}
	for range maxSchemaDepth + 1 {
		deep = &Schema{Type: TypeList, Elem: deep}
	}
	wide := &Schema{Type: TypeStruct, Fields: make([]Field, maxSchemaNodes)}
	for _, tc := range []struct {
		name   string
		schema *Schema
		want   string
	}{
		{"Nil", nil, ""},
		{"Order", orderSchema(), ""},
		{"UnknownType", &Schema{Type: "decimal"}, `"decimal" is not a type`},
		{"Bits", &Schema{Type: TypeInt, Bits: 24}, "24 is not a width of int"},
		{"FloatBits", &Schema{Type: TypeFloat, Bits: 16}, "16 is not a width of float"},
		{"Deep", deep, "nested more than"},
		{"Wide", wide, "more than 10000"},
		{"ElemOfString", &Schema{Type: TypeString, Elem: &Schema{Type: TypeAny}}, "a string has no element type"},
		{"FieldsOfInt", &Schema{Type: TypeInt, Fields: []Field{{Name: "a"}}}, "a int has no fields"},
		{"Unsorted", &Schema{Type: TypeStruct, Fields: []Field{{Name: "b"}, {Name: "a"}}}, "alphabetical"},
		{"Twice", &Schema{Type: TypeStruct, Fields: []Field{{Name: "a"}, {Name: "a"}}}, "occurs twice"},
		{"NoName", &Schema{Type: TypeStruct, Fields: []Field{{}}}, "is not a valid name of a field"},
		{
			"Path",
			&Schema{
				Type:   TypeStruct,
				Fields: []Field{{Name: "a", Schema: &Schema{Type: TypeList, Elem: &Schema{Type: "x"}}}},
			},
			`a[]: "x" is not a type`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.schema.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, CodeBadManifest, CodeOf(err))
		})
	}
}

func FuzzSchemaCheck(f *testing.F) {
	f.Add(MustMarshal(map[string]any{"order_id": "42", "items": []any{map[string]any{"quantity": 1}}}))
	f.Add([]byte{0xc1})
	f.Fuzz(func(t *testing.T, data []byte) {
		err := orderSchema().Check(data)
		if _, bad := Canonical(data); bad != nil {
			require.Error(t, err)
		}
	})
}

// TestUnrelated: a value from which code of a type would decode nothing.
func TestUnrelated(t *testing.T) {
	t.Parallel()
	money := &Schema{Type: TypeStruct, Fields: []Field{{Name: "cents", Schema: &Schema{Type: TypeInt}}}}
	for value, want := range map[any]bool{nil: false, 5: false, "cents": false} {
		require.Equal(t, want, money.IsUnrelated(MustMarshal(value)), "%v", value)
	}
	require.True(t, money.IsUnrelated(MustMarshal(map[string]int{"euros": 1, "tax": 2})))
	require.False(t, money.IsUnrelated(MustMarshal(map[string]int{"euros": 1, "cents": 0})))
	require.False(t, money.IsUnrelated(MustMarshal(map[string]int{})))
	require.False(t, money.IsUnrelated([]byte{0xc1}), "it is no value")
	require.False(t, (&Schema{Type: TypeStruct}).IsUnrelated(MustMarshal(map[string]int{"euros": 1})))
	require.False(
		t, (&Schema{Type: TypeMap, Elem: &Schema{Type: TypeInt}}).IsUnrelated(MustMarshal(map[string]int{"euros": 1})),
	)
}
