package abi

// Types of a [Schema].
const (
	TypeAny    = "any"
	TypeNull   = "null"
	TypeBool   = "bool"
	TypeInt    = "int"
	TypeUint   = "uint"
	TypeFloat  = "float"
	TypeString = "string"
	TypeBytes  = "bytes"
	TypeTime   = "time"
	TypeList   = "list"
	TypeMap    = "map"
	TypeStruct = "struct"
)

// Schema describes the shape of a value, so that a host can refuse a request that does not fit before anything is
// stored, and can turn JSON into exactly the bytes that a typed client would send. A nil schema is [TypeAny].
type Schema struct {
	// Bits is the width of int, uint and float: 8, 16, 32 or 64; 0 means 64.
	Bits int `msgpack:"bits"`
	// Elem is the element of a list, or the value of a map (whose keys are strings).
	Elem *Schema `msgpack:"elem"`
	// Fields of a struct, sorted by name. A value with any other field is refused.
	Fields []Field `msgpack:"fields"`
	// Nullable says that nil fits too.
	Nullable bool   `msgpack:"nullable"`
	Type     string `msgpack:"type"`
}

// Field is one field of a struct.
type Field struct {
	Name string `msgpack:"name"`
	// Required says that the field may not be absent.
	Required bool    `msgpack:"required"`
	Schema   *Schema `msgpack:"schema"`
}
