package view

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Schema is the JSON of a type.
type Schema struct {
	Type     string  `json:"type"`
	Bits     int32   `json:"bits,omitempty"`
	Nullable bool    `json:"nullable,omitempty"`
	Elem     *Schema `json:"elem,omitempty"`
	Fields   []Field `json:"fields,omitempty"`
}

// Field is the JSON of a field of a struct.
type Field struct {
	Name     string  `json:"name"`
	Required bool    `json:"required"`
	Schema   *Schema `json:"schema"`
}

// SchemaOf is the shape of a type; nil stays nil.
func SchemaOf(s *crusterv1.Schema) *Schema {
	if s == nil {
		return nil
	}
	v := &Schema{Type: s.GetType(), Bits: s.GetBits(), Nullable: s.GetNullable(), Elem: SchemaOf(s.GetElem())}
	for _, f := range s.GetFields() {
		v.Fields = append(v.Fields, Field{
			Name: f.GetName(), Required: f.GetRequired(), Schema: SchemaOf(f.GetSchema()),
		})
	}
	return v
}

// schemaText writes a type the way a person would: structs with their fields on lines of their own, optional ones
// marked with '?'.
func schemaText(s *crusterv1.Schema, indent string) string {
	if s == nil {
		return abi.TypeAny
	}
	text := s.GetType()
	switch s.GetType() {
	case abi.TypeInt, abi.TypeUint, abi.TypeFloat:
		if b := s.GetBits(); b != 0 && b != 64 {
			text += strconv.Itoa(int(b))
		}
	case abi.TypeBytes:
		text = "bytes (base64)"
	case abi.TypeTime:
		text = "time (RFC 3339)"
	case abi.TypeList:
		text = "list of " + elemText(s.GetElem(), indent)
	case abi.TypeMap:
		text = "map of string to " + elemText(s.GetElem(), indent)
	case abi.TypeStruct:
		text = fieldsText(s.GetFields(), indent)
	}
	if s.GetNullable() {
		text += " or null"
	}
	return text
}

// elemText sets the type of an element apart if it is the element that may be null.
func elemText(s *crusterv1.Schema, indent string) string {
	text := schemaText(s, indent)
	if s.GetNullable() {
		text = "(" + text + ")"
	}
	return text
}

func fieldsText(fields []*crusterv1.Field, indent string) string {
	if len(fields) == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, f := range fields {
		b.WriteString(indent + "  " + terminal.OneLine(f.GetName()))
		if !f.GetRequired() {
			b.WriteByte('?')
		}
		b.WriteString(": " + schemaText(f.GetSchema(), indent+"  ") + "\n")
	}
	b.WriteString(indent + "}")
	return b.String()
}

// sampleInput makes JSON that fits a type, for people to start from. Field names come from a module, so it is built and
// not printed.
func sampleInput(s *crusterv1.Schema) string {
	raw, err := json.Marshal(sampleOf(s))
	if err != nil {
		return "{}"
	}
	return string(raw)
}

func sampleOf(s *crusterv1.Schema) any {
	switch s.GetType() {
	case abi.TypeBool:
		return false
	case abi.TypeInt, abi.TypeUint, abi.TypeFloat:
		return 1
	case abi.TypeString:
		return "…"
	case abi.TypeBytes:
		return ""
	case abi.TypeTime:
		return "2026-01-31T12:00:00Z"
	case abi.TypeList:
		return []any{sampleOf(s.GetElem())}
	case abi.TypeMap:
		return map[string]any{"…": sampleOf(s.GetElem())}
	case abi.TypeStruct:
		fields := map[string]any{}
		for _, f := range s.GetFields() {
			if f.GetRequired() {
				fields[f.GetName()] = sampleOf(f.GetSchema())
			}
		}
		return fields
	default:
		return nil
	}
}
