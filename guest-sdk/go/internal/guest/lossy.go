package guest

import (
	"fmt"
	"reflect"
	"slices"
)

// # Types whose values would be lost
//
// The codec writes the exported fields of a struct, or the results of its msgpack and encoding
// methods. A struct that keeps its value in fields of its own and knows JSON alone would be written
// as an empty map and read as zero, and nothing would fail. Methods for JSON are not called: a
// module that does not use encoding/json is not linked with it, and JSON has no bytes and no large
// numbers. So such a type is refused when its user is declared. A struct that does not know JSON
// either, such as a mutex, has nothing to say.

// jsonType has the methods of a type that knows JSON. It is not spelled with encoding/json: see above.
var jsonType = reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()

// CheckTypes panics if values of one of the types would not be kept whole, or could not be encoded
// at all. The argument what names their owner.
func CheckTypes(what string, types ...reflect.Type) {
	for _, t := range types {
		if none := unencodable(t, map[reflect.Type]bool{}); none != nil {
			panic(fmt.Sprintf(
				"cruster: %s: %s has a value of type %s, which cannot be encoded; leave such a field out with "+
					"`json:\"-\"`",
				what, t, none,
			))
		}
		if lossy := lossyType(t, map[reflect.Type]bool{}); lossy != nil {
			panic(fmt.Sprintf(
				"cruster: %s: values of %s would be lost: it has no exported fields, and MarshalJSON is not called; "+
					"give it MarshalText and UnmarshalText, or EncodeMsgpack and DecodeMsgpack, or export the fields",
				what,
				lossy,
			))
		}
	}
}

// lossyType finds such a type among the types that t contains; nil if there is none.
func lossyType(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if t == nil || t == timeType || seen[t] || selfEncoded(t) != nil {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return lossyType(t.Elem(), seen)
	case reflect.Struct:
		return lossyStruct(t, seen)
	default:
		return nil
	}
}

func lossyStruct(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	hidden, written, promoted := false, false, false
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			hidden = hidden || f.Name[0] != '_'
			continue
		}
		promoted = promoted || f.Anonymous && knowsJSON(f.Type)
		if name, _ := fieldTag(f); name == "-" {
			continue
		}
		written = true
		if lossy := lossyType(f.Type, seen); lossy != nil {
			return lossy
		}
	}
	if hidden && !written && !promoted && knowsJSON(t) {
		return t
	}
	return nil
}

func knowsJSON(t reflect.Type) bool {
	return t.Implements(jsonType) || reflect.PointerTo(t).Implements(jsonType)
}

// unencodable finds a type without a codec form among the types in every value of t; nil if there
// is none. Values behind a pointer, in a slice or in a map may be absent.
func unencodable(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if t == nil || t == timeType || seen[t] || selfEncoded(t) != nil {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return t
	case reflect.Array:
		if t.Len() > 0 {
			return unencodable(t.Elem(), seen)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, options := fieldTag(f)
			if name == "-" || !f.IsExported() && !f.Anonymous || slices.Contains(options, "omitempty") {
				continue
			}
			if none := unencodable(f.Type, seen); none != nil {
				return none
			}
		}
	}
	return nil
}
