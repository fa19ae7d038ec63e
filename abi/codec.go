package abi

import (
	"bytes"
	"fmt"
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

// Marshal encodes v as msgpack the way Cruster does everywhere: integers in
// their shortest form, maps with sorted keys, struct fields by their msgpack
// tag or else their json tag. For bodies of this package the result is
// canonical.
func Marshal(v any) ([]byte, error) {
	e := encoders.Get().(*encodeBuffer)
	defer encoders.Put(e)
	e.buf.Reset()
	e.enc.Reset(&e.buf)
	e.enc.UseCompactInts(true)
	e.enc.SetSortMapKeys(true)
	e.enc.SetCustomStructTag("json")
	if err := e.enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.Clone(e.buf.Bytes()), nil
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
	r := bytes.NewReader(data)
	dec := msgpack.NewDecoder(r)
	dec.SetCustomStructTag("json")
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	if r.Len() != 0 {
		return fmt.Errorf("decode %T: %d bytes after the value", v, r.Len())
	}
	return nil
}

// Nil is the msgpack encoding of nil: the value of an op that yields none.
var Nil = []byte{0xc0}
