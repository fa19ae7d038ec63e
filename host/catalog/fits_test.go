package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestMisfits(t *testing.T) {
	t.Parallel()
	number := func(name string, bits int) *abi.Schema { return &abi.Schema{Type: name, Bits: bits} }
	whole, text := number(abi.TypeInt, 64), typeOf(abi.TypeString)
	listOf := func(s *abi.Schema) *abi.Schema { return &abi.Schema{Type: abi.TypeList, Elem: s} }
	optional := &abi.Schema{Type: abi.TypeInt, Nullable: true}
	required := func(name string, s *abi.Schema) abi.Field { return abi.Field{Name: name, Schema: s, Required: true} }
	for name, tc := range map[string]struct {
		old, updated *abi.Schema
		want         []string // of code that refuses absent and null values
		filled       []string // of code that reads it as zero
	}{
		"NewOption": {
			old: structOf(), updated: structOf(required("b", optional)), want: []string{`"b" is required now`},
		},
		"Same": {old: structOf(fieldOf("a", whole)), updated: structOf(fieldOf("a", whole))},
		"New": {
			old: structOf(fieldOf("a", whole)), updated: structOf(fieldOf("a", whole), fieldOf("b", whole)),
		},
		"NewAndRequired": {
			old: structOf(), updated: structOf(required("b", whole)), want: []string{`"b" is required now`},
		},
		"RequiredNow": {
			old:     structOf(fieldOf("b", whole)),
			updated: structOf(required("b", whole)),
			want:    []string{`"b" is required now`},
		},
		"RequiredBefore": {old: structOf(required("b", whole)), updated: structOf(required("b", whole))},
		"Renamed": {
			old:     structOf(fieldOf("free", whole), fieldOf("holds", whole)),
			updated: structOf(fieldOf("available", whole), fieldOf("holds", whole)),
			want:    []string{`"free" is gone`},
			filled:  []string{`"free" is gone`},
		},
		"Inside": {
			old: structOf(fieldOf("a", structOf(fieldOf("b", whole)))), updated: structOf(fieldOf("a", structOf())),
			want: []string{`"a.b" is gone`}, filled: []string{`"a.b" is gone`},
		},
		"OfElements": {
			old:     structOf(fieldOf("a", listOf(structOf(fieldOf("b", whole))))),
			updated: structOf(fieldOf("a", listOf(structOf(fieldOf("b", text))))),
			want:    []string{`"a[].b" is string, and was int`},
			filled:  []string{`"a[].b" is string, and was int`},
		},
		"Elements": {
			old: structOf(fieldOf("slots", listOf(whole))), updated: structOf(fieldOf("slots", listOf(text))),
			want: []string{`"slots[]" is string, and was int`}, filled: []string{`"slots[]" is string, and was int`},
		},
		"ListOfWhatItWas": {
			old: structOf(fieldOf("a", whole)), updated: structOf(fieldOf("a", listOf(whole))),
			want: []string{`"a" is list of int, and was int`}, filled: []string{`"a" is list of int, and was int`},
		},
		"Whole": {
			old: structOf(fieldOf("a", whole)), updated: text,
			want: []string{`it is string, and was struct`}, filled: []string{`it is string, and was struct`},
		},
		"Wider":   {old: number(abi.TypeInt, 32), updated: whole},
		"Default": {old: whole, updated: typeOf(abi.TypeInt)},
		"Narrower": {
			old: whole, updated: number(abi.TypeInt, 32),
			want: []string{`it is int32, and was int`}, filled: []string{`it is int32, and was int`},
		},
		"SignedAndWider": {old: number(abi.TypeUint, 32), updated: whole},
		"SignedAndNotWider": {
			old:     number(abi.TypeUint, 64),
			updated: whole,
			want:    []string{`it is int, and was uint`},
			filled:  []string{`it is int, and was uint`},
		},
		"Unsigned": {
			old: number(abi.TypeInt, 8), updated: number(abi.TypeUint, 64),
			want: []string{`it is uint, and was int8`}, filled: []string{`it is uint, and was int8`},
		},
		"NotNull": {
			old: optional, updated: whole, want: []string{`it may not be null any more, and was int or null`},
		},
		"Null":       {old: whole, updated: optional},
		"Anything":   {old: nil, updated: structOf(fieldOf("a", whole))},
		"ToAnything": {old: structOf(fieldOf("a", whole)), updated: typeOf(abi.TypeAny)},
	} {
		require.Equal(t, tc.want, reading{}.misfits(tc.old, tc.updated, ""), name)
		if name == "NewOption" {
			tc.want = nil
		}
		require.Equal(t, tc.want, reading{optional: true}.misfits(tc.old, tc.updated, ""), name)
		require.Equal(t, tc.filled, reading{fills: true}.misfits(tc.old, tc.updated, ""), name)
	}
}
