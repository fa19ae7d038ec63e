package abi

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a [Schema] that comes from outside.
const (
	// maxSchemaDepth is below MaxDepth, so that a value of the deepest schema still passes [Canonical].
	maxSchemaDepth = 32
	// maxSchemaNodes bounds the schemas and fields of one schema in total.
	maxSchemaNodes = 10_000
)

// Validate checks a schema that comes from a manifest: known types, valid widths, bounded depth and size. The error is
// a [CodeBadManifest].
func (s *Schema) Validate() error {
	nodes := 0
	return s.validate("", 0, &nodes)
}

func (s *Schema) validate(path string, depth int, nodes *int) error {
	if s == nil {
		return nil
	}
	*nodes++
	switch {
	case depth > maxSchemaDepth:
		return badSchema(path, "nested more than %d deep", maxSchemaDepth)
	case *nodes+len(s.Fields) > maxSchemaNodes:
		return badSchema(path, "more than %d types and fields", maxSchemaNodes)
	case s.Elem != nil && s.Type != TypeList && s.Type != TypeMap:
		return badSchema(path, "a %s has no element type", s.Type)
	case len(s.Fields) > 0 && s.Type != TypeStruct:
		return badSchema(path, "a %s has no fields", s.Type)
	}
	switch s.Type {
	case TypeAny, TypeNull, TypeBool, TypeString, TypeBytes, TypeTime:
	case TypeInt, TypeUint:
		if !slices.Contains([]int{0, 8, 16, 32, 64}, s.Bits) {
			return badSchema(path, "%d is not a width of %s: use 8, 16, 32 or 64 bits", s.Bits, s.Type)
		}
	case TypeFloat:
		if !slices.Contains([]int{0, 32, 64}, s.Bits) {
			return badSchema(path, "%d is not a width of float: use 32 or 64 bits", s.Bits)
		}
	case TypeList:
		return s.Elem.validate(path+"[]", depth+1, nodes)
	case TypeMap:
		return s.Elem.validate(path+"{}", depth+1, nodes)
	case TypeStruct:
		return s.validateFields(path, depth, nodes)
	default:
		return badSchema(path, "%q is not a type", clip(s.Type))
	}
	return nil
}

