package guest

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cruster/cruster/abi"
)

var (
	timeType    = reflect.TypeFor[time.Time]()
	ownEncoding = []reflect.Type{
		reflect.TypeFor[msgpack.CustomEncoder](), reflect.TypeFor[msgpack.Marshaler](),
		reflect.TypeFor[encoding.TextMarshaler](),
	}
	binaryMarshal = reflect.TypeFor[encoding.BinaryMarshaler]()
)

// SchemaOf describes the wire form of a Go type.
//
// A schema tells the host which bytes the encoder of this module produces and its decoder accepts, so it follows the
// rules of the msgpack library and not of encoding/json where the two differ:
//
//   - the msgpack tag names a field, else the json tag, else the Go name
//   - embedded structs are flattened, even if a tag names them, unless one of
//     their fields would hide an earlier one
//   - a nil slice, map or pointer is written as nil, so all of them are nullable
//   - a field with omitempty may be absent; every other field is required
//   - a type that encodes itself can have any shape, so its schema is any
func SchemaOf(t reflect.Type) *abi.Schema {
	return schemaOf(t, nil)
}

// schemaOf describes t; enclosing are the struct types around it. A type that contains itself is "any" in that place,
// because schemas are trees.
func schemaOf(t reflect.Type, enclosing []reflect.Type) *abi.Schema {
	if t == timeType {
		return &abi.Schema{Type: abi.TypeTime}
	}
	if t.Kind() == reflect.Pointer {
		s := *schemaOf(t.Elem(), enclosing)
		s.Nullable = true
		return &s
	}
	if s := selfEncoded(t); s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Bool:
		return &abi.Schema{Type: abi.TypeBool}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &abi.Schema{Type: abi.TypeInt, Bits: t.Bits()}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &abi.Schema{Type: abi.TypeUint, Bits: t.Bits()}
	case reflect.Float32, reflect.Float64:
		return &abi.Schema{Type: abi.TypeFloat, Bits: t.Bits()}
	case reflect.String:
		return &abi.Schema{Type: abi.TypeString}
	case reflect.Slice, reflect.Array:
		nullable := t.Kind() == reflect.Slice
		if t.Elem().Kind() == reflect.Uint8 {
			return &abi.Schema{Type: abi.TypeBytes, Nullable: nullable}
		}
		return &abi.Schema{Type: abi.TypeList, Elem: schemaOf(t.Elem(), enclosing), Nullable: nullable}
	case reflect.Map:
		if t.Key().Kind() != reflect.String || selfEncoded(t.Key()) != nil {
			return &abi.Schema{Type: abi.TypeAny, Nullable: true}
		}
		return &abi.Schema{Type: abi.TypeMap, Elem: schemaOf(t.Elem(), enclosing), Nullable: true}
	case reflect.Struct:
		if slices.Contains(enclosing, t) {
			return &abi.Schema{Type: abi.TypeAny, Nullable: true}
		}
		return structSchema(t, append(slices.Clip(enclosing), t))
	default:
		return &abi.Schema{Type: abi.TypeAny, Nullable: true}
	}
}

// selfEncoded is the schema of a type that encodes itself; nil if it does not.
func selfEncoded(t reflect.Type) *abi.Schema {
	p := reflect.PointerTo(t)
	for _, i := range ownEncoding {
		if p.Implements(i) {
			return &abi.Schema{Type: abi.TypeAny, Nullable: true}
		}
	}
	if p.Implements(binaryMarshal) {
		return &abi.Schema{Type: abi.TypeBytes, Nullable: true}
	}
	return nil
}

func structSchema(t reflect.Type, enclosing []reflect.Type) *abi.Schema {
	fields, asArray := structFields(t, enclosing)
	if asArray {
		return &abi.Schema{Type: abi.TypeAny}
	}
	slices.SortFunc(fields, func(a, b abi.Field) int { return strings.Compare(a.Name, b.Name) })
	return &abi.Schema{Type: abi.TypeStruct, Fields: fields}
}

func structFields(t reflect.Type, enclosing []reflect.Type) (fields []abi.Field, asArray bool) {
	omitAll := false
	for i := range t.NumField() {
		f := t.Field(i)
		name, options := fieldTag(f)
		if f.Name == "_msgpack" {
			asArray = slices.Contains(options, "as_array") || slices.Contains(options, "asArray")
			omitAll = slices.Contains(options, "omitempty")
		}
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && !slices.Contains(options, "noinline") {
			inner, ok := inlined(f, slices.Contains(options, "inline"), fields, enclosing)
			if ok {
				fields = append(fields, inner...)
				continue
			}
		}
		if name == "" {
			name = f.Name
		}
		fields = append(fields, abi.Field{
			Name:     name,
			Required: !omitAll && !slices.Contains(options, "omitempty"),
			Schema:   schemaOf(f.Type, enclosing),
		})
	}
	return fields, asArray
}

// inlined returns the fields that an embedded struct adds, and whether it is flattened at all.
func inlined(f reflect.StructField, force bool, before []abi.Field, enclosing []reflect.Type) ([]abi.Field, bool) {
	t, pointer := f.Type, false
	for t.Kind() == reflect.Pointer {
		t, pointer = t.Elem(), true
	}
	if t.Kind() != reflect.Struct || t == timeType || selfEncoded(t) != nil || slices.Contains(enclosing, t) {
		return nil, false
	}
	inner, _ := structFields(t, append(slices.Clip(enclosing), t))
	out := make([]abi.Field, 0, len(inner))
	for _, in := range inner {
		if slices.ContainsFunc(before, func(b abi.Field) bool { return b.Name == in.Name }) {
			if !force {
				return nil, false
			}
			continue
		}
		if pointer {
			// A nil embedded pointer writes its fields as nil, or omits them.
			nullable := *in.Schema
			nullable.Nullable = true
			in.Schema, in.Required = &nullable, false
		}
		out = append(out, in)
	}
	return out, true
}

// fieldTag reads name and options the way the codec of abi does.
func fieldTag(f reflect.StructField) (name string, options []string) {
	tag := f.Tag.Get("msgpack")
	if tag == "" {
		tag = f.Tag.Get("json")
	}
	parts := strings.Split(tag, ",")
	for _, o := range parts[1:] {
		options = append(options, strings.TrimSpace(o))
	}
	return strings.TrimSpace(parts[0]), options
}

// FieldName is the name of a struct field on the wire; empty if it has none.
func FieldName(f reflect.StructField) string {
	name, _ := fieldTag(f)
	switch {
	case name == "-" || !f.IsExported():
		return ""
	case name == "":
		return f.Name
	}
	return name
}

// Unrelated is the error of a struct in which no field was decoded, though the value has fields: it
// is of another type. A field that one of the two lacks is no error, because code changes.
func Unrelated(decoded any, raw []byte) error {
	const fixmap, map16, map32 = 0x80, 0xde, 0xdf
	if len(raw) == 0 || raw[0]&0xf0 != fixmap && raw[0] != map16 && raw[0] != map32 {
		return nil
	}
	v := reflect.Indirect(reflect.ValueOf(decoded))
	if v.Kind() != reflect.Struct || !v.IsZero() || !SchemaOf(v.Type()).IsUnrelated(raw) {
		return nil
	}
	return fmt.Errorf("it has no field of %s", v.Type())
}
