package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	text := &crusterv1.Schema{Type: "string"}
	for name, tc := range map[string]struct {
		schema       *crusterv1.Schema
		text, sample string
	}{
		"None":      {nil, "any", "null"},
		"Bool":      {&crusterv1.Schema{Type: "bool"}, "bool", "false"},
		"Int":       {&crusterv1.Schema{Type: "int", Bits: 64}, "int", "1"},
		"SmallUint": {&crusterv1.Schema{Type: "uint", Bits: 8}, "uint8", "1"},
		"Nullable":  {&crusterv1.Schema{Type: "float", Bits: 32, Nullable: true}, "float32 or null", "1"},
		"Bytes":     {&crusterv1.Schema{Type: "bytes"}, "bytes (base64)", `""`},
		"Time":      {&crusterv1.Schema{Type: "time"}, "time (RFC 3339)", `"2026-01-31T12:00:00Z"`},
		"List":      {&crusterv1.Schema{Type: "list", Elem: text}, "list of string", `["…"]`},
		"NullableElem": {
			&crusterv1.Schema{Type: "list", Elem: &crusterv1.Schema{Type: "bool", Nullable: true}},
			"list of (bool or null)", "[false]",
		},
		"Map":         {&crusterv1.Schema{Type: "map", Elem: text}, "map of string to string", `{"…":"…"}`},
		"EmptyStruct": {&crusterv1.Schema{Type: "struct"}, "{}", "{}"},
		// The name of a field is a module's own.
		"HostileField": {
			&crusterv1.Schema{
				Type: "struct", Fields: []*crusterv1.Field{{Name: "a\n\"b", Required: true, Schema: text}},
			},
			"{\n  a \"b: string\n}", `{"a\n\"b":"…"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.text, schemaText(tc.schema, ""))
			require.Equal(t, tc.sample, sampleInput(tc.schema))
		})
	}
}