func (s *Schema) validateFields(path string, depth int, nodes *int) error {
	for i, f := range s.Fields {
		switch {
		case f.Name == "" || len(f.Name) > MaxName || !utf8.ValidString(f.Name):
			return badSchema(path, "%q is not a valid name of a field", clip(f.Name))
		case i > 0 && s.Fields[i-1].Name == f.Name:
			return badSchema(path, "the field %q occurs twice", f.Name)
		case i > 0 && s.Fields[i-1].Name > f.Name:
			return badSchema(path, "the field %q is not in alphabetical order", f.Name)
		}
		if err := f.Schema.validate(joinPath(path, f.Name), depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

func badSchema(path, format string, args ...any) error {
	return Errorf(CodeBadManifest, "%s%s", pathPrefix(path), fmt.Sprintf(format, args...))
}

// Check tells whether one msgpack value fits the schema. The error is a [CodeBadInput] that names the place:
// "items[2].quantity: expected int, got string". A nil schema accepts every value.
//
// The check is strict, because typed code decodes the value afterwards: an integer does not fit a float, nor a float64
// a float32. A caller that has looser data, such as JSON, converts it first.
func (s *Schema) Check(data []byte) error { return s.check(data, false) }

// CheckDecodes tells whether code of the type can decode one msgpack value without making up any of it. It is
// [Schema.Check], but lets fields pass that the type does not have: code that has dropped a field still reads values
// stored with it.
func (s *Schema) CheckDecodes(data []byte) error { return s.check(data, true) }

// IsUnrelated tells whether a value has fields, and a struct of the type has none of them: code of the
// type would decode nothing of it.
func (s *Schema) IsUnrelated(data []byte) bool {
	canonical, err := Canonical(data)
	if err != nil || s.Type != TypeStruct || len(s.Fields) == 0 {
		return false
	}
	var fields map[string]any
	if Unmarshal(canonical, &fields) != nil || len(fields) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.Fields, func(f Field) bool { _, has := fields[f.Name]; return has })
}

func (s *Schema) check(data []byte, moreFields bool) error {
	canonical, err := Canonical(data)
	if err != nil {
		return Errorf(CodeBadInput, "%v", err)
	}
	c := checker{in: canonical, moreFields: moreFields}
	if m := c.value(s); m != nil {
		return Errorf(CodeBadInput, "%s%s", pathPrefix(m.path), m.message)
	}
	return nil
}

// A checker walks a canonical value. The value is known to be well-formed; the checker only compares it with a schema.
type checker struct {
	in  []byte
	pos int
	// moreFields lets fields pass that a struct does not have.
	moreFields bool
}

// A token is the head of a value and its content. The elements of a list or map follow as separate tokens.
type token struct {
	kind  string // one of the schema types, or typeExtension; a struct is a TypeMap
	uint  uint64 // the value of a TypeUint: an integer of zero or more
	int   int64  // the value of a TypeInt: an integer below zero
	count int    // the number of elements of a list, or of entries of a map
	width int    // the bytes of a float
	raw   []byte // the content of strings, bytes and extensions
}

const typeExtension = "extension"

func (c *checker) value(s *Schema) *misfit {
	start := c.pos
	t := c.next()
	if s == nil || s.Type == TypeAny {
		c.pos = start
		c.skip()
		return nil
	}
	if t.kind == TypeNull && (s.Nullable || s.Type == TypeNull) {
		return nil
	}
	switch {
	case s.Type == TypeStruct && t.kind == TypeMap:
		return c.fields(s, t.count)
	case s.Type == TypeUint && t.kind == TypeInt, s.Type == TypeInt && t.kind == TypeUint:
		return s.checkRange(t)
	case s.Type != t.kind:
		return misfitf("expected %s, got %s", s, t.name())
	}
	switch s.Type {
	case TypeInt, TypeUint:
		return s.checkRange(t)
	case TypeFloat:
		if s.Bits == 32 && t.width == 8 {
			return misfitf("expected a 32-bit float, got a 64-bit one")
		}
	case TypeString:
		if !utf8.Valid(t.raw) {
			return misfitf("the string is not valid UTF-8")
		}
	case TypeList:
		for i := range t.count {
			if m := c.value(s.Elem); m != nil {
				return m.under("[" + strconv.Itoa(i) + "]")
			}
		}
	case TypeMap:
		return c.entries(s, t.count)
	}
	return nil
}

func (s *Schema) checkRange(t token) *misfit {
	bits := s.Bits
	if bits == 0 {
		bits = 64
	}
	var fits bool
	if s.Type == TypeUint {
		fits = t.kind == TypeUint && t.uint <= math.MaxUint64>>(64-bits)
	} else {
		limit := uint64(1) << (bits - 1)
		fits = (t.kind == TypeUint && t.uint < limit) || (t.kind == TypeInt && t.int >= -int64(limit-1)-1)
	}
	if !fits {
		return misfitf("%s is out of the range of %s%d", t.number(), s.Type, bits)
	}
	return nil
}

// entries checks a map with n entries.
func (c *checker) entries(s *Schema, n int) *misfit {
	for range n {
		k := c.next()
		if k.kind != TypeString || !utf8.Valid(k.raw) {
			return misfitf("expected keys that are strings, got %s", k.name())
		}
		if m := c.value(s.Elem); m != nil {
			return m.under("[" + strconv.Quote(clip(string(k.raw))) + "]")
		}
	}
	return nil
}

// fields checks a struct given as a map with n entries.
func (c *checker) fields(s *Schema, n int) *misfit {
	seen := make([]bool, len(s.Fields))
	for range n {
		k := c.next()
		if k.kind != TypeString {
			return misfitf("expected names of fields, got %s", k.name())
		}
		name := string(k.raw)
		i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
		switch {
		case i < 0 && c.moreFields:
			c.skip()
			continue
		case i < 0:
			return unknownField(s, name)
		}
		seen[i] = true
		if m := c.value(s.Fields[i].Schema); m != nil {
			return m.under(name)
		}
	}
	for i, f := range s.Fields {
		if f.Required && !seen[i] {
			return misfitf("the field %q is missing", f.Name)
		}
	}
	return nil
}

func unknownField(s *Schema, name string) *misfit {
	if len(s.Fields) == 0 {
		return misfitf("unknown field %q; no fields are expected", clip(name))
	}
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	if meant := DidYouMean(name, names); meant != "" {
		return misfitf("unknown field %q%s", clip(name), meant)
	}
	names = names[:min(len(names), 8)]
	more := ""
	if len(s.Fields) > len(names) {
		more = ", …"
	}
	return misfitf("unknown field %q; known are %s%s", clip(name), strings.Join(names, ", "), more)
}

// next reads one token.
func (c *checker) next() token {
	b := c.in[c.pos]
	c.pos++
	switch {
	case b <= 0x7f:
		return token{kind: TypeUint, uint: uint64(b)}
	case b >= 0xe0:
		return token{kind: TypeInt, int: int64(int8(b))}
	case b <= 0x8f:
		return token{kind: TypeMap, count: int(b & 0x0f)}
	case b <= 0x9f:
		return token{kind: TypeList, count: int(b & 0x0f)}
	case b <= 0xbf:
		return token{kind: TypeString, raw: c.bytes(int(b & 0x1f))}
	}
	switch b {
	case 0xc0:
		return token{kind: TypeNull}
	case 0xc2, 0xc3:
		return token{kind: TypeBool}
	case 0xc4, 0xc5, 0xc6:
		return token{kind: TypeBytes, raw: c.bytes(int(c.number(1 << (b - 0xc4))))}
	case 0xc7, 0xc8, 0xc9:
		return c.extension(int(c.number(1 << (b - 0xc7))))
	case 0xca, 0xcb:
		width := 4 << (b - 0xca)
		c.pos += width
		return token{kind: TypeFloat, width: width}
	case 0xcc, 0xcd, 0xce, 0xcf:
		return token{kind: TypeUint, uint: c.number(1 << (b - 0xcc))}
	case 0xd0, 0xd1, 0xd2, 0xd3:
		width := 1 << (b - 0xd0)
		shift := 64 - 8*width
		return token{kind: TypeInt, int: int64(c.number(width)<<shift) >> shift}
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return c.extension(1 << (b - 0xd4))
	case 0xd9, 0xda, 0xdb:
		return token{kind: TypeString, raw: c.bytes(int(c.number(1 << (b - 0xd9))))}
	case 0xdc, 0xdd:
		return token{kind: TypeList, count: int(c.number(2 << (b - 0xdc)))}
	default: // 0xde, 0xdf: Canonical lets nothing else through
		return token{kind: TypeMap, count: int(c.number(2 << (b - 0xde)))}
	}
}

// extension tells timestamps (type -1, in three sizes) from others.
func (c *checker) extension(n int) token {
	raw := c.bytes(n + 1)
	if int8(raw[0]) == -1 && (n == 4 || n == 8 || n == 12) {
		return token{kind: TypeTime, raw: raw[1:]}
	}
	return token{kind: typeExtension, raw: raw}
}

func (c *checker) number(width int) uint64 {
	var buf [8]byte
	copy(buf[8-width:], c.bytes(width))
	return binary.BigEndian.Uint64(buf[:])
}

func (c *checker) bytes(n int) []byte {
	c.pos += n
	return c.in[c.pos-n : c.pos]
}

// skip skips one value.
func (c *checker) skip() {
	for left := 1; left > 0; left-- {
		switch t := c.next(); t.kind {
		case TypeList:
			left += t.count
		case TypeMap:
			left += 2 * t.count
		}
	}
}

func (t token) name() string {
	if t.kind == TypeUint {
		return TypeInt
	}
	return t.kind
}

func (t token) number() string {
	if t.kind == TypeUint {
		return strconv.FormatUint(t.uint, 10)
	}
	return strconv.FormatInt(t.int, 10)
}

// String names the type for people to read: "int32", "list of string", "struct".
func (s *Schema) String() string {
	if s == nil {
		return TypeAny
	}
	name := s.Type
	switch s.Type {
	case TypeInt, TypeUint, TypeFloat:
		if s.Bits != 0 && s.Bits != 64 {
			name += strconv.Itoa(s.Bits)
		}
	case TypeList, TypeMap:
		elem := s.Elem.String()
		if s.Elem != nil && s.Elem.Nullable {
			elem = "(" + elem + ")" // it is the element that may be null
		}
		name += " of " + elem
	}
	if s.Nullable {
		name += " or null"
	}
	return name
}

// A misfit says where and why a value does not fit. The path is built from the leaf upwards, so that a value that fits
// pays nothing for it.
type misfit struct{ path, message string }

func misfitf(format string, args ...any) *misfit {
	return &misfit{message: fmt.Sprintf(format, args...)}
}

// under puts one more step in front of the path.
func (m *misfit) under(step string) *misfit {
	if m.path != "" && m.path[0] != '[' {
		step += "."
	}
	m.path = step + m.path
	return m
}

// pathPrefix is the beginning of a message about the value at path.
func pathPrefix(path string) string {
	if path == "" {
		return ""
	}
	return clip(path) + ": "
}

func joinPath(path, name string) string {
	if path == "" {
		return clip(name)
	}
	return path + "." + clip(name)
}

// clip shortens text from outside, so that it cannot fill a message.
func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
