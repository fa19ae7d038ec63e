package abi

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

type encodeBuffer struct {
	buf bytes.Buffer
	enc *msgpack.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encodeBuffer{enc: msgpack.NewEncoder(nil)}
	return e
}}

type decodeBuffer struct {
	reader bytes.Reader
	dec    *msgpack.Decoder
}

var decoders = sync.Pool{New: func() any { return &decodeBuffer{dec: msgpack.NewDecoder(nil)} }}

// maxPooled bounds the values whose encoder or decoder is used again: each keeps a buffer.
const maxPooled = 64 << 10

// Marshal encodes v as msgpack the way Cruster does everywhere: integers in their shortest form, maps with sorted keys,
// struct fields by their msgpack tag or else their json tag. For bodies of this package the result is canonical.
func Marshal(v any) ([]byte, error) {
	e := encoders.Get().(*encodeBuffer)
	defer e.putBack()
	if err := e.encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(e.buf.Bytes()), nil
}

// MarshalCanonical encodes v as Marshal does, in canonical form whatever v is.
func MarshalCanonical(v any) ([]byte, error) {
	e := encoders.Get().(*encodeBuffer)
	defer e.putBack()
	if err := e.encode(v); err != nil {
		return nil, err
	}
	return Canonical(e.buf.Bytes())
}

// putBack lets the encoder be used again, unless its buffer has become large.
func (e *encodeBuffer) putBack() {
	if e.buf.Cap() <= maxPooled {
		encoders.Put(e)
	}
}

func (e *encodeBuffer) encode(v any) error {
	e.buf.Reset()
	e.enc.Reset(&e.buf)
	e.enc.UseCompactInts(true)
	e.enc.SetSortMapKeys(true)
	e.enc.SetCustomStructTag("json")
	if err := e.enc.Encode(v); err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	return nil
}

// MustMarshal is Marshal for bodies of this package, which always encode.
func MustMarshal(v any) []byte {
	b, err := Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Unmarshal decodes one msgpack value into v and refuses bytes after it.
func Unmarshal(data []byte, v any) error {
	d := decoders.Get().(*decodeBuffer)
	d.reader.Reset(data)
	d.dec.Reset(&d.reader)
	d.dec.SetCustomStructTag("json")
	if err := d.dec.Decode(v); err != nil {
		// A decoder that failed may hold on to half a value, so it is not used again.
		return fmt.Errorf("decode %T: %w", v, inPlainWords(err))
	}
	rest := d.reader.Len()
	if len(data) <= maxPooled {
		d.reader.Reset(nil)
		decoders.Put(d)
	}
	if rest != 0 {
		return fmt.Errorf("decode %T: %d bytes after the value", v, rest)
	}
	return nil
}

// decoding are the types that a decoder wants, by its own words for its input.
var decoding = map[string]string{
	"array length": TypeList, "bool": TypeBool, "ext len": TypeTime, "float32": TypeFloat, "int64": TypeInt,
	"map length": TypeStruct + " or " + TypeMap, "nil": TypeNull, "string/bytes length": TypeString, "uint64": TypeInt,
}

// plainError is why a value does not decode, in words of this package.
type plainError string

// Error implements error.
func (e plainError) Error() string { return string(e) }

// otherFields is said of a struct that is written as a list, of another length.
const otherFields plainError = "msgpack: number of fields in array-encoded struct has changed"

// inPlainWords names, for a value of another type, the expected type and the actual one, as [Schema.Check] does. The
// decoder of msgpack says that in bytes: "msgpack: invalid code=81 decoding string/bytes length".
func inPlainWords(err error) error {
	text := err.Error()
	if text == string(otherFields) {
		return otherFields
	}
	for _, begin := range []string{"msgpack: invalid code=", "msgpack: unexpected code="} {
		rest, its := strings.CutPrefix(text, begin)
		code, what, ok := strings.Cut(rest, " decoding ")
		b, bad := strconv.ParseUint(code, 16, 8)
		if its && ok && bad == nil && decoding[what] != "" {
			return plainError(fmt.Sprintf("expected %s, got %s", decoding[what], typeOfByte(byte(b))))
		}
	}
	return err
}

// typeOfByte is the type of a value that begins with a byte.
func typeOfByte(b byte) string {
	switch {
	case b <= 0x7f, b >= 0xe0, b >= 0xcc && b <= 0xd3:
		return TypeInt
	case b <= 0x8f, b >= 0xde:
		return TypeMap
	case b <= 0x9f, b >= 0xdc:
		return TypeList
	case b <= 0xbf, b >= 0xd9:
		return TypeString
	case b == 0xc0:
		return TypeNull
	case b == 0xc2, b == 0xc3:
		return TypeBool
	case b == 0xc1:
		return "what is no value"
	case b >= 0xc4 && b <= 0xc6:
		return TypeBytes
	case b == 0xca, b == 0xcb:
		return TypeFloat
	default:
		return TypeTime // or another extension: only times are written
	}
}

// Nil is the msgpack encoding of nil: the value of an op that yields none.
var Nil = []byte{0xc0}
